// SPDX-License-Identifier: Apache-2.0

package import Cryptography
internal import Receipts

/// Encrypts values of the clients file under a key derived from the pepper, so that a stolen file is of no use.
package struct ClientsFileSeal: Sendable {
    private let cipher: AES256GCM
    private static let prefix = "sealed:"
    private static let context = Array("encryption_key".utf8)

    /// Checks that OpenSSL, as configured, offers the ciphers of encryption keys. Without them their code traps.
    package static func checkOpenSSL() throws(ConfigurationProblems) {
        let isOffered = HashFunction.sha256.isOffered && AES256GCM.isOffered && AESCBCEncryption.isOffered
        guard !isOffered else { return }
        throw ConfigurationProblems(
            "OpenSSL",
            """
            does not offer SHA-256, AES-256-GCM and AES-CBC, which encryption keys of apps need; activate a provider \
            that offers them
            """)
    }

    package init(pepper: Secret) {
        cipher = AES256GCM(
            key: HMACKey.derive(from: Array(pepper.exposed.utf8), for: "receipt-gateway clients file"))
    }

    /// Returns a sealed value: `sealed:` and base64.
    package func seal(_ text: Secret) -> String {
        Self.prefix + Base64.encode(cipher.seal(Array(text.exposed.utf8), context: Self.context))
    }

    /// Opens a sealed value; nil if it was not sealed with this pepper.
    func open(_ text: String) -> Secret? {
        guard text.hasPrefix(Self.prefix), let sealed = try? Base64.decode(String(text.dropFirst(Self.prefix.count))),
            let value = cipher.open(sealed[...], context: Self.context)
        else { return nil }
        return Secret(String(decoding: value, as: UTF8.self))
    }
}
