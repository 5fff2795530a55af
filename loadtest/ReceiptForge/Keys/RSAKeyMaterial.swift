// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// The numbers of an RSA key, most significant byte first (RFC 8017 appendix A.1.2).
struct RSAKeyMaterial: Sendable, Hashable {
    let modulus: [UInt8]
    let publicExponent: [UInt8]
    let privateExponent: [UInt8]
    let prime1: [UInt8]
    let prime2: [UInt8]
    let exponent1: [UInt8]
    let exponent2: [UInt8]
    let coefficient: [UInt8]

    /// Generates a key of `bits` bits, which depends on the generator's state alone.
    static func generate(bits: Int, publicExponent: UInt64, using generator: inout SplitMix64) -> RSAKeyMaterial {
        let exponent = BigNumber(publicExponent)
        let search = PrimeSearch(bits: bits / 2, publicExponent: exponent)
        let first = search.prime(using: &generator)
        let second = search.prime(using: &generator)
        return RSAKeyMaterial(first, second, publicExponent: exponent)
    }

    private init(_ prime1: BigNumber, _ prime2: BigNumber, publicExponent: BigNumber) {
        let one = BigNumber(1)
        let (order1, order2) = (prime1.subtracting(one), prime2.subtracting(one))
        let privateExponent = publicExponent.inverse(modulo: order1.multiplied(by: order2))
        self.modulus = prime1.multiplied(by: prime2).bytes
        self.publicExponent = publicExponent.bytes
        self.privateExponent = privateExponent.bytes
        self.prime1 = prime1.bytes
        self.prime2 = prime2.bytes
        self.exponent1 = privateExponent.remainder(dividingBy: order1).bytes
        self.exponent2 = privateExponent.remainder(dividingBy: order2).bytes
        self.coefficient = prime2.inverse(modulo: prime1).bytes
    }

    /// ```
    /// RSAPrivateKey ::= SEQUENCE { version, modulus, publicExponent, privateExponent,
    ///                              prime1, prime2, exponent1, exponent2, coefficient }
    /// ```
    var rsaPrivateKey: DERElement {
        let numbers = [
            modulus, publicExponent, privateExponent, prime1, prime2, exponent1, exponent2, coefficient,
        ]
        return .sequence(of: [.integer(0)] + numbers.map { .integer(magnitude: $0) })
    }

    /// `RSAPublicKey ::= SEQUENCE { modulus INTEGER, publicExponent INTEGER }`
    var rsaPublicKey: DERElement {
        .sequence(.integer(magnitude: modulus), .integer(magnitude: publicExponent))
    }
}
