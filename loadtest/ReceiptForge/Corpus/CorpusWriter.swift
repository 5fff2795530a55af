// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials

/// Writes a corpus to a folder: `root.pem`, one `.b64` file per entry, and `index.json`.
public struct CorpusWriter: Sendable {
    private let directory: URL

    /// A writer into this folder, which is created when it is missing.
    public init(directory: String) {
        self.directory = URL(filePath: directory, directoryHint: .isDirectory)
    }

    /// Writes every file atomically, the index last: a folder with an index is complete.
    ///
    /// - Parameter progress: Called after each entry with the number of entries written so far.
    public func write(_ corpus: Corpus, progress: (_ written: Int) -> Void = { _ in }) throws {
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        try write(Data(corpus.pki.rootPEM.utf8), to: "root.pem")
        var rows: [CorpusIndexRow] = []
        for entry in corpus {
            try write(Data(entry.evidence.base64.utf8), to: entry.fileName)
            rows.append(CorpusIndexRow(entry))
            progress(rows.count)
        }
        try write(encoded(rows), to: "index.json")
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
