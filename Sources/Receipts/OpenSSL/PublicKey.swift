// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// A public key that verifies signatures on many threads: RSA (RFC 8017), or ECDSA on P-256 or P-384 (FIPS 186-4).
///
/// Each context has its own `EVP_PKEY`: OpenSSL locks the key for each verification, and the lock of a shared key would
/// bounce between the threads' caches.
final class PublicKey: Sendable {
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
        guard algorithm != .es256 else { return verifiesES256(signature, over: content) }
        return verifies(signature, over: content, algorithm.digest)
    }

    /// Verifies exactly 64 bytes (RFC 7518 §3.4). OpenSSL rejects numbers outside 1 to n - 1, n the group's order.
    private func verifiesES256(_ signature: Span<UInt8>, over content: Span<UInt8>) -> Bool {
        guard signature.count == 2 * EllipticCurve.p256.byteCount else { return false }
        return verifies(ECDSASigValue.encode(signature).span, over: content, .sha256)
    }

    @inline(__always)
    private func verifies(_ signature: Span<UInt8>, over content: Span<UInt8>, _ digest: DigestAlgorithm) -> Bool {
        pool(of: digest).lend(orMake: newContext(digest)) { $0.verifies(signature, over: content) }
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
