// SPDX-License-Identifier: Apache-2.0

package import Cryptography
internal import JSON
package import Receipts

/// A client's access to the form API (`POST /api`, `POST /apiencrypted`): keys, and the apps that they may name.
///
/// Apps carry these keys, so anyone who has the app has its key. Such a key verifies receipts of its own apps and does
/// nothing else.
package struct FormAccount: Hashable, Sendable {
    /// The client as which requests are charged and logged. It has no API key.
    package let client: Client
    package let keys: [FormKey]
    package let apps: [FormApp]
}

/// The stored half of a form key: enough to recognise the key, not to use it.
package struct FormKey: Hashable, Sendable {
    /// `FormKeyHasher.hash(ofKey:)`: 32 bytes.
    package let hash: [UInt8]
    /// The time from which the key is rejected; nil for never.
    package let expires: Timestamp?
}

/// An app of a form account.
package struct FormApp: Hashable, Sendable {
    /// The name by which requests choose the app; a secret that every copy of the app has.
    let token: Secret
    /// The bundle ID that a receipt must have.
    package let bundleID: String
    /// The encryption of answers of `POST /apiencrypted`; nil for an app that may not use it.
    package let encryption: AESCBCEncryption?
    /// The shared secret for requests to Apple; nil for the secret of the app, or of the account.
    package let sharedSecret: Secret?
}

/// Hashes form keys and tokens with keys derived from the pepper. Form keys are chosen elsewhere and have no public
/// part, so the hash itself identifies the key.
package struct FormKeyHasher: Sendable {
    private let keys: HMACKey
    private let tokens: HMACKey

    package init(pepper: Secret) {
        let pepper = Array(pepper.exposed.utf8)
        keys = HMACKey(HMACKey.derive(from: pepper, for: "receipt-gateway form key"))
        tokens = HMACKey(HMACKey.derive(from: pepper, for: "receipt-gateway form token"))
    }

    /// Returns the hash that the clients file stores for a key.
    package func hash(ofKey key: Span<UInt8>) -> [UInt8] { keys.code(for: key) }

    func hash(ofToken token: Span<UInt8>) -> [UInt8] { tokens.code(for: token) }

    func isKey(_ key: Span<UInt8>, withHash hash: [UInt8]) -> Bool { keys.isValid(hash, for: key) }
}

/// The form API: `POST /api` and `POST /apiencrypted`.
package struct FormConfiguration: Hashable, Sendable {
    /// One request body. A receipt of 105 KB takes 420 KB if every character is percent-encoded.
    package var bodyLimit = ByteCount.mebibytes(1)
    package var statuses = FormStatuses.ok
    package var envelope = FormEnvelope.text
    package var keyForm = EncryptionKeyForm.encoded

    package init() {}
}

/// The HTTP statuses of answers whose JSON has a status of its own.
package enum FormStatuses: String, CaseIterable, Hashable, Sendable, ConfigurationValue {
    /// 200: clients read the JSON of every answer.
    case ok = "200"
    /// 401, 403 and 500 as in the JSON; 200 for Apple's.
    case same
}

package enum FormEnvelope: String, CaseIterable, Hashable, Sendable, ConfigurationValue {
    /// The base64 alone, as `text/plain`.
    case text
    case json
}

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
