// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials

/// `pki.json`: what the authority of a corpus follows from, so that others can sign for those who trust its root.
struct CorpusAuthority: Codable {
    static let fileName = "pki.json"

    let seed: UInt64

    /// One line of JSON.
    var encoded: Data {
        Data("{\"seed\": \(seed)}\n".utf8)
    }
}

extension ForgedPKI {
    /// The authority that signed a corpus.
    ///
    /// - Parameter directory: the folder that a `CorpusWriter` wrote.
    public init(corpusDirectory directory: String) throws(CorpusAuthorityError) {
        let folder = URL(filePath: directory, directoryHint: .isDirectory)
        let file = folder.appending(path: CorpusAuthority.fileName)
        guard let text = try? Data(contentsOf: file) else { throw .notRecorded(directory: directory) }
        guard let authority = try? JSONDecoder().decode(CorpusAuthority.self, from: text) else {
            throw .notReadable(file: file.path)
        }
        self.init(seed: authority.seed)
        guard let root = try? Data(contentsOf: folder.appending(path: "root.pem")), root == Data(rootPEM.utf8) else {
            throw .signedByAnother(directory: directory)
        }
    }
}

/// Why the authority of a corpus cannot be made again.
public enum CorpusAuthorityError: Error, Hashable, Sendable {
    /// There is no `pki.json`.
    case notRecorded(directory: String)
    /// It is not what a `CorpusWriter` writes.
    case notReadable(file: String)
    /// Its seed does not give the folder's `root.pem`.
    case signedByAnother(directory: String)
}

extension CorpusAuthorityError: CustomStringConvertible {
    /// One sentence that says what to do.
    public var description: String {
        switch self {
        case .notRecorded(let directory):
            "'\(directory)' holds no pki.json, from which the keys of its authority follow; write the folder with "
                + "'receipt-loadtest corpus --out \(directory)'."
        case .notReadable(let file): "'\(file)' must say {\"seed\": NUMBER}, as 'receipt-loadtest corpus' writes it."
        case .signedByAnother(let directory):
            "'\(directory)/root.pem' is not the root that follows from pki.json beside it; write the folder again."
        }
    }
}
