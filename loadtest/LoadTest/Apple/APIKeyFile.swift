// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
internal import ReceiptForge

/// The file with the simulator's key of the App Store Server API, in the folder of a corpus.
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
        try FileError.write(key.privateKeyPEM, to: path)
        try? FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: path)
    }

    /// The lines of a clients file with which a gateway uses the key.
    var clientsFileLines: String {
        """
        server_api:
          issuer_id: \(key.issuerID)
          key_id: \(key.keyID)
          private_key_file: \(path)

        """
    }
}
