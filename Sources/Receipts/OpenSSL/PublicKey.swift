// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// A public key that verifies signatures on many threads: RSA (RFC 8017), or ECDSA on P-256 or P-384 (FIPS 186-4).
///
/// Each context has its own `EVP_PKEY`: OpenSSL locks the key for each verification, and the lock of a shared key would
/// bounce between the threads' caches.
package final class PublicKey: Sendable {
    enum Material: Sendable {
        /// RFC 8017 §3.1. The modulus is in the machine's order, as in OSSL_PARAM: little-endian wherever we run.
        case rsa(modulus: [UInt8], exponent: UInt64)
        /// The byte 4 and both coordinates, big-endian (RFC 5480 §2.2).
        case elliptic(EllipticCurve, point: [UInt8])
    }

    private let material: Material
    /// Nil for RSA.
    private let curve: EllipticCurve?
    private let sha1 = Pool<VerificationContext>()
    private let sha256 = Pool<VerificationContext>()
    private let sha384 = Pool<VerificationContext>()

    /// Creates an RSA key, the modulus big-endian; nil if OpenSSL rejects the numbers.
    convenience init?(modulus: Span<UInt8>, exponent: UInt64) {
        self.init(.rsa(modulus: modulus.indices.reversed().map { modulus[$0] }, exponent: exponent), nil)
    }

    /// Creates an elliptic key; nil if the point is not on the curve.
    convenience init?(point: Span<UInt8>, on curve: EllipticCurve) {
        self.init(.elliptic(curve, point: point.copy(0..<point.count)), curve)
    }

    private init?(_ material: Material, _ curve: EllipticCurve?) {
        self.material = material
        self.curve = curve
        guard VerificationContext(material, .sha256) != nil else { return nil }
    }

    /// Returns true if `signature` is this key's signature over `content`.
    ///
    /// - Throws: `keyAlgorithmMismatch` if keys of this kind make no signatures with the algorithm.
    @inline(__always)
    func verifies(
        _ signature: Span<UInt8>, over content: Span<UInt8>, _ algorithm: SignatureAlgorithm
    ) throws(ReceiptError) -> Bool {
        guard algorithm.takesKey(on: curve) else { throw ReceiptError(.keyAlgorithmMismatch) }
        guard algorithm != .es256 else { return digest(of: content, signedES256: signature) != nil }
        return verifies(signature, over: content, algorithm.digest)
    }

    /// Returns SHA-256 of the content if the signature, exactly 64 bytes, is an ES256 signature over it
    /// (RFC 7518 §3.4); else nil. OpenSSL rejects numbers outside 1 to n - 1, n the group's order.
    package func digest(of content: Span<UInt8>, signedES256 signature: Span<UInt8>) -> Fingerprint? {
        guard curve == .p256, signature.count == 2 * EllipticCurve.p256.byteCount else { return nil }
        return pool(of: .sha256).lend(orMake: newContext(.sha256)) { context in
            context.digest(of: content, signedBy: ECDSASigValue.encode(signature).span)
        }
    }

    @inline(__always)
    private func verifies(_ signature: Span<UInt8>, over content: Span<UInt8>, _ digest: DigestAlgorithm) -> Bool {
        pool(of: digest).lend(orMake: newContext(digest)) { $0.verifies(signature, over: content) }
    }

    /// Returns SHA-256 of the content if the signature is this RSA key's over it, else nil.
    func digest(of content: Span<UInt8>, signedRSASHA256 signature: Span<UInt8>) throws(ReceiptError) -> Fingerprint? {
        guard SignatureAlgorithm.sha256WithRSA.takesKey(on: curve) else { throw ReceiptError(.keyAlgorithmMismatch) }
        return pool(of: .sha256).lend(orMake: newContext(.sha256)) { context in
            context.digest(of: content, signedBy: signature)
        }
    }

    private func pool(of digest: DigestAlgorithm) -> Pool<VerificationContext> {
        switch digest {
        case .sha1: sha1
        case .sha256: sha256
        case .sha384: sha384
        }
    }

    private func newContext(_ digest: DigestAlgorithm) -> VerificationContext {
        guard let context = VerificationContext(material, digest) else {
            preconditionFailure("OpenSSL accepted these numbers before")
        }
        return context
    }
}

extension SignatureAlgorithm {
    /// Returns true if keys on this curve make such signatures; nil stands for RSA keys.
    fileprivate func takesKey(on curve: EllipticCurve?) -> Bool {
        switch self {
        case .sha1WithRSA, .sha256WithRSA: curve == nil
        case .ecdsaWithSHA256, .ecdsaWithSHA384: curve != nil
        case .es256: curve == .p256
        }
    }
}
