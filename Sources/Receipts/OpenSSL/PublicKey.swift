// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import COpenSSL

/// An RSA public key that verifies PKCS #1 v1.5 signatures (RFC 8017 §8.2), from many threads.
///
/// Each context has an `EVP_PKEY` of its own: OpenSSL takes a lock of the key for each verification, and threads that share
/// a key hand that lock's memory to and fro.
final class PublicKey: Sendable {
    /// In the machine's order, which is little-endian on all we run on, as OSSL_PARAM holds integers.
    private let modulus: [UInt8]
    private let exponent: UInt64
    private let sha1 = Pool<VerificationContext>()
    private let sha256 = Pool<VerificationContext>()

    /// A key of these two numbers (RFC 8017 §3.1), the modulus big-endian; nil if OpenSSL takes them for no key.
    init?(modulus: Span<UInt8>, exponent: UInt64) {
        self.modulus = modulus.indices.reversed().map { modulus[$0] }
        self.exponent = exponent
        guard VerificationContext(modulus: self.modulus, exponent: exponent, .sha256) != nil else { return nil }
    }

    /// Whether OpenSSL, as it is configured here, can make keys and verify with them.
    static var isOffered: Bool {
        VerificationContext(modulus: [UInt8](repeating: 0xFF, count: 256), exponent: 65_537, .sha256) != nil
    }

    /// Whether `signature` is this key's signature over `content`.
    @inline(__always)
    func verifies(_ signature: Span<UInt8>, over content: Span<UInt8>, _ digest: DigestAlgorithm) -> Bool {
        let pool = digest == .sha256 ? sha256 : sha1
        return pool.lend(orMake: newContext(digest)) { $0.verifies(signature, over: content) }
    }

    private func newContext(_ digest: DigestAlgorithm) -> VerificationContext {
        guard let context = VerificationContext(modulus: modulus, exponent: exponent, digest) else {
            preconditionFailure("OpenSSL took these numbers for a key before")
        }
        return context
    }
}

/// A digest context and an `EVP_PKEY_CTX`, ready to verify with one key and one digest again and again.
///
/// OpenSSL is not told the digest: what it takes off the padding is compared with the DigestInfo written here (RFC 8017
/// §8.2.2, steps 3 and 4). Where a policy forbids SHA-1 in signatures, OpenSSL refuses to be told, and Apple's older
/// receipts could not be verified.
///
/// SAFETY (@unchecked Sendable): one caller at a time has it, because it is reachable only through a `Pool`.
@safe final class VerificationContext: @unchecked Sendable {
    private let digest: DigestContext
    private let context: OpaquePointer
    private let signatureCount: Int

    /// - Parameters:
    ///   - modulus: little-endian.
    ///   - digest: what signatures are over. Traps where OpenSSL does not offer it; `ReceiptVerifier.checkOpenSSL` tells
    ///     beforehand.
    /// - Returns: nil if OpenSSL takes the numbers for no key, or cannot verify with RSA.
    init?(modulus: [UInt8], exponent: UInt64, _ digest: DigestAlgorithm) {
        var modulus = modulus
        // OpenSSL 3 needs 6 µs for this and more than 150 µs for `d2i_PUBKEY`.
        let key = unsafe modulus.withUnsafeMutableBufferPointer { modulus in
            unsafe COpenSSL_rsa_public_key(modulus.baseAddress, modulus.count, exponent)
        }
        // The context keeps a reference of its own to the key; to free none is allowed.
        defer { unsafe EVP_PKEY_free(key) }
        guard let key = unsafe key, let context = unsafe Self.context(for: key) else {
            ERR_clear_error()
            return nil
        }
        self.digest = DigestContext(digest)
        unsafe self.context = context
        signatureCount = unsafe Int(EVP_PKEY_get_size(key))
    }

    deinit {
        unsafe EVP_PKEY_CTX_free(context)
    }

    /// A context that verifies with the key; nil if OpenSSL, as it is configured here, has none.
    private static func context(for key: OpaquePointer) -> OpaquePointer? {
        guard let context = unsafe EVP_PKEY_CTX_new_from_pkey(nil, key, nil) else { return nil }
        guard unsafe EVP_PKEY_verify_init(context) == 1,
            unsafe EVP_PKEY_CTX_set_rsa_padding(context, RSA_PKCS1_PADDING) == 1
        else {
            unsafe EVP_PKEY_CTX_free(context)
            return nil
        }
        return unsafe context
    }

    /// RFC 8017 §8.2.2, step 1: a signature is as long as its key. OpenSSL would read a shorter one as if zeros stood
    /// before it, and one content would have two signatures.
    func verifies(_ signature: Span<UInt8>, over content: Span<UInt8>) -> Bool {
        guard signature.count == signatureCount else { return false }
        let status = digest.withDigestInfo(of: content) { digestInfo in
            unsafe signature.withUnsafeBufferPointer { signature in
                unsafe digestInfo.withUnsafeBufferPointer { digestInfo in
                    unsafe EVP_PKEY_verify(
                        context, signature.baseAddress, signature.count, digestInfo.baseAddress, digestInfo.count)
                }
            }
        }
        // A refused signature leaves its story in the thread's error queue; nobody will read it.
        if status != 1 { ERR_clear_error() }
        return status == 1
    }
}
