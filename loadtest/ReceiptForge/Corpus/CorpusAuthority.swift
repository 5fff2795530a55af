// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials

extension ForgedPKI {
    /// The file with the seed of a corpus's authority, so that other tools can sign for verifiers that trust its root.
    static let seedFileName = "pki.json"

    /// Recreates the authority that signed a corpus.
    ///
    /// - Parameter directory: the folder that a `CorpusWriter` wrote.
    package init(corpusDirectory directory: String) throws(CorpusAuthorityError) {
        let folder = URL(filePath: directory, directoryHint: .isDirectory)
        let file = folder.appending(path: Self.seedFileName)
        guard let text = try? Data(contentsOf: file) else { throw .notRecorded(directory: directory) }
        guard let seed = try? JSONDecoder().decode([String: UInt64].self, from: text)["seed"] else {
            throw .notReadable(file: file.path)
        }
        self.init(seed: seed)
        guard let root = try? Data(contentsOf: folder.appending(path: "root.pem")), root == Data(rootPEM.utf8) else {
            throw .signedByAnother(directory: directory)
        }
    }
}

/// The reasons why the authority of a corpus cannot be recreated.
package enum CorpusAuthorityError: Error, Hashable, Sendable, CustomStringConvertible {
    case notRecorded(directory: String)
    /// It does not have the form that a `CorpusWriter` writes.
    case notReadable(file: String)
    /// Its seed does not give the folder's `root.pem`.
    case signedByAnother(directory: String)

    package var description: String {
        switch self {
        case .notRecorded(let directory):
            "'\(directory)' has no pki.json with the seed of its keys; create it with "
                + "'receipt-loadtest corpus --out \(directory)'."
        case .notReadable(let file): "'\(file)' must contain {\"seed\": NUMBER}, as from 'receipt-loadtest corpus'."
        case .signedByAnother(let directory):
            "'\(directory)/root.pem' does not match pki.json beside it; create the folder again."
        }
    }
}
