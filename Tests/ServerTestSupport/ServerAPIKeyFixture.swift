// SPDX-License-Identifier: Apache-2.0

import AppStore
import Cryptography
import Foundation

/// Private keys as App Store Connect offers them, and some that it does not.
enum ServerAPIKeyFixture {
    static let issuerID = "57246542-96fe-1a63-e053-0824d011072a"
    static let keyID = "2X9R4HXF34"

    /// Returns a private key on P-256 whose scalar repeats one byte, 1 to 127.
    static func pem(_ byte: UInt8 = 7) -> String {
        pem(
            curve: [0x06, 0x08, 0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x03, 0x01, 0x07],
            scalar: [UInt8](repeating: byte, count: 32))
    }

    static let key: ServerAPIKey = {
        guard let privateKey = ECSigningKey(pem: Array(pem().utf8)) else {
            preconditionFailure("the text is no private key")
        }
        return ServerAPIKey(issuerID: issuerID, keyID: keyID, privateKey: privateKey)
    }()

    static let onP384 = pem(
        curve: [0x06, 0x05, 0x2B, 0x81, 0x04, 0x00, 0x22], scalar: [UInt8](repeating: 7, count: 48))

    static let withPassphrase = """
        -----BEGIN ENCRYPTED PRIVATE KEY-----
        MIHrMFYGCSqGSIb3DQEFDTBJMCgGCSqGSIb3DQEFDDAbBAiZc12jwF48MQIBATAM
        BggqhkiG9w0CCQUAMB0GCWCGSAFlAwQBAgQQTBc7uavuC1eYRrXSV1QBkwSBkM3/
        6iB5d2t8oRz5DRPtN4TwRLQdnef0uFT5gmwAudnlmsbWOraHGE4Abn0uavJZUk71
        CzNwK/iH+8bSRMOG0sPTFAw/6ozQT9jm9TYoROCgVNN491Ue/PI+uYnmwyoSG9kB
        ej30m6Xxy5Z1bXatj5ouNsd/iO9GZ1CsYp/ms+EtevQZVgPpX4COSg9sxw3q+A==
        -----END ENCRYPTED PRIVATE KEY-----
        """

    /// Returns `PrivateKeyInfo` (RFC 5958 §2) with `ECPrivateKey` (RFC 5915 §3).
    private static func pem(curve: [UInt8], scalar: [UInt8]) -> String {
        let algorithm = element(0x30, [0x06, 0x07, 0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x02, 0x01] + curve)
        let key = element(0x30, [0x02, 0x01, 0x01] + element(0x04, scalar))
        let info = element(0x30, [0x02, 0x01, 0x00] + algorithm + element(0x04, key))
        let text = Data(info).base64EncodedString(options: [.lineLength64Characters, .endLineWithLineFeed])
        return "-----BEGIN PRIVATE KEY-----\n\(text)\n-----END PRIVATE KEY-----\n"
    }

    /// Returns an element in DER whose content has fewer than 128 bytes.
    private static func element(_ tag: UInt8, _ content: [UInt8]) -> [UInt8] { [tag, UInt8(content.count)] + content }
}
