// SPDX-License-Identifier: Apache-2.0

import ReceiptForge
import Testing

@testable import Receipts

struct DERReaderTests {
    // MARK: Lengths

    @Test(
        arguments: [
            (0, [0x00]), (1, [0x01]), (127, [0x7F]), (128, [0x81, 0x80]), (255, [0x81, 0xFF]),
            (256, [0x82, 0x01, 0x00]), (65_535, [0x82, 0xFF, 0xFF]), (65_536, [0x83, 0x01, 0x00, 0x00]),
            (16_777_215, [0x83, 0xFF, 0xFF, 0xFF]), (16_777_216, [0x84, 0x01, 0x00, 0x00, 0x00]),
        ] as [(Int, [UInt8])])
    func `each length has one form that is read`(count: Int, form: [UInt8]) throws {
        let bytes = [0x04] + form + [UInt8](repeating: 7, count: count)
        let element = try Self.element(bytes)
        #expect(element.contents == 1 + form.count..<bytes.count)
        #expect(element.encoding == 0..<bytes.count)
    }

    @Test(
        arguments: [
            ([], .derTruncated), ([0x30], .derTruncated), ([0x30, 0x01], .derTruncated),
            ([0x30, 0x7F, 0x00], .derTruncated), ([0x30, 0x81], .derTruncated), ([0x30, 0x82, 0x01], .derTruncated),
            ([0x30, 0x82, 0x01, 0x00, 0x00], .derTruncated), ([0x30, 0x84, 0xFF, 0xFF, 0xFF], .derTruncated),
            ([0x30, 0x84, 0xFF, 0xFF, 0xFF, 0xFF], .derTruncated), ([0x30, 0x80], .derIndefiniteLength),
            ([0x30, 0x81, 0x00], .derNonMinimalLength), ([0x30, 0x81, 0x7F], .derNonMinimalLength),
            ([0x30, 0x82, 0x00, 0x80], .derNonMinimalLength), ([0x30, 0x82, 0x00, 0xFF], .derNonMinimalLength),
            ([0x30, 0x83, 0x00, 0xFF, 0xFF], .derNonMinimalLength),
            ([0x30, 0x84, 0x00, 0xFF, 0xFF, 0xFF], .derNonMinimalLength),
            ([0x30, 0x85, 0x01, 0x00, 0x00, 0x00, 0x00], .derLengthTooLarge), ([0x30, 0xFF], .derLengthTooLarge),
            ([0x30, 0x88, 0x80, 0, 0, 0, 0, 0, 0, 0], .derLengthTooLarge),
            ([0x1F, 0x81, 0x00, 0x00], .derUnexpectedTag), ([0x3F, 0x00], .derUnexpectedTag),
            ([0xBF, 0x1F, 0x00], .derUnexpectedTag),
        ] as [([UInt8], Rule)])
    func `each fault of a header is named`(bytes: [UInt8], rule: Rule) {
        #expect(throws: ReceiptError(rule, at: .offset(0))) { try Self.element(bytes) }
    }

    @Test func `a fault is placed where its element starts`() {
        #expect(throws: ReceiptError(.derNonMinimalLength, at: .offset(3))) {
            let bytes: [UInt8] = [0x02, 0x01, 0x05, 0x04, 0x81, 0x01, 0xFF]
            var reader = DERReader(bytes.span)
            _ = try reader.next()
            _ = try reader.next()
        }
    }

    // MARK: Structure

    @Test(
        arguments: [
            ([0x02, 0x00], .octetString, .derUnexpectedTag), ([0x24, 0x00], .octetString, .derConstructedString),
            ([0x2C, 0x00], .utf8String, .derConstructedString), ([0x36, 0x00], .ia5String, .derConstructedString),
            ([0x10, 0x00], .sequence, .derUnexpectedTag), ([], .sequence, .derTruncated),
            ([0x80, 0x00], .context(0), .derUnexpectedTag),
        ] as [([UInt8], DERTag, Rule)])
    func `another tag than the expected one is named`(bytes: [UInt8], expected: DERTag, rule: Rule) {
        #expect(throws: ReceiptError(rule, at: .offset(0))) {
            var reader = DERReader(bytes.span)
            _ = try reader.next(expected)
        }
    }

    @Test func `a child cannot reach past its parent`() {
        // The INTEGER has two bytes by its length; its SEQUENCE has room for one, the array for more.
        let bytes: [UInt8] = [0x30, 0x03, 0x02, 0x02, 0x01, 0x01, 0x01]
        #expect(throws: ReceiptError(.derTruncated, at: .offset(2))) {
            var reader = DERReader(bytes.span)
            var child = try reader.enter(.sequence)
            _ = try child.integer()
        }
    }

    @Test func `a header cannot reach past its parent`() {
        let bytes: [UInt8] = [0x30, 0x02, 0x04, 0x81, 0x80, 0x00]
        #expect(throws: ReceiptError(.derTruncated, at: .offset(2))) {
            var reader = DERReader(bytes.span)
            var child = try reader.enter(.sequence)
            _ = try child.next()
        }
    }

    @Test func `bytes after the last element are trailing`() throws {
        let bytes: [UInt8] = [0x05, 0x00, 0x05, 0x00]
        var reader = DERReader(bytes.span)
        _ = try reader.next(.null)
        #expect(throws: ReceiptError(.derTrailingBytes, at: .offset(2))) {
            var reader = DERReader(bytes.span)
            _ = try reader.next(.null)
            try reader.finish()
        }
        _ = try reader.next(.null)
        try reader.finish()
    }

    @Test func `an optional element is taken only if it is there`() throws {
        let bytes: [UInt8] = [0x05, 0x00, 0x02, 0x01, 0x2A]
        var reader = DERReader(bytes.span)
        let boolean = try reader.nextIfPresent(.boolean)
        let null = try reader.nextIfPresent(.null)
        let value = try reader.integer()
        let afterEnd = try reader.nextIfPresent(.null)
        #expect(boolean == nil && null?.contents == 2..<2 && value == 42 && afterEnd == nil)
    }

    @Test func `a reader of a part sees nothing before or after it`() throws {
        let bytes: [UInt8] = [0xFF, 0x02, 0x01, 0x07, 0xFF]
        var reader = DERReader(bytes.span, in: 1..<4)
        let value = try reader.integer()
        let (isAtEnd, nextTag) = (reader.isAtEnd, reader.nextTag)
        #expect(value == 7 && isAtEnd && nextTag == nil)
    }

    // MARK: Integers

    @Test(
        arguments: [
            ([0x00], 0), ([0x7F], 127), ([0x80], -128), ([0xFF], -1), ([0x00, 0x80], 128), ([0xFF, 0x7F], -129),
            ([0x00, 0xFF], 255), ([0x01, 0x00], 256), ([0x80, 0x00], -32_768),
            ([0x7F, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF], .max), ([0x80, 0, 0, 0, 0, 0, 0, 0], .min),
        ] as [([UInt8], Int64)])
    func `an integer has its value in two's complement`(contents: [UInt8], value: Int64) throws {
        #expect(try Self.integer(contents) == value)
    }

    @Test(
        arguments: [
            ([], .derTruncated), ([0x00, 0x00], .derNonMinimalInteger), ([0x00, 0x7F], .derNonMinimalInteger),
            ([0xFF, 0x80], .derNonMinimalInteger), ([0xFF, 0xFF], .derNonMinimalInteger),
            ([0x00, 0x80, 0, 0, 0, 0, 0, 0, 0], .derIntegerOutOfRange),
            ([0xFF, 0x7F, 0, 0, 0, 0, 0, 0, 0], .derIntegerOutOfRange),
            ([0x01, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0], .derIntegerOutOfRange),
        ] as [([UInt8], Rule)])
    func `each fault of an integer is named`(contents: [UInt8], rule: Rule) {
        #expect(throws: ReceiptError(rule, at: .offset(2))) { try Self.integer(contents) }
    }

    @Test func `every integer of up to two bytes is read or refused as its encoding says`() {
        for value in Int64(Int16.min)...Int64(Int16.max) {
            let long = [UInt8(truncatingIfNeeded: value >> 8), UInt8(truncatingIfNeeded: value)]
            let isShort = Int8(exactly: value) != nil
            let read = try? Self.integer(isShort ? [long[1]] : long)
            if read != value || (isShort && (try? Self.integer(long)) != nil) { Issue.record("\(value)") }
        }
    }

    private static func element(_ bytes: [UInt8]) throws(ReceiptError) -> DERElement {
        var reader = DERReader(bytes.span)
        return try reader.next()
    }

    private static func integer(_ contents: [UInt8]) throws(ReceiptError) -> Int64 {
        let bytes = [0x02, UInt8(contents.count)] + contents
        var reader = DERReader(bytes.span)
        return try reader.integer()
    }
}
