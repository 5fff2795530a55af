// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import COpenSSL

/// An RSA public key that verifies PKCS #1 v1.5 signatures (RFC 8017 §8.2), from many threads.
///
/// SAFETY (nonisolated(unsafe) key): OpenSSL counts references to an `EVP_PKEY` atomically and a key is never changed
/// after it is made, so any thread may use it.
@safe final class PublicKey: Sendable {
    private nonisolated(unsafe) let key: OpaquePointer
    private let sha1 = Pool<VerificationContext>()
    private let sha256 = Pool<VerificationContext>()

    /// A key of these two numbers (RFC 8017 §3.1), the modulus big-endian; nil if OpenSSL takes them for no key.
    ///
    /// OpenSSL 3 needs 6 µs for this and more than 150 µs for `d2i_PUBKEY`.
    init?(modulus: Span<UInt8>, exponent: UInt64) {
        // OSSL_PARAM holds integers in the machine's order, which is little-endian on all we run on.
        var modulus = modulus.indices.reversed().map { modulus[$0] }
        let key = unsafe modulus.withUnsafeMutableBufferPointer { modulus in
            unsafe COpenSSL_rsa_public_key(modulus.baseAddress, modulus.count, exponent)
        }
        guard let key = unsafe key else {
            ERR_clear_error()
            return nil
        }
        unsafe self.key = key
    }

    deinit {
        unsafe EVP_PKEY_free(key)
    }

    /// Whether `signature` is this key's signature over `content`.
    @inline(__always)
    func verifies(_ signature: Span<UInt8>, over content: Span<UInt8>, _ digest: DigestAlgorithm) -> Bool {
        let pool = digest == .sha256 ? sha256 : sha1
        return unsafe pool.lend(orMake: VerificationContext(borrowing: key, digest)) { context in
            context.verifies(signature, over: content)
        }
    }
}

/// A digest context and an `EVP_PKEY_CTX`, ready to verify with one key and one digest again and again.
///
/// SAFETY (@unchecked Sendable): one caller at a time has it, because it is reachable only through a `Pool`.
@safe final class VerificationContext: @unchecked Sendable {
    private let digest: DigestContext
    private let context: OpaquePointer

    /// The context keeps a reference of its own to the key.
    init(borrowing key: OpaquePointer, _ digest: DigestAlgorithm) {
        self.digest = DigestContext(digest)
        guard let context = unsafe EVP_PKEY_CTX_new_from_pkey(nil, key, nil),
            unsafe EVP_PKEY_verify_init(context) == 1,
            unsafe EVP_PKEY_CTX_set_rsa_padding(context, RSA_PKCS1_PADDING) == 1,
            unsafe EVP_PKEY_CTX_set_signature_md(context, digest.opensslDigest) == 1
        else { preconditionFailure("OpenSSL cannot verify RSA with \(digest.opensslName)") }
        unsafe self.context = context
    }

    deinit {
        unsafe EVP_PKEY_CTX_free(context)
    }

    func verifies(_ signature: Span<UInt8>, over content: Span<UInt8>) -> Bool {
        let status = digest.withDigest(of: content) { hash in
            unsafe signature.withUnsafeBufferPointer { signature in
                unsafe hash.withUnsafeBufferPointer { hash in
                    unsafe EVP_PKEY_verify(
                        context, signature.baseAddress, signature.count, hash.baseAddress, hash.count)
                }
            }
        }
        // A refused signature leaves its story in the thread's error queue; nobody will read it.
        if status != 1 { ERR_clear_error() }
        return status == 1
    }
}

extension DigestAlgorithm {
    fileprivate var opensslDigest: OpaquePointer? {
        switch self {
        case .sha1: unsafe EVP_sha1()
        case .sha256: unsafe EVP_sha256()
        }
    }
}
