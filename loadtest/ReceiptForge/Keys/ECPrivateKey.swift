// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import COpenSSL

struct ECPrivateKey: PrivateKey {
    /// The curves of Apple's keys (RFC 5480 §2.1.1.1).
    enum Curve: Sendable, CaseIterable {
        case p256, p384

        var objectIdentifier: ObjectIdentifier { self == .p256 ? .prime256v1 : .secp384r1 }

        /// The length of one coordinate in bytes.
        var byteCount: Int { self == .p256 ? 32 : 48 }
    }

    private let curve: Curve
    private let signer: SigningKey

    /// Derives the key for one purpose from the seed.
    init(_ curve: Curve, seed: UInt64, purpose: String) {
        var generator = SplitMix64(seed: seed, purpose: "key " + purpose)
        var scalar = generator.bytes(count: curve.byteCount)
        // Below the order of either curve, whose first byte is FF.
        scalar[0] &= 0x7F
        self.curve = curve
        signer = SigningKey(EVP_PKEY_EC, Self.ecPrivateKey(scalar, on: curve))
    }

    /// `ECPrivateKey ::= SEQUENCE { version, privateKey OCTET STRING, parameters [0] ECParameters }` (RFC 5915 §3)
    private static func ecPrivateKey(_ scalar: [UInt8], on curve: Curve) -> DERElement {
        .sequence(.integer(1), .octetString(scalar), .explicit(0, curve.objectIdentifier.element))
    }

    /// The public point: the byte 4 and both coordinates.
    var point: [UInt8] { signer.point(coordinateBytes: curve.byteCount) }

    var subjectPublicKeyInfo: DERElement {
        let algorithm = AlgorithmIdentifier(.ecPublicKey, parameters: curve.objectIdentifier.element)
        return .sequence(algorithm.element, .bitString(point))
    }

    var keyIdentifier: [UInt8] { DigestAlgorithm.sha1.hash(point) }

    /// Returns the algorithm without parameters (RFC 5758 §3.2), one of the two that Apple uses.
    func signatureAlgorithm(_ digest: DigestAlgorithm) -> AlgorithmIdentifier {
        AlgorithmIdentifier(digest == .sha384 ? .ecdsaWithSHA384 : .ecdsaWithSHA256, parameters: nil)
    }

    func signature(over message: [UInt8], digest: DigestAlgorithm) -> [UInt8] {
        signer.signature(over: message, digest: digest)
    }

    /// Signs as r ‖ s, in as many bytes as two coordinates have (RFC 7518 §3.4).
    func fixedLengthSignature(over message: [UInt8], digest: DigestAlgorithm) -> [UInt8] {
        let encoding = signature(over: message, digest: digest)
        let decoded = unsafe encoding.withUnsafeBufferPointer { buffer in
            var start = buffer.baseAddress
            return unsafe d2i_ECDSA_SIG(nil, &start, buffer.count)
        }
        guard let decoded = unsafe decoded else { preconditionFailure("OpenSSL cannot read its own signature") }
        defer { unsafe ECDSA_SIG_free(decoded) }
        return unsafe bytes(of: ECDSA_SIG_get0_r(decoded)) + bytes(of: ECDSA_SIG_get0_s(decoded))
    }

    private func bytes(of number: OpaquePointer?) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: curve.byteCount)
        unsafe BN_bn2binpad(number, &bytes, Int32(bytes.count))
        return bytes
    }
}
