// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
internal import ReceiptForge

/// A folder with the identity of a server: `server.pem`, `server.key`, and `ca.pem` for its clients to trust.
struct TLSFolder {
    let path: String

    /// Returns the identity in the folder; makes and writes an identity if there is neither a certificate nor a key.
    func identity() throws(TLSFolderError) -> TLSIdentity {
        switch (text(of: "server.pem"), text(of: "server.key")) {
        case (let certificate?, let key?): return TLSIdentity(certificatePEM: certificate, privateKeyPEM: key)
        case (nil, nil): return try makeIdentity()
        default: throw .halfPresent(path: path)
        }
    }

    /// Returns an identity that is not kept, below a new `ca.pem`.
    func expiredIdentity() throws(TLSFolderError) -> TLSIdentity {
        try makeAuthority().expiredIdentity(forHosts: Self.hosts)
    }

    private func makeIdentity() throws(TLSFolderError) -> TLSIdentity {
        let identity = try makeAuthority().identity(forHosts: Self.hosts)
        try write(identity.privateKeyPEM, to: "server.key", permissions: 0o600)
        try write(identity.certificatePEM, to: "server.pem")
        return identity
    }

    /// The keys follow from a number that is not kept: other machines' clients may come to trust `ca.pem`.
    private func makeAuthority() throws(TLSFolderError) -> TLSAuthority {
        let authority = TLSAuthority(seed: UInt64.random(in: 0...UInt64.max))
        try write(authority.certificatePEM, to: "ca.pem")
        return authority
    }

    private static let hosts = ["localhost", "127.0.0.1"]

    private var url: URL { URL(filePath: path, directoryHint: .isDirectory) }

    private func text(of file: String) -> String? {
        try? String(contentsOf: url.appending(path: file), encoding: .utf8)
    }

    private func write(_ text: String, to file: String, permissions: Int = 0o644) throws(TLSFolderError) {
        let file = url.appending(path: file)
        do {
            try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
            try Data(text.utf8).write(to: file, options: .atomic)
            try FileManager.default.setAttributes([.posixPermissions: permissions], ofItemAtPath: file.path)
        } catch {
            throw .notWritable(path: path)
        }
    }
}

enum TLSFolderError: Error, Hashable, CustomStringConvertible {
    case halfPresent(path: String)
    case notWritable(path: String)

    var description: String {
        switch self {
        case .halfPresent(let path):
            "'\(path)' holds only one of server.pem and server.key; add the other or remove it."
        case .notWritable(let path): "Cannot write server.pem, server.key and ca.pem to '\(path)'."
        }
    }
}

/// The file with the simulator's key of the App Store Server API, usually in the folder of a corpus.
struct APIKeyFile {
    let key: ForgedAPIKey
    let path: String

    /// Writes the key that follows from the corpus's seed.
    init(folder: String) throws {
        try self.init(try ForgedAPIKey(corpusDirectory: folder), folder: folder)
    }

    init(_ key: ForgedAPIKey, folder: String) throws {
        self.key = key
        let file = URL(filePath: folder, directoryHint: .isDirectory).appending(path: key.fileName)
        path = file.path
        // A corpus has it already, and its folder may be read-only.
        guard (try? String(contentsOf: file, encoding: .utf8)) != key.privateKeyPEM else { return }
        try FileError.write(key.privateKeyPEM, to: path)
        try? FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: path)
    }

    var clientsFileLines: String {
        """
        server_api:
          issuer_id: \(key.issuerID)
          key_id: \(key.keyID)
          private_key_file: \(path)

        """
    }
}
