// SPDX-License-Identifier: Apache-2.0

internal import COpenSSL

struct ECPrivateKey: PrivateKey {
    /// The curves of Apple's keys (RFC 5480 §2.1.1.1).
    enum Curve: Sendable, CaseIterable {
        case p256, p384

        var objectIdentifier: OID { self == .p256 ? .prime256v1 : .secp384r1 }

        /// The length of one coordinate in bytes.
        var byteCount: Int { self == .p256 ? 32 : 48 }
    }

    private let curve: Curve
    private let scalar: [UInt8]
    private let signer: SigningKey

    /// Derives the key for one purpose from the seed.
    init(_ curve: Curve, seed: UInt64, purpose: String) {
        var generator = SplitMix64(seed: seed, purpose: "key " + purpose)
        var scalar = generator.bytes(count: curve.byteCount)
        // Below the order of either curve, whose first byte is FF.
        scalar[0] &= 0x7F
        self.curve = curve
        self.scalar = scalar
        // ECPrivateKey ::= SEQUENCE { version, privateKey OCTET STRING, parameters [0] ECParameters } (RFC 5915 §3)
        let structure = DERNode.sequence(
            .integer(1), .octetString(scalar), .explicit(0, curve.objectIdentifier.element))
        signer = SigningKey(EVP_PKEY_EC, structure)
    }

    /// The public point: the byte 4 and both coordinates.
    var point: [UInt8] { signer.point(coordinateBytes: curve.byteCount) }

    var subjectPublicKeyInfo: DERNode { .ellipticKey(point, on: curve.objectIdentifier.element) }

    var keyIdentifier: [UInt8] { SigningDigest.sha1.hash(point) }

    /// Returns the algorithm without parameters (RFC 5758 §3.2), one of the two that Apple uses.
    func signatureAlgorithm(_ digest: SigningDigest) -> AlgorithmIdentifier {
        AlgorithmIdentifier(digest == .sha384 ? .ecdsaWithSHA384 : .ecdsaWithSHA256, parameters: nil)
    }

    func signature(over message: [UInt8], digest: SigningDigest) -> [UInt8] {
        signer.signature(over: message, digest: digest)
    }

    /// Signs as r ‖ s, in as many bytes as two coordinates have (RFC 7518 §3.4).
    func fixedLengthSignature(over message: [UInt8], digest: SigningDigest) -> [UInt8] {
        let encoding = signature(over: message, digest: digest)
        let decoded = unsafe encoding.withUnsafeBufferPointer { buffer in
            var start = buffer.baseAddress
            return unsafe d2i_ECDSA_SIG(nil, &start, buffer.count)
        }
        guard let decoded = unsafe decoded else { preconditionFailure("OpenSSL cannot read its own signature") }
        defer { unsafe ECDSA_SIG_free(decoded) }
        return unsafe bytes(of: ECDSA_SIG_get0_r(decoded)) + bytes(of: ECDSA_SIG_get0_s(decoded))
    }

    /// Signs as a JWS does with a key on P-256 (RFC 7518 §3.4).
    func signES256(_ message: [UInt8]) -> [UInt8] { fixedLengthSignature(over: message, digest: .sha256) }

    /// Checks r ‖ s over a message.
    func isValid(_ signature: [UInt8], over message: [UInt8], digest: SigningDigest) -> Bool {
        guard signature.count == 2 * curve.byteCount else { return false }
        // ECDSA-Sig-Value ::= SEQUENCE { r INTEGER, s INTEGER } (RFC 3279 §2.2.3)
        let encoding = DERNode.sequence(
            .integer(magnitude: Array(signature.prefix(curve.byteCount))),
            .integer(magnitude: Array(signature.suffix(curve.byteCount))))
        return signer.isValid(encoding.encoded, over: message, digest: digest)
    }

    /// `PrivateKeyInfo ::= SEQUENCE { version, privateKeyAlgorithm, privateKey OCTET STRING }` (RFC 5958 §2), in PEM.
    /// Includes the public key, as in the files of App Store Connect.
    var pem: String {
        let algorithm = AlgorithmIdentifier(.ecPublicKey, parameters: curve.objectIdentifier.element)
        let key = DERNode.sequence(.integer(1), .octetString(scalar), .explicit(1, .bitString(point)))
        let info = DERNode.sequence(.integer(0), algorithm.element, .octetString(wrapping: key))
        return PEMEncoder.text(info.encoded, label: "PRIVATE KEY")
    }

    private func bytes(of number: OpaquePointer?) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: curve.byteCount)
        unsafe BN_bn2binpad(number, &bytes, Int32(bytes.count))
        return bytes
    }
}

extension DERNode {
    /// `SubjectPublicKeyInfo` with the curve as parameters of the algorithm (RFC 5480 §2).
    static func ellipticKey(_ point: [UInt8], on curve: DERNode) -> DERNode {
        .sequence(AlgorithmIdentifier(.ecPublicKey, parameters: curve).element, .bitString(point))
    }
}
