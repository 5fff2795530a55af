// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

// SubjectPublicKeyInfo ::= SEQUENCE {
//     algorithm         AlgorithmIdentifier,                     -- rsaEncryption
//     subjectPublicKey  BIT STRING }                             -- RFC 5280 §4.1.2.7
//
// RSAPublicKey ::= SEQUENCE { modulus INTEGER, publicExponent INTEGER }      -- RFC 8017 §A.1.1

/// A certificate's key as it is declared; a `PublicKey` is made of it once its certificate is trusted.
struct RSAPublicKeyInfo: Sendable {
    /// Nil if the key is not an RSA key.
    private let numbers: Numbers?

    fileprivate struct Numbers: Sendable {
        /// The contents of an INTEGER, with the zero byte that keeps it positive.
        let modulus: Range<Int>
        let modulusBits: Int
        /// Nil if it takes more than 64 bits.
        let publicExponent: UInt64?
    }

    init(_ fields: inout DERReader) throws(ReceiptError) {
        var info = try fields.enter(.sequence)
        var algorithm = try info.enter(.sequence)
        guard fields.bytes.equals(try algorithm.objectIdentifier(), ObjectIdentifier.rsaEncryption) else {
            numbers = nil
            return
        }
        let key = try info.bitString()
        try info.finish()
        numbers = try Numbers(DERReader(fields.bytes, in: key))
    }

    /// RSA of at least 2048 bits with an odd exponent of at least 65537: small exponents make sloppy padding checks
    /// forgeable, and Apple uses none.
    func check() throws(ReceiptError) {
        guard let numbers else { throw ReceiptError(.keyNotRSA) }
        guard numbers.modulusBits >= Self.minimumModulusBits else { throw ReceiptError(.keyTooSmall) }
        guard let exponent = numbers.publicExponent, exponent >= Self.minimumExponent, exponent % 2 == 1 else {
            throw ReceiptError(.exponentTooSmall)
        }
    }

    /// The key itself, out of the bytes it was read from.
    func publicKey(in bytes: Span<UInt8>) throws(ReceiptError) -> PublicKey {
        guard let numbers, let exponent = numbers.publicExponent,
            let key = PublicKey(modulus: bytes.extracting(numbers.modulus), exponent: exponent)
        else { throw ReceiptError(.certificateMalformed) }
        return key
    }

    private static let minimumModulusBits = 2048
    private static let minimumExponent: UInt64 = 65_537
}

extension RSAPublicKeyInfo.Numbers {
    init(_ bits: consuming DERReader) throws(ReceiptError) {
        var key = try bits.enter(.sequence)
        try bits.finish()
        modulus = try key.next(.integer).contents
        let exponent = try key.next(.integer).contents
        try key.finish()
        modulusBits = try key.bytes.bitWidth(ofInteger: modulus)
        let exponentBits = try key.bytes.bitWidth(ofInteger: exponent)
        publicExponent = exponentBits <= 64 ? exponent.reduce(0) { $0 << 8 | UInt64(key.bytes[$1]) } : nil
    }
}

extension Span<UInt8> {
    /// Significant bits of a positive INTEGER's contents; zero and negative numbers have none.
    fileprivate func bitWidth(ofInteger contents: Range<Int>) throws(ReceiptError) -> Int {
        try checkShortestForm(ofInteger: contents)
        guard self[contents.lowerBound] & 0x80 == 0 else { return 0 }
        let digits = self[contents.lowerBound] == 0 ? contents.dropFirst() : contents
        guard let first = digits.first else { return 0 }
        return digits.count * 8 - self[first].leadingZeroBitCount
    }
}
