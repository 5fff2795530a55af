// SPDX-License-Identifier: Apache-2.0

internal import COpenSSL

/// A private key of Ed25519 (RFC 8032 §5.1).
///
/// SAFETY (@unchecked Sendable): only `init` writes the key. Signing reads it, with a context for each call.
@safe package final class Ed25519SigningKey: @unchecked Sendable {
    private let key: OpaquePointer
    /// The 32 bytes of the public key.
    package let publicKey: [UInt8]

    package static let seedByteCount = 32
    package static let publicKeyByteCount = 32
    package static let signatureByteCount = 64

    /// Creates the key of a seed (the "private key" of RFC 8032 §5.1.5).
    /// - Returns: nil unless the seed has 32 bytes.
    package init?(seed: [UInt8]) {
        defer { ERR_clear_error() }
        guard seed.count == Self.seedByteCount,
            let key = unsafe EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, nil, seed, seed.count)
        else { return nil }
        var publicKey = [UInt8](repeating: 0, count: Self.publicKeyByteCount)
        var count = publicKey.count
        guard unsafe EVP_PKEY_get_raw_public_key(key, &publicKey, &count) == 1, count == publicKey.count else {
            unsafe EVP_PKEY_free(key)
            return nil
        }
        unsafe self.key = key
        self.publicKey = publicKey
    }

    deinit { unsafe EVP_PKEY_free(key) }

    /// Returns the signature of a message, 64 bytes.
    package func signature(over message: [UInt8]) -> [UInt8] {
        let context = unsafe EVP_MD_CTX_new()
        defer { unsafe EVP_MD_CTX_free(context) }
        var signature = [UInt8](repeating: 0, count: Self.signatureByteCount)
        var count = signature.count
        // Ed25519 hashes by itself: no digest is named.
        let status =
            unsafe EVP_DigestSignInit(context, nil, nil, nil, key)
            & EVP_DigestSign(context, &signature, &count, message, message.count)
        precondition(status == 1 && count == signature.count, "a private key of Ed25519 can sign")
        return signature
    }
}
