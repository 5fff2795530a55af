// SPDX-License-Identifier: Apache-2.0

internal import COpenSSL

/// AES-256-GCM (NIST SP 800-38D) with random nonces of 96 bits.
package struct AES256GCM: Sendable, CustomReflectable {
    private let key: [UInt8]
    /// Empty, so that no dump shows the key.
    package var customMirror: Mirror { Mirror(self, children: []) }

    package static let keyByteCount = 32
    private static let nonceByteCount = 12
    private static let tagByteCount = 16
    /// The bytes that sealing adds: nonce and tag.
    package static let overhead = nonceByteCount + tagByteCount

    /// Creates a cipher; the key has 32 bytes.
    package init(key: [UInt8]) {
        precondition(key.count == Self.keyByteCount)
        self.key = key
    }

    /// True if OpenSSL, as configured, offers AES-256-GCM and random numbers. Without them, sealing traps.
    package static var isOffered: Bool {
        unsafe CipherAlgorithm.aes256GCM.pointer != nil && SecureRandom.isOffered
    }

    /// Returns nonce, ciphertext and tag.
    /// - Parameter context: bytes that are authenticated and not encrypted; opening requires the same bytes.
    package func seal(_ text: [UInt8], context: [UInt8]) -> [UInt8] {
        let nonce = SecureRandom.bytes(Self.nonceByteCount)
        var ciphertext = [UInt8](repeating: 0, count: text.count)
        var tag = [UInt8](repeating: 0, count: Self.tagByteCount)
        var count: Int32 = 0
        let cipher = CipherContext()
        // SAFETY: OpenSSL writes as many bytes as the text, the nonce and the tag have.
        let status =
            unsafe EVP_EncryptInit_ex(cipher.pointer, CipherAlgorithm.aes256GCM.pointer, nil, key, nonce)
            & EVP_EncryptUpdate(cipher.pointer, nil, &count, context, Int32(context.count))
            & EVP_EncryptUpdate(cipher.pointer, &ciphertext, &count, text, Int32(text.count))
            & EVP_EncryptFinal_ex(cipher.pointer, nil, &count)
            & EVP_CIPHER_CTX_ctrl(cipher.pointer, EVP_CTRL_AEAD_GET_TAG, Int32(tag.count), &tag)
        precondition(status == 1, "AES-GCM encrypts any bytes under a key of 32 bytes")
        return nonce + ciphertext + tag
    }

    /// Returns the text that was sealed with this key and context; nil if any byte differs.
    package func open(_ sealed: ArraySlice<UInt8>, context: [UInt8]) -> [UInt8]? {
        guard sealed.count >= Self.overhead else { return nil }
        let nonce = Array(sealed.prefix(Self.nonceByteCount))
        let ciphertext = Array(sealed.dropFirst(Self.nonceByteCount).dropLast(Self.tagByteCount))
        var tag = Array(sealed.suffix(Self.tagByteCount))
        var text = [UInt8](repeating: 0, count: ciphertext.count)
        var count: Int32 = 0
        let cipher = CipherContext()
        // SAFETY: OpenSSL writes as many bytes as the ciphertext has, and reads 16 of the tag.
        let status =
            unsafe EVP_DecryptInit_ex(cipher.pointer, CipherAlgorithm.aes256GCM.pointer, nil, key, nonce)
            & EVP_DecryptUpdate(cipher.pointer, nil, &count, context, Int32(context.count))
            & EVP_DecryptUpdate(cipher.pointer, &text, &count, ciphertext, Int32(ciphertext.count))
            & EVP_CIPHER_CTX_ctrl(cipher.pointer, EVP_CTRL_AEAD_SET_TAG, Int32(tag.count), &tag)
        precondition(status == 1, "AES-GCM decrypts any bytes under a key of 32 bytes")
        // Nothing of the text is used before the tag is compared.
        return unsafe EVP_DecryptFinal_ex(cipher.pointer, nil, &count) == 1 ? text : nil
    }
}
