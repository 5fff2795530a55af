// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials

extension ForgedPKI {
    /// The file with the seed of a corpus's authority, so that other tools can sign for verifiers that trust its root.
    static let seedFileName = "pki.json"

    /// Recreates the authority that signed the corpus in a folder.
    package init(corpusDirectory directory: String) throws(CorpusAuthorityError) {
        let folder = URL(filePath: directory, directoryHint: .isDirectory)
        self.init(seed: try Self.seed(ofCorpus: directory))
        let root = try? Data(contentsOf: folder.appending(path: Corpus.rootFileName))
        guard root == Data(rootPEM.utf8) else {
            throw .signedByAnother(directory: directory, file: Corpus.rootFileName)
        }
    }

    fileprivate static func seed(ofCorpus directory: String) throws(CorpusAuthorityError) -> UInt64 {
        let file = URL(filePath: directory, directoryHint: .isDirectory).appending(path: seedFileName)
        guard let text = try? Data(contentsOf: file) else { throw .notRecorded(directory: directory) }
        guard let seed = try? JSONDecoder().decode([String: UInt64].self, from: text)["seed"] else {
            throw .notReadable(file: file.path)
        }
        return seed
    }
}

extension TransactionPKI {
    /// Recreates the authority that signed a corpus's JWS, with the root in the folder: no two ECDSA signatures are alike,
    /// and verifiers trust the bytes of a root.
    package init(corpusDirectory directory: String) throws(CorpusAuthorityError) {
        let seed = try ForgedPKI.seed(ofCorpus: directory)
        let file = URL(filePath: directory, directoryHint: .isDirectory)
            .appending(path: Corpus.transactionRootFileName)
        let lines = (try? String(contentsOf: file, encoding: .utf8))?.split(separator: "\n") ?? []
        let text = lines.filter { !$0.hasPrefix("-----") }.joined()
        self.init(seed: seed, root: Data(base64Encoded: text).map(Array.init) ?? [])
        // The root names its key: a root of another seed is no issuer of the other two certificates.
        guard Data(root.der).firstRange(of: Data(rootKey.point)) != nil else {
            throw .signedByAnother(directory: directory, file: Corpus.transactionRootFileName)
        }
    }
}

extension ForgedAPIKey {
    /// Recreates the Server API key of the corpus in a folder.
    package init(corpusDirectory directory: String) throws(CorpusAuthorityError) {
        self.init(seed: try ForgedPKI.seed(ofCorpus: directory))
    }
}

/// The reasons why the authority of a corpus cannot be recreated.
package enum CorpusAuthorityError: Error, Hashable, Sendable, CustomStringConvertible {
    case notRecorded(directory: String)
    /// It does not have the form that a `CorpusWriter` writes.
    case notReadable(file: String)
    /// Its seed does not give the folder's `root.pem` or `jws-root.pem`.
    case signedByAnother(directory: String, file: String)

    package var description: String {
        switch self {
        case .notRecorded(let directory):
            "'\(directory)' has no pki.json with the seed of its keys; create it with "
                + "'receipt-loadtest corpus --out \(directory)'."
        case .notReadable(let file): "'\(file)' must contain {\"seed\": NUMBER}, as from 'receipt-loadtest corpus'."
        case .signedByAnother(let directory, let file):
            "'\(directory)/\(file)' does not match pki.json beside it; create the folder again."
        }
    }
}
