// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import Foundation
internal import ReceiptForge

/// A folder that a corpus is to be written to.
struct CorpusFolder {
    /// The folder's path as the user gave it.
    let path: String

    /// Empties the folder of an earlier corpus, its index first: a folder with an index is complete.
    ///
    /// - Parameter force: whether files of others may be there; they are left alone.
    func makeRoom(force: Bool) throws {
        guard try isPresent() else { return }
        if let files = earlierCorpus() {
            for file in ["index.json"] + files { try? FileManager.default.removeItem(at: url(of: file)) }
        } else if !force, let stranger = try FileManager.default.contentsOfDirectory(atPath: path).min() {
            throw CorpusFolderError.holdsOtherFiles(path: path, example: stranger)
        }
    }

    /// Writes a corpus, and says it in a sentence if the folder cannot be written to.
    func write(_ corpus: Corpus, progress: (_ written: Int) -> Void) async throws {
        do {
            try await CorpusWriter(directory: path).write(corpus, progress: progress)
        } catch let error as CocoaError {
            throw CorpusFolderError.cannotBeWritten(path: path, reason: error.localizedDescription)
        }
    }

    private func isPresent() throws(CorpusFolderError) -> Bool {
        var isFolder = false
        guard FileManager.default.fileExists(atPath: path, isDirectory: &isFolder) else { return false }
        guard isFolder else { throw .isNoFolder(path: path) }
        return true
    }

    /// The receipts of the corpus that is there, or nil if there is none.
    private func earlierCorpus() -> [String]? {
        guard let index = try? Data(contentsOf: url(of: "index.json")),
            let rows = try? JSONDecoder().decode([IndexRow].self, from: index),
            rows.allSatisfy({ $0.file.hasSuffix(".b64") && !$0.file.contains("/") })
        else { return nil }
        return rows.map(\.file)
    }

    /// What tells an index of ours from any other; see `CorpusWriter`.
    private struct IndexRow: Decodable {
        let file: String
        let expected: String
        let explanation: String
    }

    private func url(of file: String) -> URL {
        URL(filePath: path, directoryHint: .isDirectory).appending(path: file)
    }
}

/// Why a corpus is not written to a folder.
enum CorpusFolderError: Error, Hashable, CustomStringConvertible {
    /// The path leads to a file.
    case isNoFolder(path: String)
    /// The folder holds something and no complete corpus.
    case holdsOtherFiles(path: String, example: String)
    /// The system refuses to write there.
    case cannotBeWritten(path: String, reason: String)

    var description: String {
        switch self {
        case .isNoFolder(let path): "'\(path)' is a file; --out takes a folder."
        case .holdsOtherFiles(let path, let example):
            "'\(path)' holds '\(example)' and no complete corpus (no index.json of ours). Name an empty or a new "
                + "folder, or add --force to write between the files that are there."
        case .cannotBeWritten(let path, let reason): "Cannot write to '\(path)': \(reason)"
        }
    }
}
