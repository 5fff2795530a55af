// SPDX-License-Identifier: Apache-2.0

internal import COpenSSL

/// An RSA key that can sign, with its numbers (RFC 8017 appendix A.1.2).
struct RSAPrivateKey: PrivateKey {
    private let signer: SigningKey
    private let rsaPublicKey: [UInt8]
    private let rsaPrivateKey: DERNode

    /// Generates a key of `bits` bits, which depends on the generator's state alone.
    init(bits: Int, publicExponent: UInt64, using generator: inout SplitMix64) {
        let exponent = BigNumber(publicExponent)
        let first = BigNumber.prime(bits: bits / 2, forExponent: exponent, using: &generator)
        let second = BigNumber.prime(bits: bits / 2, forExponent: exponent, using: &generator)
        self.init(first, second, publicExponent: exponent)
    }

    /// ```
    /// RSAPublicKey ::= SEQUENCE { modulus INTEGER, publicExponent INTEGER }
    /// RSAPrivateKey ::= SEQUENCE { version, modulus, publicExponent, privateExponent,
    ///                              prime1, prime2, exponent1, exponent2, coefficient }
    /// ```
    private init(_ prime1: BigNumber, _ prime2: BigNumber, publicExponent: BigNumber) {
        let one = BigNumber(1)
        let (order1, order2) = (prime1.subtracting(one), prime2.subtracting(one))
        let privateExponent = publicExponent.inverse(modulo: order1.multiplied(by: order2))
        let numbers = [
            prime1.multiplied(by: prime2), publicExponent, privateExponent, prime1, prime2,
            privateExponent.remainder(dividingBy: order1), privateExponent.remainder(dividingBy: order2),
            prime2.inverse(modulo: prime1),
        ].map { DERNode.integer(magnitude: $0.bytes) }
        rsaPublicKey = DERNode.sequence(numbers[0], numbers[1]).encoded
        rsaPrivateKey = .sequence(of: [.integer(0)] + numbers)
        signer = SigningKey(EVP_PKEY_RSA, rsaPrivateKey)
    }

    var subjectPublicKeyInfo: DERNode {
        .sequence(AlgorithmIdentifier(.rsaEncryption).element, .bitString(rsaPublicKey))
    }

    var keyIdentifier: [UInt8] { SigningDigest.sha1.hash(rsaPublicKey) }

    func signatureAlgorithm(_ digest: SigningDigest) -> AlgorithmIdentifier {
        AlgorithmIdentifier(digest.identifiers.withRSAEncryption)
    }

    func signature(over message: [UInt8], digest: SigningDigest) -> [UInt8] {
        signer.signature(over: message, digest: digest)
    }

    /// `PrivateKeyInfo ::= SEQUENCE { version, privateKeyAlgorithm, privateKey OCTET STRING }` (RFC 5958 §2), in PEM.
    var pem: String {
        let info = DERNode.sequence(
            .integer(0), AlgorithmIdentifier(.rsaEncryption).element, .octetString(wrapping: rsaPrivateKey))
        return PEMEncoder.text(info.encoded, label: "PRIVATE KEY")
    }
}

extension BigNumber {
    /// Returns the first prime p at or above a random start with p - 1 coprime to the public exponent, so that it has an
    /// inverse (RFC 8017 §3.1). Stepping by two costs one addition per candidate.
    ///
    /// - Parameters:
    ///   - bits: the size of the prime, a multiple of 8.
    ///   - exponent: the public exponent, a prime.
    fileprivate static func prime(
        bits: Int, forExponent exponent: BigNumber, using generator: inout SplitMix64
    ) -> BigNumber {
        let (one, two) = (BigNumber(1), BigNumber(2))
        var bytes = generator.bytes(count: bits / 8)
        // The two top bits: the product of two such numbers has exactly twice their bits.
        bytes[0] |= 0xC0
        bytes[bytes.count - 1] |= 0x01
        var candidate = BigNumber(bytes)
        while !candidate.isPrime || candidate.subtracting(one).remainder(dividingBy: exponent).isZero {
            candidate = candidate.adding(two)
        }
        return candidate
    }
}
