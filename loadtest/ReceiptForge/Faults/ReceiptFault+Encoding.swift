// SPDX-License-Identifier: Apache-2.0

internal import Receipts

/// Bytes that a lenient reader accepts and DER forbids. Each gives the same signed content a second encoding: a second
/// cache key, a second upstream call, or a reader that sees other data than we do.
extension FaultForge {
    static let encoding: [ReceiptFault] = [
        .rejected("truncated-in-the-middle", .derTruncated)
            .bytes { Array($0.wellFormed.prefix($0.wellFormed.count / 2)) }
            .because("Half a receipt, as a mobile connection leaves it."),
        .rejected("trailing-byte", .derTrailingBytes).bytes { $0.wellFormed + [0x00] }
            .because("One byte after the ContentInfo; OpenSSL ignores it."),
        .rejected("trailing-receipt", .derTrailingBytes).bytes { $0.wellFormed + $0.wellFormed }
            .because("A second complete receipt behind the first."),
        .rejected("non-minimal-length", .derNonMinimalLength)
            .bytes { $0.container.contentInfo.with(lengthForm: .long(bytes: 3)).encoded }
            .because("A length in three bytes where two are enough (X.690 §10.1)."),
        .rejected("length-of-five-bytes", .derLengthTooLarge)
            .bytes { $0.container.contentInfo.with(lengthForm: .long(bytes: 5)).encoded }
            .because("Five length bytes overflow a 32-bit reader."),
        .rejected("indefinite-length", .derIndefiniteLength)
            .bytes { $0.container.contentInfo.with(lengthForm: .indefinite).encoded }
            .because("Only the outermost length is indefinite: BER, re-wrapped by a proxy or an attacker."),
        .rejected("xcode-shape", .derIndefiniteLength)
            .afterSigning { container, forge in
                container.encapsulatedContentInfo.eContent = .segmentedOctetString(forge.contents.payload)
                container.outerLengthForm = .indefinite
            }
            .because("The shape of Xcode's receipts around a chain that is not Xcode's."),
        .rejected("xcode-receipt", .derIndefiniteLength).bytes { XcodePKI(seed: 1).signLikeXcode($0.contents) }
            .because("A real Xcode-style receipt without trust in Xcode's certificate, whose private key is public."),
        .rejected("constructed-octet-string", .derConstructedString)
            .afterSigning { $0.encapsulatedContentInfo.eContent = .halvedOctetString($1.contents.payload) }
            .because("The content cut into two segments of definite length (X.690 §8.7.3, forbidden by §10.2)."),
        .rejected("nested-constructed-octet-string", .derConstructedString)
            .afterSigning { $0.encapsulatedContentInfo.eContent = .nestedOctetString($1.contents.payload, depth: 3) }
            .because("Segments inside segments lead a recursive reader to any depth."),
        .rejected("nested-too-deep", .derUnexpectedTag).bytes { _ in DERNode.nestedSequences(depth: 10_000) }
            .because("Ten thousand SEQUENCEs inside each other exhaust the stack of a recursive reader."),
        .rejected("inner-value-too-long", .derTruncated)
            .attributes { $0.replace(with: AttributeTemplate(.bundleID, value: [0x0C, 0x20] + Array("short".utf8))) }
            .because("The bundle ID's length points past its `OCTET STRING` into the next attribute."),
        .rejected("bytes-after-inner-value", .derTrailingBytes)
            .attributes { $0.editValue(of: .bundleID) { $0 += DERNode.utf8String("com.example.victim").encoded } }
            .because("A second value behind the bundle ID, which some readers use and others ignore."),
        .rejected("bytes-after-last-field", .derTrailingBytes)
            .attributes { $0.edit(.bundleID) { $0.trailing = [.utf8String("com.example.victim")] } }
            .because("A fourth field in the SEQUENCE of the bundle ID."),
        .rejected("bytes-after-payload", .derTrailingBytes)
            .container { $0.pki.container(signing: $0.contents.payload + [0x31, 0x00]) }
            .because("A second SET behind the payload, inside the signed content."),
        .rejected("payload-as-sequence", .derUnexpectedTag)
            .container { $0.pki.container(signing: [0x30] + $0.contents.payload.dropFirst()) }
            .because("The payload is a SEQUENCE instead of a SET."),
        .rejected("bundle-id-as-integer", .attributeMalformed).attributes { $0.replace(with: .integer(.bundleID, 7)) }
            .because("The bundle ID is an INTEGER."),
        .rejected("non-minimal-integer", .derNonMinimalInteger)
            .attributes { $0.replace(with: AttributeTemplate(.adamID, value: [0x02, 0x02, 0x00, 0x07])) }
            .because("An INTEGER with a leading zero byte it does not need (X.690 §8.3.2)."),
        .rejected("integer-over-64-bits", .derIntegerOutOfRange)
            .attributes { $0.replace(with: AttributeTemplate(.adamID, value: [0x02, 9, 1, 0, 0, 0, 0, 0, 0, 0, 0])) }
            .because("2^64 becomes 0 in a reader that drops what does not fit."),
    ]
}

extension DERNode {
    fileprivate static func halvedOctetString(_ bytes: [UInt8]) -> DERNode {
        let halves = [bytes.prefix(bytes.count / 2), bytes.suffix(from: bytes.count / 2)]
        return DERNode(DERNodeTag.octetString.constructed, children: halves.map { .octetString(Array($0)) })
    }

    fileprivate static func nestedOctetString(_ bytes: [UInt8], depth: Int) -> DERNode {
        (0..<depth).reduce(.octetString(bytes)) { inner, _ in
            DERNode(DERNodeTag.octetString.constructed, children: [inner])
        }
    }

    fileprivate static func nestedSequences(depth: Int) -> [UInt8] {
        (0..<depth).reduce(DERNode.null) { inner, _ in .sequence(inner) }.encoded
    }
}

/// Well-formed, signed receipts beyond a verifier's limits, and large receipts that it must accept.
extension FaultForge {
    static let limits: [ReceiptFault] = [
        .genuine("five-megabytes").contents { $0.unknownAttributes = [.filler(bytes: 5_000_000)] }
            .because("The largest genuine receipt on record has 5,004,203 bytes."),
        .rejected("ten-mebibytes", .receiptTooLarge).contents { $0.unknownAttributes = [.filler(bytes: 10 << 20)] }
            .because("Twice the largest genuine receipt on record."),
        .rejected("hundred-certificates", .tooManyCertificates)
            .afterSigning { container in
                container.certificates += Array(repeating: container.certificates[1], count: 97)
            }
            .because("A genuine receipt has three; searching a hundred for each issuer wastes time."),
        .genuine("ten-thousand-purchases").attributes { $0.append(.samplePurchases(10_000)) }
            .because("Four megabytes of purchases, one signature."),
        .rejected("twenty-one-thousand-purchases", .tooManyPurchases).attributes { $0.append(.samplePurchases(21_000)) }
            .because("More purchases than the largest receipt on record could hold twice over."),
        .rejected("ten-thousand-attributes", .tooManyAttributes)
            .attributes {
                $0.append((10_000..<20_000).map { AttributeTemplate(AttributeNumber(rawValue: $0), value: []) })
            }
            .because("Small attributes make many allocations out of few bytes."),
    ]
}

extension AttributeSet {
    /// Appends unsorted: sorting would compare them byte by byte.
    fileprivate mutating func append(_ more: [AttributeTemplate]) {
        isSorted = false
        attributes += more
    }
}

extension [AttributeTemplate] {
    fileprivate static func samplePurchases(_ count: Int) -> [AttributeTemplate] {
        Array(repeating: ReceiptContents.faultSample.purchases[0].attribute, count: count)
    }
}

extension AttributeTemplate {
    fileprivate static func filler(bytes: Int) -> AttributeTemplate {
        AttributeTemplate(9_999, value: [UInt8](repeating: 7, count: bytes))
    }
}
