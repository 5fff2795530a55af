// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import ReceiptForge
@testable import Receipts

private typealias Element = ReceiptForge.DERNode

struct CertificateTests {
    // MARK: Extensions

    @Test(
        arguments: [
            (.sequence(), false, nil), (.sequence(.boolean(true)), true, nil), (.sequence(.boolean(false)), false, nil),
            (.sequence(.boolean(true), .integer(0)), true, 0), (.sequence(.boolean(true), .integer(300)), true, 300),
            (.sequence(.boolean(true), .integer(-1)), true, -1), (.sequence(.integer(3)), false, 3),
        ] as [(ReceiptForge.DERNode, Bool, Int64?)])
    func `basic constraints name the issuers`(value: ReceiptForge.DERNode, isCA: Bool, pathLength: Int64?) throws {
        let read = try Self.extensions([Self.extension(.basicConstraints, value)])
        #expect(read.isCA == isCA && read.pathLength == pathLength)
    }

    @Test(
        arguments: [
            ("boolean that is neither", .basicConstraints, Element.sequence(Element(.boolean, [0x01]))),
            ("boolean of two bytes", .basicConstraints, .sequence(Element(.boolean, [0xFF, 0xFF]))),
            ("boolean of no byte", .basicConstraints, .sequence(Element(.boolean, []))),
            ("third field", .basicConstraints, .sequence(.boolean(true), .integer(0), .null)),
            ("path length that is no integer", .basicConstraints, .sequence(.boolean(true), .null)),
            ("basic constraints that are no sequence", .basicConstraints, .null),
            ("key usage that is no bit string", .keyUsage, .octetString([0x80])),
            ("key usage without a byte", .keyUsage, Element(.bitString, [])),
            ("key usage without bits", .keyUsage, .bitString([])),
        ] as [(String, ReceiptForge.OID, ReceiptForge.DERNode)])
    func `a malformed extension is refused`(
        name: String, identifier: ReceiptForge.OID, value: ReceiptForge.DERNode
    ) {
        #expect(throws: ReceiptError.self) { try Self.extensions([Self.extension(identifier, value)]) }
    }

    @Test func `bytes after an extension's value are refused`() {
        for (identifier, value) in [(OID.basicConstraints, Element.sequence()), (.keyUsage, .bitString([0x80]))] {
            let value = Element.verbatim(value.encoded + Element.null.encoded)
            #expect(throws: ReceiptError.self) { try Self.extensions([Self.extension(identifier, value)]) }
        }
    }

    @Test(
        arguments: [
            ([0x80], true, false), ([0x04], false, true), ([0x84], true, true), ([0x7B], false, false),
            ([0x00, 0x80], false, false), ([0xFF, 0x80], true, true),
        ] as [([UInt8], Bool, Bool)])
    func `key usage bits are read from the most significant one`(bits: [UInt8], signs: Bool, issues: Bool) throws {
        let usage = try #require(try Self.extensions([Self.extension(.keyUsage, .bitString(bits))]).keyUsage)
        #expect(usage.allowsSignatures == signs && usage.allowsSigningCertificates == issues)
    }

    @Test func `markers are found whatever they contain, and only by their whole identifier`() throws {
        let both = try Self.extensions([
            Self.extension(.receiptSigningMarker, .null),
            Self.extension(.worldwideDeveloperRelationsMarker, .octetString([1, 2])),
        ])
        #expect(
            both.markers.contains(.receiptSigning) && both.markers.contains(.intermediate)
                && !both.hasUnknownCriticalExtension)
        let longer = Element(.objectIdentifier, OID.receiptSigningMarker.element.contents + [0x01])
        let shorter = Element(.objectIdentifier, Array(OID.receiptSigningMarker.element.contents.dropLast()))
        for identifier in [longer, shorter] {
            let near = try Self.extensions([.sequence(identifier, .octetString(wrapping: .null))])
            #expect(!near.markers.contains(.receiptSigning))
        }
    }

    @Test func `an unknown extension matters only if it is critical`() throws {
        #expect(try !Self.extensions([Self.extension(.testExtension, .null)]).hasUnknownCriticalExtension)
        #expect(
            try Self.extensions([Self.extension(.testExtension, .null, isCritical: true)]).hasUnknownCriticalExtension)
        let known: [(OID, Element)] = [(.basicConstraints, .sequence()), (.keyUsage, .bitString([0x80]))]
        for (identifier, value) in known {
            let read = try Self.extensions([Self.extension(identifier, value, isCritical: true)])
            #expect(!read.hasUnknownCriticalExtension)
        }
    }

    @Test func `an extension appears once`() {
        let twice = [Self.extension(.testExtension, .null), Self.extension(.testExtension, .integer(1))]
        #expect(throws: ReceiptError(.certificateMalformed)) { try Self.extensions(twice) }
    }

    @Test func `a certificate has up to 32 extensions`() throws {
        func extensions(_ count: UInt8) -> [Element] {
            (0..<count).map { .sequence(Element(.objectIdentifier, [0x2A, $0]), .octetString([])) }
        }
        _ = try Self.extensions(extensions(32))
        #expect(throws: ReceiptError(.certificateMalformed)) { try Self.extensions(extensions(33)) }
    }

    // MARK: Validity

    @Test(
        arguments: [
            (.utcTime, "500101000000Z", "1950-01-01T00:00:00Z"), (.utcTime, "491231235959Z", "2049-12-31T23:59:59Z"),
            (.utcTime, "000229120000Z", "2000-02-29T12:00:00Z"), (.utcTime, "991231235959Z", "1999-12-31T23:59:59Z"),
            (.generalizedTime, "20500101000000Z", "2050-01-01T00:00:00Z"),
            (.generalizedTime, "99991231235959Z", "9999-12-31T23:59:59Z"),
            (.generalizedTime, "00000101000000Z", "0000-01-01T00:00:00Z"),
        ] as [(ReceiptForge.DERNodeTag, String, String)])
    func `both forms of a certificate's time are read`(tag: ReceiptForge.DERNodeTag, text: String, date: String) throws
    {
        let validity = try Self.validity(Element(tag, Array(text.utf8)), Element(tag, Array(text.utf8)))
        #expect(validity.notBefore.description == date && validity.notAfter == validity.notBefore)
    }

    @Test(
        arguments: [
            (.utcTime, "20240101000000Z"), (.utcTime, "2401010000Z"), (.utcTime, "240101000000"),
            (.utcTime, "240101000000+0000"), (.utcTime, "240230000000Z"), (.utcTime, "230229000000Z"),
            (.utcTime, "241301000000Z"), (.utcTime, "240100000000Z"), (.utcTime, "240101240000Z"),
            (.utcTime, "240101006000Z"), (.utcTime, "240101000060Z"), (.utcTime, "2401010000:0Z"),
            (.utcTime, "24010100000-Z"), (.utcTime, ""), (.generalizedTime, "240101000000Z"),
            (.generalizedTime, "20240101000000.0Z"), (.generalizedTime, "20240101000000"),
            (.generalizedTime, "2024 101000000Z"), (.ia5String, "240101000000Z"), (.octetString, "240101000000Z"),
        ] as [(ReceiptForge.DERNodeTag, String)])
    func `what is no time makes a certificate malformed`(tag: ReceiptForge.DERNodeTag, text: String) {
        #expect(throws: ReceiptError(.certificateMalformed)) {
            try Self.validity(Element(tag, Array(text.utf8)), Element(.utcTime, Array("300101000000Z".utf8)))
        }
    }

    @Test(
        arguments: [
            (-1, 0, .certificateNotYetValid), (0, 0, nil), (100_000, 0, nil), (100_001, 0, .certificateExpired),
            (110_000, 10, nil), (110_001, 10, .certificateExpired), (-1, 10, .certificateNotYetValid),
        ] as [(Int64, Int64, Rule?)])
    func `validity includes both ends, and the grace is added to the later one`(
        milliseconds: Int64, grace: Int64, broken: Rule?
    ) throws {
        let validity = try Self.validity(UTCDate(secondsSince1970: 0).element, UTCDate(secondsSince1970: 100).element)
        let moment = Timestamp(millisecondsSince1970: milliseconds)
        if let broken {
            #expect(throws: ReceiptError(broken)) { try validity.check(at: moment, grace: .seconds(grace)) }
        } else {
            try validity.check(at: moment, grace: .seconds(grace))
        }
    }

    // MARK: Keys

    @Test(
        arguments: [
            ("2048 bits", .modulus(bytes: 256, first: 0x80), 65_537, nil),
            ("2047 bits", .modulus(bytes: 256, first: 0x7F), 65_537, .keyTooSmall),
            ("2049 bits", .modulus(bytes: 257, first: 0x01), 65_537, nil),
            ("1024 bits", .modulus(bytes: 128, first: 0xFF), 65_537, .keyTooSmall),
            ("4096 bits", .modulus(bytes: 512, first: 0xFF), 65_537, nil),
            ("zero", .integer(0), 65_537, .keyTooSmall),
            (
                "negative", ReceiptForge.DERNode(.integer, [0x80] + [UInt8](repeating: 1, count: 300)), 65_537,
                .keyTooSmall
            ),
            ("e = 3", .modulus(bytes: 256, first: 0x80), 3, .exponentTooSmall),
            ("e = 1", .modulus(bytes: 256, first: 0x80), 1, .exponentTooSmall),
            ("e = 0", .modulus(bytes: 256, first: 0x80), 0, .exponentTooSmall),
            ("e = -1", .modulus(bytes: 256, first: 0x80), -1, .exponentTooSmall),
            ("e = 65535", .modulus(bytes: 256, first: 0x80), 65_535, .exponentTooSmall),
            ("e even", .modulus(bytes: 256, first: 0x80), 65_538, .exponentTooSmall),
            ("e = 65539", .modulus(bytes: 256, first: 0x80), 65_539, nil),
            ("e of 63 bits", .modulus(bytes: 256, first: 0x80), .max, nil),
        ] as [(String, ReceiptForge.DERNode, Int64, Rule?)])
    func `a key is judged by its size and its exponent`(
        name: String, modulus: ReceiptForge.DERNode, exponent: Int64, broken: Rule?
    ) throws {
        try Self.expect(broken, of: .publicKey(.sequence(modulus, .integer(exponent))))
    }

    @Test(arguments: [(8, nil), (9, .exponentTooSmall), (200, .exponentTooSmall)] as [(Int, Rule?)])
    func `an exponent beyond 64 bits is refused`(byteCount: Int, broken: Rule?) throws {
        let exponent = Element.modulus(bytes: byteCount, first: 0xFF)
        try Self.expect(broken, of: .publicKey(.sequence(.modulus(bytes: 256, first: 0x80), exponent)))
    }

    @Test func `a key is for RSA or elliptic`() throws {
        for identifier in [OID.rsassaPSS, .prime256v1, .sha256] {
            try Self.expect(.keyAlgorithmUnsupported, of: .sequence(.sequence(identifier.element), .bitString([])))
        }
    }

    @Test(
        arguments: [
            ("secp256k1", [OID.secp256k1.element]), ("no curve", []), ("an implicit curve", [.null]),
            ("a curve described", [.sequence(.integer(1))]), ("the name of its own kind", [OID.ecPublicKey.element]),
        ] as [(String, [ReceiptForge.DERNode])])
    func `an elliptic key names P-256 or P-384`(name: String, parameters: [ReceiptForge.DERNode]) throws {
        try Self.expect(.curveUnsupported, of: .ellipticKey(parameters, [0x04] + [UInt8](repeating: 1, count: 64)))
    }

    @Test(
        arguments: [
            (.prime256v1, 0x04, 64, true), (.prime256v1, 0x04, 63, false), (.prime256v1, 0x04, 65, false),
            (.prime256v1, 0x04, 96, false), (.prime256v1, 0x02, 32, false), (.prime256v1, 0x06, 64, false),
            (.prime256v1, 0x00, 0, false), (.secp384r1, 0x04, 96, true), (.secp384r1, 0x04, 64, false),
            (.secp384r1, 0x03, 48, false), (.secp384r1, 0x07, 96, false),
        ] as [(ReceiptForge.OID, UInt8, Int, Bool)])
    func `an elliptic key is a point with both coordinates`(
        curve: ReceiptForge.OID, form: UInt8, byteCount: Int, isKey: Bool
    ) throws {
        let info = Element.ellipticKey([curve.element], [form] + [UInt8](repeating: 1, count: byteCount))
        if isKey {
            try Self.expect(nil, of: info)
        } else {
            #expect(throws: ReceiptError(.certificateMalformed)) { try Self.key(info) }
        }
    }

    @Test func `nothing follows the name of a curve, nor a point`() {
        let point = [0x04] + [UInt8](repeating: 1, count: 64)
        let named = Element.ellipticKey([OID.prime256v1.element, .null], point)
        #expect(throws: ReceiptError.self) { try Self.key(named) }
        let followed = Element.ellipticKey([OID.prime256v1.element], point).contents + Element.null.encoded
        #expect(throws: ReceiptError.self) { try Self.key(Element(.sequence, followed)) }
    }

    @Test(arguments: ECPrivateKey.Curve.allCases)
    func `a point beside its curve is no key`(curve: ECPrivateKey.Curve) throws {
        var bytes = ECPrivateKey(curve, seed: 1, purpose: "point").subjectPublicKeyInfo.encoded
        _ = try Self.key(.verbatim(bytes)).publicKey(in: bytes.span)
        bytes[bytes.count - 1] ^= 1
        let moved = try Self.key(.verbatim(bytes))
        try moved.check()
        #expect(throws: ReceiptError(.certificateMalformed)) { _ = try moved.publicKey(in: bytes.span) }
    }

    @Test(
        arguments: [
            ("bit string with unused bits", .publicKeyInfo(.bitString([0x30, 0x00], unusedBits: 1))),
            ("no bit string", .publicKeyInfo(.octetString([0x30, 0x00]))),
            ("nothing inside", .publicKeyInfo(.bitString([]))),
            ("no sequence inside", .publicKey(.integer(1))),
            ("no exponent", .publicKey(.sequence(.modulus(bytes: 256, first: 0x80)))),
            ("third number", .publicKey(.sequence(.modulus(bytes: 256, first: 0x80), .integer(65_537), .integer(1)))),
            (
                "padded modulus",
                .publicKey(.sequence(ReceiptForge.DERNode(.integer, [0, 0, 0x80]), .integer(65_537)))
            ),
            ("empty exponent", .publicKey(.sequence(.modulus(bytes: 256, first: 0x80), .init(.integer, [])))),
        ] as [(String, ReceiptForge.DERNode)])
    func `a malformed key is refused`(name: String, info: ReceiptForge.DERNode) {
        #expect(throws: ReceiptError.self) { try Self.key(info) }
    }

    // MARK: Certificates

    @Test func `a certificate cut short anywhere is malformed`() {
        let der = Samples.pki.leaf.der
        for count in der.indices {
            #expect(throws: ReceiptError.self) { try OwnedCertificate(Array(der[..<count])) }
        }
    }

    @Test func `a fault of the encoding inside a certificate makes the certificate malformed`() {
        var der = Samples.pki.leaf.der
        der.append(0)
        #expect { try OwnedCertificate(der) } throws: { ($0 as? ReceiptError)?.rule == .certificateMalformed }
    }

    @Test func `both places name the signature algorithm alike, parameters included`() throws {
        // RFC 5280 §4.1.1.2. Only the inner one is signed: another outer form would be a second encoding.
        let der = Samples.pki.leaf.der
        let algorithm = AlgorithmIdentifier(.sha256WithRSAEncryption)
        let withoutParameters = AlgorithmIdentifier(.sha256WithRSAEncryption, parameters: nil)
        let body = try OwnedCertificate(der).fields
        let signature = Element.bitString(Array(der[body.signature]))
        func certificate(_ algorithm: AlgorithmIdentifier) -> [UInt8] {
            Element.sequence(.verbatim(Array(der[body.tbsCertificate])), algorithm.element, signature).encoded
        }
        #expect(certificate(algorithm) == der)
        for other in [withoutParameters, AlgorithmIdentifier(.sha1WithRSAEncryption)] {
            #expect(throws: ReceiptError(.certificateMalformed)) { _ = try OwnedCertificate(certificate(other)) }
        }
    }

    private static func extensions(_ list: [ReceiptForge.DERNode]) throws(ReceiptError) -> CertificateExtensions {
        let bytes = Element.explicit(3, .sequence(of: list)).encoded
        var reader = DERReader(bytes.span)
        return try CertificateExtensions(&reader)
    }

    private static func `extension`(
        _ identifier: ReceiptForge.OID, _ value: ReceiptForge.DERNode, isCritical: Bool = false
    ) -> ReceiptForge.DERNode {
        CertificateExtension(identifier: identifier, isCritical: isCritical, value: value).element
    }

    private static func validity(
        _ notBefore: ReceiptForge.DERNode, _ notAfter: ReceiptForge.DERNode
    ) throws(ReceiptError) -> Receipts.Validity {
        let bytes = Element.sequence(notBefore, notAfter).encoded
        var reader = DERReader(bytes.span)
        return try Validity(&reader)
    }

    private static func key(_ info: ReceiptForge.DERNode) throws(ReceiptError) -> SubjectPublicKeyInfo {
        let bytes = info.encoded
        var reader = DERReader(bytes.span)
        return try SubjectPublicKeyInfo(&reader)
    }

    private static func expect(_ broken: Rule?, of info: ReceiptForge.DERNode) throws {
        let key = try key(info)
        if let broken {
            #expect(throws: ReceiptError(broken)) { try key.check() }
        } else {
            try key.check()
        }
    }
}

extension ReceiptForge.DERNode {
    /// A positive INTEGER of `count` bytes, beginning with `first`.
    fileprivate static func modulus(bytes count: Int, first: UInt8) -> Self {
        .integer(magnitude: [first] + [UInt8](repeating: 1, count: count - 1))
    }

    fileprivate static func publicKey(_ key: Self) -> Self { publicKeyInfo(.bitString(key.encoded)) }

    fileprivate static func ellipticKey(_ parameters: [Self], _ point: [UInt8]) -> Self {
        .sequence(.sequence(of: [ReceiptForge.OID.ecPublicKey.element] + parameters), .bitString(point))
    }

    fileprivate static func publicKeyInfo(_ bits: Self) -> Self {
        .sequence(.sequence(ReceiptForge.OID.rsaEncryption.element, .null), bits)
    }
}
