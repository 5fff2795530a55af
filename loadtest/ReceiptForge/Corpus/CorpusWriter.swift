// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials

/// Writes a corpus to a folder: `root.pem`, `jws-root.pem`, `intermediates.pem`, the key of its Server API, `pki.json` with
/// its seed, one `.b64` or `.jws` file per entry, and `index.json`.
package struct CorpusWriter: Sendable {
    private let directory: URL

    /// Creates a writer into this folder, which is created if it is missing.
    package init(directory: String) {
        self.directory = URL(filePath: directory, directoryHint: .isDirectory)
    }

    /// Writes every file atomically, the index last: a folder with an index is complete. Entries are made on all cores.
    ///
    /// - Parameter progress: called after each entry with the number of entries written so far.
    package func write(_ corpus: Corpus, progress: (_ written: Int) -> Void = { _ in }) async throws {
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        try write(Data(corpus.pki.rootPEM.utf8), to: Corpus.rootFileName)
        try write(Data(corpus.transactionPKI.root.pem.utf8), to: Corpus.transactionRootFileName)
        try write(Data(corpus.intermediatesPEM.utf8), to: Corpus.intermediatesFileName)
        let key = ForgedAPIKey(seed: corpus.seed)
        try write(Data(key.privateKeyPEM.utf8), to: key.fileName)
        try write(Data("{\"seed\": \(corpus.seed)}\n".utf8), to: ForgedPKI.seedFileName)
        let rows = try await writeEntries(of: corpus, progress: progress)
        try write(encoded(rows), to: "index.json")
    }

    /// Writes the entries in any order, and returns their rows in the order of the corpus.
    private func writeEntries(
        of corpus: Corpus, progress: (_ written: Int) -> Void
    ) async throws -> [CorpusEntry] {
        try await withThrowingTaskGroup(of: (position: Int, row: CorpusEntry).self) { group in
            var rows: [Int: CorpusEntry] = [:]
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

    /// Returns the entry for the index, without its evidence, which may have megabytes.
    private func writeEntry(_ entry: CorpusEntry) throws -> CorpusEntry {
        try write(Data(entry.evidence.sent), to: entry.fileName)
        var row = entry
        row.evidence = .text("")
        return row
    }

    private func encoded(_ rows: [CorpusEntry]) throws -> Data {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        return try encoder.encode(rows)
    }

    private func write(_ content: Data, to fileName: String) throws {
        try content.write(to: directory.appending(path: fileName), options: .atomic)
    }
}

/// One object of `index.json`. Absent values are written as `null`, so that all objects have the same keys.
extension CorpusEntry: Encodable {
    private enum CodingKeys: String, CodingKey {
        case file, evidence, expected, reason, purchases, environment, fault, explanation, needs
        case bundleID = "bundle_id"
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(fileName, forKey: .file)
        try container.encode(kind, forKey: .evidence)
        try container.encode(expected.verdict, forKey: .expected)
        try container.encode(expected.reason, forKey: .reason)
        try container.encode(contents?.bundleID, forKey: .bundleID)
        try container.encode(contents?.purchases, forKey: .purchases)
        try container.encode(contents?.environment, forKey: .environment)
        try container.encode(fault, forKey: .fault)
        try container.encode(explanation, forKey: .explanation)
        try container.encode(needs, forKey: .needs)
    }
}
