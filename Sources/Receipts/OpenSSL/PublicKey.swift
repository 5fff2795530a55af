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
        return lendContext(algorithm.digest) { $0.verifies(signature, over: content) }
    }

    /// Returns SHA-256 of the content if the signature, exactly 64 bytes, is an ES256 signature over it
    /// (RFC 7518 §3.4); else nil. OpenSSL rejects numbers outside 1 to n - 1, n the group's order.
    package func digest(of content: Span<UInt8>, signedES256 signature: Span<UInt8>) -> Fingerprint? {
        guard curve == .p256, signature.count == 2 * EllipticCurve.p256.byteCount else { return nil }
        return lendContext(.sha256) { $0.digest(of: content, signedBy: ECDSASigValue.encode(signature).span) }
    }

    /// Returns SHA-256 of the content if the signature is this key's over it, else nil.
    func identity(
        of content: Span<UInt8>, signedBy signature: Span<UInt8>, _ algorithm: SignatureAlgorithm
    ) throws(ReceiptError) -> Fingerprint? {
        guard algorithm == .sha256WithRSA, curve == nil else {
            return try verifies(signature, over: content, algorithm) ? Fingerprint(of: content) : nil
        }
        // The signature is over the same digest.
        return lendContext(.sha256) { $0.digest(of: content, signedBy: signature) }
    }

    @inline(__always)
    private func lendContext<Value>(_ digest: DigestAlgorithm, _ body: (VerificationContext) -> Value) -> Value {
        let pool =
            switch digest {
            case .sha1: sha1
            case .sha256: sha256
            case .sha384: sha384
            }
        return pool.lend(orMake: newContext(digest), body)
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

// ECDSA-Sig-Value ::= SEQUENCE { r INTEGER, s INTEGER }          -- RFC 3279 §2.2.3

/// The DER form of an ECDSA signature, as in certificates.
enum ECDSASigValue {
    /// Encodes a JWS signature r ‖ s, two numbers of equal length (RFC 7518 §3.4), in DER.
    ///
    /// - Parameter numbers: at most 122 bytes, so that every length takes one byte.
    static func encode(_ numbers: Span<UInt8>) -> [UInt8] {
        var contents: [UInt8] = []
        contents.reserveCapacity(numbers.count + 6)
        append(numbers.extracting(0..<numbers.count / 2), to: &contents)
        append(numbers.extracting(numbers.count / 2..<numbers.count), to: &contents)
        return [DERTag.sequence.byte, UInt8(contents.count)] + contents
    }

    /// Appends a positive INTEGER in its shortest form (X.690 §8.3.2).
    private static func append(_ number: Span<UInt8>, to contents: inout [UInt8]) {
        let start = number.indices.first { number[$0] != 0 } ?? number.count
        let needsZero = start == number.count || number[start] & 0x80 != 0
        contents += [DERTag.integer.byte, UInt8(number.count - start + (needsZero ? 1 : 0))]
        if needsZero { contents.append(0) }
        contents += number.copy(start..<number.count)
    }
}
