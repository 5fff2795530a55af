// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

package import Cryptography
internal import JSON
internal import Receipts
package import Secrets

/// The form of encryption keys of apps, in files and in the clients file.
package enum EncryptionKeyForm: String, CaseIterable, Hashable, Sendable, ConfigurationValue {
    /// Base64 or hexadecimal digits of 16 or 32 bytes.
    case encoded
    /// 16 or 32 characters of ASCII, whose codes are the key.
    case characters

    /// Returns the encryption with a key; nil if the text has another form.
    package func encryption(_ text: String) -> AESCBCEncryption? { bytes(text).flatMap { AESCBCEncryption(key: $0) } }

    private func bytes(_ text: String) -> [UInt8]? {
        let characters = Array(text.utf8)
        guard self == .encoded else { return text.utf8.allSatisfy { $0 < 0x80 } ? characters : nil }
        // The lengths differ: 32 or 64 digits, 24 or 44 characters of base64.
        let isHexadecimal = AESCBCEncryption.keyByteCounts.contains(characters.count / 2)
        return isHexadecimal ? ASCII.bytes(hexadecimal: characters) : try? Base64.decode(characters.span)
    }

    /// The accepted texts, in words.
    package var accepted: String {
        switch self {
        case .encoded: "16 or 32 bytes in base64 or hexadecimal digits"
        case .characters: "16 or 32 ASCII characters"
        }
    }
}

/// Encrypts values of the clients file under a key derived from the pepper, so that a stolen file is of no use.
package struct ClientsFileSeal: Sendable {
    private let cipher: AES256GCM
    private static let prefix = "sealed:"
    private static let context = Array("encryption_key".utf8)

    /// Checks that OpenSSL, as configured, offers the ciphers of encryption keys. Without them their code traps.
    package static func checkOpenSSL() throws(ConfigurationProblems) {
        guard !AES256GCM.isOffered || !AESCBCEncryption.isOffered else { return }
        let fault =
            "does not offer AES-256-GCM and AES-CBC, which encryption keys of apps need; activate a provider that does"
        throw ConfigurationProblems(problems: [ConfigurationProblem(location: "OpenSSL", fault: fault)])
    }

    package init(pepper: Secret) {
        cipher = AES256GCM(
            key: HMACKey.derive(from: Array(pepper.exposed.utf8), for: "receipt-gateway clients file"))
    }

    /// Returns a sealed value: `sealed:` and base64.
    package func seal(_ text: Secret) -> String {
        var sealed: [UInt8] = []
        Base64.append(encoding: cipher.seal(Array(text.exposed.utf8), context: Self.context), to: &sealed)
        return Self.prefix + String(decoding: sealed, as: UTF8.self)
    }

    /// Returns the value in a sealed one; nil if it was not sealed with this pepper.
    func open(_ text: String) -> Secret? {
        guard text.hasPrefix(Self.prefix), let sealed = try? Base64.decode(String(text.dropFirst(Self.prefix.count))),
            let value = cipher.open(sealed[...], context: Self.context)
        else { return nil }
        return Secret(String(decoding: value, as: UTF8.self))
    }
}
