// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import COpenSSL

/// An elliptic key that can sign: the owner of one OpenSSL `EVP_PKEY`.
///
/// Safe because the pointer never leaves this file and `deinit` frees it exactly once. `@unchecked Sendable` because
/// the key is immutable, and OpenSSL allows concurrent use of an unchanged `EVP_PKEY` (openssl-threads(7)).
@safe final class ECPrivateKey: @unchecked Sendable {
    /// The curves of Apple's keys (RFC 5480 §2.1.1.1).
    enum Curve: Sendable, CaseIterable {
        case p256, p384

        var objectIdentifier: ObjectIdentifier {
            switch self {
            case .p256: .prime256v1
            case .p384: .secp384r1
            }
        }

        /// The length of one coordinate in bytes.
        var byteCount: Int {
            switch self {
            case .p256: 32
            case .p384: 48
            }
        }
    }

    private let curve: Curve
    private let pointer: OpaquePointer

    /// Derives the key for one purpose from the seed.
    init(_ curve: Curve, seed: UInt64, purpose: String) {
        var generator = SplitMix64(seed: seed, purpose: "key " + purpose)
        var scalar = generator.bytes(count: curve.byteCount)
        // Below the order of either curve, whose first byte is FF.
        scalar[0] &= 0x7F
        let encoding = Self.ecPrivateKey(scalar, on: curve).encoded
        let decoded = unsafe encoding.withUnsafeBufferPointer { buffer in
            var start = buffer.baseAddress
            return unsafe d2i_PrivateKey(EVP_PKEY_EC, nil, &start, buffer.count)
        }
        guard let decoded = unsafe decoded else { preconditionFailure("OpenSSL rejected the key") }
        self.curve = curve
        unsafe self.pointer = decoded
    }

    deinit {
        unsafe EVP_PKEY_free(pointer)
    }

    /// `ECPrivateKey ::= SEQUENCE { version, privateKey OCTET STRING, parameters [0] ECParameters }` (RFC 5915 §3)
    private static func ecPrivateKey(_ scalar: [UInt8], on curve: Curve) -> DERElement {
        .sequence(.integer(1), .octetString(scalar), .explicit(0, curve.objectIdentifier.element))
    }

    /// The public key: the byte 4 and both coordinates (RFC 5480 §2.2).
    private var point: [UInt8] {
        var point = [UInt8](repeating: 0, count: 1 + 2 * curve.byteCount)
        var count = 0
        let status = unsafe EVP_PKEY_get_octet_string_param(
            pointer, OSSL_PKEY_PARAM_PUB_KEY, &point, point.count, &count)
        precondition(status == 1 && count == point.count && point[0] == 0x04, "OpenSSL returned no uncompressed point")
        return point
    }

    /// Signs with ECDSA, in DER (RFC 3279 §2.2.3). OpenSSL draws a random number, so each signature differs.
    func signature(over message: [UInt8], digest: DigestAlgorithm) -> [UInt8] {
        guard let context = unsafe EVP_MD_CTX_new() else { preconditionFailure("OpenSSL is out of memory") }
        defer { unsafe EVP_MD_CTX_free(context) }
        var count = Int(unsafe EVP_PKEY_get_size(pointer))
        var signature = [UInt8](repeating: 0, count: count)
        let began = unsafe EVP_DigestSignInit(context, nil, digest.evp, nil, pointer)
        let signed = unsafe EVP_DigestSign(context, &signature, &count, message, message.count)
        precondition(began == 1 && signed == 1 && count <= signature.count, "OpenSSL could not sign")
        return Array(signature.prefix(count))
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

extension ECPrivateKey: PrivateKey {
    var subjectPublicKeyInfo: DERElement {
        let algorithm = AlgorithmIdentifier(.ecPublicKey, parameters: curve.objectIdentifier.element)
        return .sequence(algorithm.element, .bitString(point))
    }

    var keyIdentifier: [UInt8] { DigestAlgorithm.sha1.hash(point) }

    /// Returns the algorithm without parameters (RFC 5758 §3.2), one of the two that Apple uses.
    func signatureAlgorithm(_ digest: DigestAlgorithm) -> AlgorithmIdentifier {
        AlgorithmIdentifier(digest == .sha384 ? .ecdsaWithSHA384 : .ecdsaWithSHA256, parameters: nil)
    }
}
