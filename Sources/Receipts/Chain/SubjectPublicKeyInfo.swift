// SPDX-License-Identifier: Apache-2.0

// SubjectPublicKeyInfo ::= SEQUENCE {
//     algorithm         AlgorithmIdentifier,                     -- rsaEncryption or id-ecPublicKey
//     subjectPublicKey  BIT STRING }                             -- RFC 5280 §4.1.2.7
//
// RSAPublicKey ::= SEQUENCE { modulus INTEGER, publicExponent INTEGER }      -- RFC 8017 §A.1.1
//
// ECParameters ::= CHOICE { namedCurve OBJECT IDENTIFIER }       -- the parameters of id-ecPublicKey
// ECPoint ::= OCTET STRING                                       -- the bits themselves; RFC 5480 §2.1.1 and §2.2

/// A certificate's declared key; it becomes a `PublicKey` once its certificate is trusted.
struct SubjectPublicKeyInfo: Sendable {
    private let key: Key
    /// The whole encoding.
    let encoding: Range<Int>

    private enum Key: Sendable {
        case rsa(RSANumbers)
        case elliptic(EllipticCurve, point: Range<Int>)
        /// An unsupported key, which breaks this rule.
        case unusable(Rule)
    }

    init(_ fields: inout DERReader) throws(ReceiptError) {
        let element = try fields.next(.sequence)
        encoding = element.encoding
        var info = fields.reader(of: element)
        var algorithm = try info.enter(.sequence)
        let identifier = fields.bytes.extracting(try algorithm.objectIdentifier())
        if identifier.equals(ObjectIdentifier.rsaEncryption) {
            key = .rsa(try RSANumbers(DERReader(fields.bytes, in: Self.bits(&info))))
        } else if identifier.equals(ObjectIdentifier.ecPublicKey) {
            key = try Self.ellipticKey(&algorithm, &info)
        } else {
            key = .unusable(.keyAlgorithmUnsupported)
        }
    }

    private static func bits(_ info: inout DERReader) throws(ReceiptError) -> Range<Int> {
        let bits = try info.bitString()
        try info.finish()
        return bits
    }

    private static func ellipticKey(
        _ parameters: inout DERReader, _ info: inout DERReader
    ) throws(ReceiptError) -> Key {
        // RFC 5480 §2.1.1: a key names its curve. Explicit parameters could bring a base point with a private key that
        // the sender knows (CVE-2020-0601).
        guard let name = try parameters.nextIfPresent(.objectIdentifier),
            let curve = EllipticCurve(parameters.bytes.extracting(name.contents))
        else { return .unusable(.curveUnsupported) }
        try parameters.finish()
        let point = try bits(&info)
        // RFC 5480 §2.2: the byte 4 and both coordinates. Apple never compresses points.
        guard point.count == 1 + 2 * curve.byteCount, info.bytes[point.lowerBound] == 0x04 else {
            throw ReceiptError(.certificateMalformed)
        }
        return .elliptic(curve, point: point)
    }

    var isRSA: Bool {
        if case .rsa = key { true } else { false }
    }

    /// Nil unless the key is elliptic.
    var curve: EllipticCurve? {
        if case .elliptic(let curve, _) = key { curve } else { nil }
    }

    /// Throws unless the key has a kind and a strength that Apple uses.
    /// - Parameter minimumBits: the minimum size of an RSA key.
    func check(minimumBits: Int = 2048) throws(ReceiptError) {
        switch key {
        case .rsa(let numbers): try numbers.check(minimumBits: minimumBits)
        case .elliptic: break
        case .unusable(let rule): throw ReceiptError(rule)
        }
    }

    func publicKey(in bytes: Span<UInt8>) throws(ReceiptError) -> PublicKey {
        let made: PublicKey?
        switch key {
        case .rsa(let numbers):
            made = numbers.publicExponent.flatMap { exponent in
                PublicKey(modulus: bytes.extracting(numbers.modulus), exponent: exponent)
            }
        case .elliptic(let curve, let point): made = PublicKey(point: bytes.extracting(point), on: curve)
        case .unusable(let rule): throw ReceiptError(rule)
        }
        guard let made else { throw ReceiptError(.certificateMalformed) }
        return made
    }
}

extension PublicKey {
    /// Returns true for the `SubjectPublicKeyInfo` of an RSA key that is smaller than Apple's are, and than TLS requires
    /// (RFC 9325 §4.5).
    package static func isSmallRSA(_ encoding: [UInt8]) -> Bool {
        var reader = DERReader(encoding.span)
        do throws(ReceiptError) {
            try SubjectPublicKeyInfo(&reader).check()
            return false
        } catch {
            return error.rule == .keyTooSmall
        }
    }
}

private struct RSANumbers: Sendable {
    /// The contents of the INTEGER, with the zero byte that keeps it positive.
    let modulus: Range<Int>
    let modulusBits: Int
    /// Nil above 64 bits.
    let publicExponent: UInt64?

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

    /// Requires an odd exponent of at least 65537: small exponents make sloppy padding checks forgeable, and Apple uses
    /// none.
    func check(minimumBits: Int) throws(ReceiptError) {
        guard modulusBits >= minimumBits else { throw ReceiptError(.keyTooSmall) }
        guard let exponent = publicExponent, exponent >= Self.minimumExponent, exponent % 2 == 1 else {
            throw ReceiptError(.exponentTooSmall)
        }
    }

    private static let minimumExponent: UInt64 = 65_537
}

extension Span<UInt8> {
    /// Returns the significant bits of a positive INTEGER's contents; 0 for zero and negative numbers.
    fileprivate func bitWidth(ofInteger contents: Range<Int>) throws(ReceiptError) -> Int {
        try checkShortestForm(ofInteger: contents)
        guard self[contents.lowerBound] & 0x80 == 0 else { return 0 }
        let digits = self[contents.lowerBound] == 0 ? contents.dropFirst() : contents
        guard let first = digits.first else { return 0 }
        return digits.count * 8 - self[first].leadingZeroBitCount
    }
}

/// The curves of Apple's elliptic keys (RFC 5480 §2.1.1.1). The raw values are OpenSSL's names.
enum EllipticCurve: String, Sendable {
    /// secp256r1: the signers of transactions.
    case p256 = "P-256"
    /// secp384r1: Apple Root CA - G3 and the intermediate below it.
    case p384 = "P-384"

    init?(_ identifier: Span<UInt8>) {
        if identifier.equals(ObjectIdentifier.secp256r1) {
            self = .p256
        } else if identifier.equals(ObjectIdentifier.secp384r1) {
            self = .p384
        } else {
            return nil
        }
    }

    /// The length in bytes of a point's coordinate and of a signature's number.
    var byteCount: Int {
        switch self {
        case .p256: 32
        case .p384: 48
        }
    }
}
