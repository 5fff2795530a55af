// SPDX-License-Identifier: Apache-2.0

internal import COpenSSL

/// A digest context and an `EVP_PKEY_CTX`, for repeated verification with one key and one digest.
///
/// OpenSSL is not told the digest. For RSA, the unpadded value is compared with the DigestInfo made here (RFC 8017
/// §8.2.2, steps 3 and 4): where a policy forbids SHA-1 in signatures, OpenSSL rejects that digest, and Apple's older
/// receipts could not be verified. For ECDSA it takes as many bits of a digest as the curve has (FIPS 186-4 §6.4).
///
/// SAFETY (@unchecked Sendable): reachable only through a `Pool`, so one caller at a time has it.
@safe final class VerificationContext: @unchecked Sendable {
    private let digest: DigestContext
    private let context: OpaquePointer
    /// The length of an RSA signature in bytes; nil for ECDSA, whose signatures vary in length.
    private let signatureCount: Int?

    /// Creates a context; nil if OpenSSL rejects the numbers, or cannot verify with such keys. Traps if OpenSSL does
    /// not offer the digest; `ReceiptVerifier.checkOpenSSL` checks that beforehand.
    init?(_ material: PublicKey.Material, _ digest: DigestAlgorithm) {
        let key = unsafe material.newKey()
        // The context keeps its own reference to the key; freeing nil is allowed.
        defer { unsafe EVP_PKEY_free(key) }
        guard let key = unsafe key, let context = unsafe Self.context(for: key, isRSA: material.isRSA) else {
            ERR_clear_error()
            return nil
        }
        self.digest = DigestContext(digest)
        unsafe self.context = context
        signatureCount = material.isRSA ? unsafe Int(EVP_PKEY_get_size(key)) : nil
    }

    deinit {
        unsafe EVP_PKEY_CTX_free(context)
    }

    /// Creates a context that verifies with the key; nil if OpenSSL, as configured, has none.
    private static func context(for key: OpaquePointer, isRSA: Bool) -> OpaquePointer? {
        guard let context = unsafe EVP_PKEY_CTX_new_from_pkey(nil, key, nil) else { return nil }
        guard unsafe EVP_PKEY_verify_init(context) == 1,
            unsafe !isRSA || EVP_PKEY_CTX_set_rsa_padding(context, RSA_PKCS1_PADDING) == 1
        else {
            unsafe EVP_PKEY_CTX_free(context)
            return nil
        }
        return unsafe context
    }

    func verifies(_ signature: Span<UInt8>, over content: Span<UInt8>) -> Bool {
        verified(signature, over: content) { _ in true } ?? false
    }

    /// Returns SHA-256 of the content if the signature is over it, else nil. Only for contexts of that digest.
    func digest(of content: Span<UInt8>, signedBy signature: Span<UInt8>) -> Fingerprint? {
        verified(signature, over: content) {
            Fingerprint(digest: $0.extracting(last: DigestAlgorithm.sha256.byteCount))
        }
    }

    /// Passes the digest to `body`, for RSA within its DigestInfo, if the signature is over the content; else returns nil.
    @inline(__always)
    private func verified<Value>(
        _ signature: Span<UInt8>, over content: Span<UInt8>, _ body: (Span<UInt8>) -> Value
    ) -> Value? {
        guard let signatureCount else {
            return digest.withDigest(of: content) { isSignature(signature, of: $0) ? body($0) : nil }
        }
        // RFC 8017 §8.2.2, step 1: a signature is as long as its key. OpenSSL would pad a shorter signature with zeros,
        // and one content would have two signatures.
        guard signature.count == signatureCount else { return nil }
        return digest.withDigestInfo(of: content) { isSignature(signature, of: $0) ? body($0) : nil }
    }

    @inline(__always)
    private func isSignature(_ signature: Span<UInt8>, of digest: Span<UInt8>) -> Bool {
        let status = unsafe signature.withUnsafeBufferPointer { signature in
            unsafe digest.withUnsafeBufferPointer { digest in
                unsafe EVP_PKEY_verify(
                    context, signature.baseAddress, signature.count, digest.baseAddress, digest.count)
            }
        }
        // A rejected signature leaves entries in the thread's error queue, which nothing reads.
        if status != 1 { ERR_clear_error() }
        return status == 1
    }

    /// True if OpenSSL, as configured, can make RSA keys and verify with them.
    static var isRSAOffered: Bool {
        VerificationContext(.rsa(modulus: [UInt8](repeating: 0xFF, count: 256), exponent: 65_537), .sha256) != nil
    }

    /// True if OpenSSL, as configured, can make elliptic keys and verify with them.
    static var isECDSAOffered: Bool {
        let keys = unsafe EVP_KEYMGMT_fetch(nil, "EC", nil)
        let signatures = unsafe EVP_SIGNATURE_fetch(nil, "ECDSA", nil)
        defer {
            unsafe EVP_KEYMGMT_free(keys)
            unsafe EVP_SIGNATURE_free(signatures)
            ERR_clear_error()
        }
        return unsafe keys != nil && signatures != nil
    }
}

extension PublicKey.Material {
    fileprivate var isRSA: Bool {
        if case .rsa = self { true } else { false }
    }

    /// Creates a key, which the caller frees; nil if OpenSSL rejects the numbers.
    ///
    /// OpenSSL 3 needs 6 µs for an RSA key and more than 150 µs for `d2i_PUBKEY`.
    fileprivate func newKey() -> OpaquePointer? {
        switch self {
        case .rsa(var modulus, let exponent):
            unsafe modulus.withUnsafeMutableBufferPointer { modulus in
                unsafe COpenSSL_rsa_public_key(modulus.baseAddress, modulus.count, exponent)
            }
        case .elliptic(let curve, var point):
            unsafe point.withUnsafeMutableBufferPointer { point in
                unsafe COpenSSL_ec_public_key(curve.rawValue, point.baseAddress, point.count)
            }
        }
    }
}
