// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials

/// Writes a corpus to a folder: `root.pem`, `pki.json` with its seed, one `.b64` file per entry, and `index.json`.
public struct CorpusWriter: Sendable {
    private let directory: URL

    /// Creates a writer into this folder, which is created if it is missing.
    public init(directory: String) {
        self.directory = URL(filePath: directory, directoryHint: .isDirectory)
    }

    /// Writes every file atomically, the index last: a folder with an index is complete. Entries are made on all cores.
    ///
    /// - Parameter progress: called after each entry with the number of entries written so far.
    public func write(_ corpus: Corpus, progress: (_ written: Int) -> Void = { _ in }) async throws {
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        try write(Data(corpus.pki.rootPEM.utf8), to: "root.pem")
        try write(CorpusAuthority(seed: corpus.seed).encoded, to: CorpusAuthority.fileName)
        let rows = try await writeEntries(of: corpus, progress: progress)
        try write(encoded(rows), to: "index.json")
    }

    /// Writes the entries in any order, and returns their rows in the order of the corpus.
    private func writeEntries(
        of corpus: Corpus, progress: (_ written: Int) -> Void
    ) async throws -> [CorpusIndexRow] {
        try await withThrowingTaskGroup(of: (position: Int, row: CorpusIndexRow).self) { group in
            var rows: [Int: CorpusIndexRow] = [:]
            for position in corpus.indices {
                // Enough entries at a time to keep the cores busy; the largest take ten megabytes each.
                if position >= entriesInTheMaking, let written = try await group.next() {
                    rows[written.position] = written.row
                    progress(rows.count)
                }
                group.addTask { (position, try writeEntry(corpus[position])) }
            }
            for try await written in group {
                rows[written.position] = written.row
                progress(rows.count)
            }
            return corpus.indices.compactMap { rows[$0] }
        }
    }

    private var entriesInTheMaking: Int { 2 * ProcessInfo.processInfo.activeProcessorCount }

    private func writeEntry(_ entry: CorpusEntry) throws -> CorpusIndexRow {
        try write(Data(entry.evidence.base64.utf8), to: entry.fileName)
        return CorpusIndexRow(entry)
    }

    private func encoded(_ rows: [CorpusIndexRow]) throws -> Data {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        return try encoder.encode(rows)
    }

    private func write(_ content: Data, to fileName: String) throws {
        try content.write(to: directory.appending(path: fileName), options: .atomic)
    }
}
