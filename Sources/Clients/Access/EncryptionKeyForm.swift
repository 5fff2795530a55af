// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

package import Cryptography
internal import JSON
internal import Receipts

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
