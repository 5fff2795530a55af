// SPDX-License-Identifier: Apache-2.0

import ReceiptForge
import Testing

@testable import Receipts

struct BERNormalizerTests {
    @Test(
        arguments: [
            ("empty contents", [0x30, 0x80, 0, 0], [0x30, 0]),
            ("one element", [0x30, 0x80, 0x02, 0x01, 0x05, 0, 0], [0x30, 0x03, 0x02, 0x01, 0x05]),
            ("nested", [0x30, 0x80, 0xA0, 0x80, 0x05, 0x00, 0, 0, 0, 0], [0x30, 0x04, 0xA0, 0x02, 0x05, 0x00]),
            ("one segment", [0x30, 0x80, 0x24, 0x80, 0x04, 0x01, 0xAA, 0, 0, 0, 0], [0x30, 0x03, 0x04, 0x01, 0xAA]),
            (
                "definite length, unread", [0x30, 0x80, 0x30, 0x02, 0xFF, 0xFF, 0, 0],
                [0x30, 0x04, 0x30, 0x02, 0xFF, 0xFF]
            ),
            ("all definite", [0x30, 0x03, 0x02, 0x01, 0x05], [0x30, 0x03, 0x02, 0x01, 0x05]),
            ("two zero bytes inside a value", [0x30, 0x80, 0x04, 0x02, 0, 0, 0, 0], [0x30, 0x04, 0x04, 0x02, 0, 0]),
        ] as [(String, [UInt8], [UInt8])])
    func `indefinite lengths become definite ones`(name: String, ber: [UInt8], der: [UInt8]) throws {
        #expect(try Self.normalize(ber) == der)
    }

    @Test(
        arguments: [
            ([], .derTruncated, 0), ([0x30], .derTruncated, 0), ([0x30, 0x80], .derTruncated, 2),
            ([0x30, 0x80, 0], .derTruncated, 2), ([0x30, 0x80, 0x02, 0x01, 0x05], .derTruncated, 5),
            ([0x30, 0x80, 0x02, 0x01, 0x05, 0], .derTruncated, 5), ([0x30, 0x80, 0x02, 0x05, 0], .derTruncated, 2),
            ([0x30, 0x80, 0, 0, 0], .derTrailingBytes, 4),
            ([0x30, 0x80, 0, 0, 0x30, 0x80, 0, 0], .derTrailingBytes, 4),
            ([0x04, 0x80, 0, 0], .derIndefiniteLength, 0),
            ([0x30, 0x80, 0x80, 0x80, 0, 0, 0, 0], .derIndefiniteLength, 2),
            ([0x3F, 0x80, 0, 0], .derUnexpectedTag, 0),
            ([0x30, 0x80, 0xBF, 0x80, 0x01, 0x00, 0, 0], .derUnexpectedTag, 2),
            ([0x30, 0x80, 0x04, 0x81, 0x01, 0xFF, 0, 0], .derNonMinimalLength, 2),
            ([0x24, 0x80, 0x04, 0x01, 1, 0x04, 0x01, 2, 0, 0], .derConstructedString, 5),
            ([0x24, 0x80, 0x24, 0x80, 0x04, 0x01, 1, 0, 0, 0, 0], .derConstructedString, 2),
            ([0x24, 0x80, 0x24, 0x03, 0x04, 0x01, 1, 0, 0], .derConstructedString, 2),
            ([0x24, 0x80, 0x02, 0x01, 1, 0, 0], .derUnexpectedTag, 2), ([0x24, 0x80, 0, 0], .derUnexpectedTag, 2),
            ([0x24, 0x80], .derTruncated, 2),
        ] as [([UInt8], Rule, Int)])
    func `each fault of the BER form is named, with its position`(bytes: [UInt8], rule: Rule, position: Int) {
        #expect(throws: ReceiptError(rule, at: .offset(position))) { try Self.normalize(bytes) }
    }

    @Test(arguments: [0, 1, 127, 128, 255, 256, 65_535, 65_536, 70_000])
    func `a length is written in the form that DER reads`(count: Int) throws {
        let value = Array(repeating: [0x05, 0x00] as [UInt8], count: count).flatMap(\.self)
        let der = try Self.normalize([0x30, 0x80] + value + [0, 0])
        var reader = DERReader(der.span)
        let contents = try reader.next(.sequence).contents
        try reader.finish()
        #expect(Array(der[contents]) == value)
    }

    @Test(arguments: 1...20) func `nesting is followed to the limit and not further`(limit: Int) throws {
        func nested(_ depth: Int) -> [UInt8] {
            Array(repeating: [0x30, 0x80] as [UInt8], count: depth).flatMap(\.self)
                + [UInt8](repeating: 0, count: 2 * depth)
        }
        _ = try Self.normalize(nested(limit), maximumDepth: limit)
        #expect(throws: ReceiptError(.derTooDeep, at: .offset(2 * limit))) {
            try Self.normalize(nested(limit + 1), maximumDepth: limit)
        }
    }

    @Test func `nesting far beyond the limit costs no stack`() {
        let hostile = Array(repeating: [0x30, 0x80] as [UInt8], count: 1 << 20).flatMap(\.self)
        #expect(throws: ReceiptError(.derTooDeep, at: .offset(32))) { try Self.normalize(hostile) }
    }

    @Test func `a receipt made by Xcode becomes DER with the same content`() throws {
        let ber = Samples.xcodeReceipt
        let der = try Self.normalize(ber)
        let (recognizesBER, recognizesDER) = (
            BERNormalizer.recognizes(ber.span), BERNormalizer.recognizes(der.span)
        )
        #expect(recognizesBER && !recognizesDER)
        let container = try SignedData(der.span, limits: Limits())
        let content = Array(der[container.eContent])
        #expect(ber.firstRange(of: content) != nil && content.first == DERTag.set.byte)
    }

    private static func normalize(_ bytes: [UInt8], maximumDepth: Int = 16) throws(ReceiptError) -> [UInt8] {
        try BERNormalizer(maximumDepth: maximumDepth).normalize(bytes.span)
    }
}
