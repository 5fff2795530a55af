// SPDX-License-Identifier: Apache-2.0

internal import Receipts

/// Bytes that a lenient reader accepts and DER forbids. Each gives the same signed content a second encoding: a second
/// cache key, a second upstream call, or a reader that sees other data than we do.
extension FaultForge {
    static let encoding: [ReceiptFault] = [
        ReceiptFault(
            "truncated-in-the-middle", .rejected(.derTruncated), "Half a receipt, as a mobile connection leaves it.",
            .bytes { Array($0.wellFormed.prefix($0.wellFormed.count / 2)) }),
        ReceiptFault(
            "trailing-byte", .rejected(.derTrailingBytes), "One byte after the ContentInfo; OpenSSL ignores it.",
            .bytes { $0.wellFormed + [0x00] }),
        ReceiptFault(
            "trailing-receipt", .rejected(.derTrailingBytes), "A second complete receipt behind the first.",
            .bytes { $0.wellFormed + $0.wellFormed }),
        ReceiptFault(
            "non-minimal-length", .rejected(.derNonMinimalLength),
            "A length in three bytes where two are enough (X.690 §10.1).",
            .bytes { $0.container.contentInfo.with(lengthForm: .long(bytes: 3)).encoded }),
        ReceiptFault(
            "length-of-five-bytes", .rejected(.derLengthTooLarge), "Five length bytes overflow a 32-bit reader.",
            .bytes { $0.container.contentInfo.with(lengthForm: .long(bytes: 5)).encoded }),
        ReceiptFault(
            "indefinite-length", .rejected(.derIndefiniteLength),
            "Only the outermost length is indefinite: BER, re-wrapped by a proxy or an attacker.",
            .bytes { $0.container.contentInfo.with(lengthForm: .indefinite).encoded }),
        ReceiptFault(
            "xcode-shape", .rejected(.derIndefiniteLength),
            "The shape of Xcode's receipts around a chain that is not Xcode's.", .container { $0.inXcodeShape }),
        ReceiptFault(
            "xcode-receipt", .rejected(.derIndefiniteLength),
            "A real Xcode-style receipt without trust in Xcode's certificate, whose private key is public.",
            .bytes { XcodePKI(seed: 1).signLikeXcode($0.contents) }),
        ReceiptFault(
            "constructed-octet-string", .rejected(.derConstructedString),
            "The content cut into two segments of definite length (X.690 §8.7.3, forbidden by §10.2).",
            .container { $0.withContent(DERNode.halvedOctetString) }),
        ReceiptFault(
            "nested-constructed-octet-string", .rejected(.derConstructedString),
            "Segments inside segments lead a recursive reader to any depth.",
            .container { $0.withContent { DERNode.nestedOctetString($0, depth: 3) } }),
        ReceiptFault(
            "nested-too-deep", .rejected(.derUnexpectedTag),
            "Ten thousand SEQUENCEs inside each other exhaust the stack of a recursive reader.",
            .bytes { _ in DERNode.nestedSequences(depth: 10_000) }),
        ReceiptFault(
            "inner-value-too-long", .rejected(.derTruncated),
            "The bundle ID's length points past its `OCTET STRING` into the next attribute.",
            .attributes { $0.replace(with: AttributeTemplate(.bundleID, value: [0x0C, 0x20] + Array("short".utf8))) }),
        ReceiptFault(
            "bytes-after-inner-value", .rejected(.derTrailingBytes),
            "A second value behind the bundle ID, which some readers use and others ignore.",
            .attributes { $0.editValue(of: .bundleID) { $0 += DERNode.utf8String("com.example.victim").encoded } }),
        ReceiptFault(
            "bytes-after-last-field", .rejected(.derTrailingBytes), "A fourth field in the SEQUENCE of the bundle ID.",
            .attributes { $0.edit(.bundleID) { $0.trailing = [.utf8String("com.example.victim")] } }),
        ReceiptFault(
            "bytes-after-payload", .rejected(.derTrailingBytes),
            "A second SET behind the payload, inside the signed content.",
            .container { $0.pki.container(signing: $0.contents.payload + [0x31, 0x00]) }),
        ReceiptFault(
            "payload-as-sequence", .rejected(.derUnexpectedTag), "The payload is a SEQUENCE instead of a SET.",
            .container { $0.pki.container(signing: [0x30] + $0.contents.payload.dropFirst()) }),
        ReceiptFault(
            "bundle-id-as-integer", .rejected(.attributeMalformed), "The bundle ID is an INTEGER.",
            .attributes { $0.replace(with: .integer(.bundleID, 7)) }),
        ReceiptFault(
            "non-minimal-integer", .rejected(.derNonMinimalInteger),
            "An INTEGER with a leading zero byte it does not need (X.690 §8.3.2).",
            .attributes { $0.replace(with: AttributeTemplate(.adamID, value: [0x02, 0x02, 0x00, 0x07])) }),
        ReceiptFault(
            "integer-over-64-bits", .rejected(.derIntegerOutOfRange),
            "2^64 becomes 0 in a reader that drops what does not fit.",
            .attributes { $0.replace(with: AttributeTemplate(.adamID, value: [0x02, 9, 1, 0, 0, 0, 0, 0, 0, 0, 0])) }),
    ]
}

extension FaultForge {
    /// Returns the sample with its content written in another way; the signature covers the same bytes.
    fileprivate func withContent(_ write: ([UInt8]) -> DERNode) -> SignedDataTemplate {
        var container = container
        container.encapsulatedContentInfo.eContent = write(contents.payload)
        return container
    }

    fileprivate var inXcodeShape: SignedDataTemplate {
        var container = withContent(DERNode.segmentedOctetString)
        container.outerLengthForm = .indefinite
        return container
    }
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
        ReceiptFault(
            "five-megabytes", .genuine, "The largest genuine receipt on record has 5,004,203 bytes.",
            .contents { $0.unknownAttributes = [.filler(bytes: 5_000_000)] }),
        ReceiptFault(
            "ten-mebibytes", .rejected(.receiptTooLarge), "Twice the largest genuine receipt on record.",
            .contents { $0.unknownAttributes = [.filler(bytes: 10 << 20)] }),
        ReceiptFault(
            "hundred-certificates", .rejected(.tooManyCertificates),
            "A genuine receipt has three; searching a hundred for each issuer wastes time.",
            .afterSigning { container in
                container.certificates += Array(repeating: container.certificates[1], count: 97)
            }),
        ReceiptFault(
            "ten-thousand-purchases", .genuine, "Four megabytes of purchases, one signature.",
            .attributes { $0.append(.samplePurchases(10_000)) }),
        ReceiptFault(
            "twenty-one-thousand-purchases", .rejected(.tooManyPurchases),
            "More purchases than the largest receipt on record could hold twice over.",
            .attributes { $0.append(.samplePurchases(21_000)) }),
        ReceiptFault(
            "ten-thousand-attributes", .rejected(.tooManyAttributes),
            "Small attributes make many allocations out of few bytes.",
            .attributes {
                $0.append((10_000..<20_000).map { AttributeTemplate(AttributeNumber(rawValue: $0), value: []) })
            }),
    ]
}

extension AttributeSet {
    /// Appends unsorted: sorting would compare them byte by byte.
    fileprivate mutating func append(_ more: [AttributeTemplate]) {
        order = .asWritten
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
