// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import Receipts

/// Attribute readers take shortcuts for the most common forms; the result must not depend on the way taken.
struct FieldReaderTests {
    // MARK: Texts

    @Test func `text of any length is checked to its last byte`() throws {
        for length in 1...40 {
            for place in 0..<length {
                var text = [UInt8](repeating: 0x61, count: length)
                #expect(try Self.text(text) == String(decoding: text, as: UTF8.self))
                text[place] = 0
                #expect(throws: ReceiptError(.textContainsNUL, at: .attribute(3))) { try Self.text(text) }
                text[place] = 0x80
                #expect(throws: ReceiptError(.textInvalidUTF8, at: .attribute(3))) { try Self.text(text) }
                guard place + 1 < length else { continue }
                text[place...place + 1] = [0xC3, 0xA9]
                #expect(try Self.text(text) == String(decoding: text, as: UTF8.self))
            }
        }
    }

    @Test(arguments: [1, 0x20, 0x7F] as [UInt8]) func `every other ASCII character is text`(byte: UInt8) throws {
        for length in 1...20 {
            #expect(try Self.text([UInt8](repeating: byte, count: length))?.utf8.count == length)
        }
    }

    @Test func `an empty text is absent`() throws {
        #expect(try Self.text([]) == nil)
    }

    // MARK: Values

    @Test(
        arguments: [
            ([], .derTruncated), ([0x02], .derTruncated), ([0x02, 0x00], .derTruncated),
            ([0x02, 0x02, 0x01], .derTruncated),
            ([0x02, 0x01, 0x01, 0x00], .derTrailingBytes), ([0x02, 0x81, 0x01, 0x01], .derNonMinimalLength),
            ([0x02, 0x80], .derIndefiniteLength), ([0x04, 0x01, 0x01], .attributeMalformed),
            ([0x22, 0x01, 0x01], .attributeMalformed), ([0x1F, 0x01, 0x01], .attributeMalformed),
            ([0x02, 0x02, 0x00, 0x01], .derNonMinimalInteger),
        ] as [([UInt8], Rule)])
    func `each fault of a value is named`(value: [UInt8], rule: Rule) {
        #expect { try Self.integer(value) } throws: { ($0 as? ReceiptError)?.rule == rule }
    }

    @Test(arguments: [126, 127, 128, 129, 130, 255, 256, 300]) func `a text may be of any length`(length: Int) throws {
        #expect(try Self.text([UInt8](repeating: 0x61, count: length))?.utf8.count == length)
    }

    // MARK: Attributes

    /// The short form is read with two loads; at the end of a set, before others, or with a longer version it is not.
    @Test(arguments: [0, 1, 2, 30, 116, 117, 118, 119, 127, 128, 300])
    func `an attribute is read alike wherever it stands`(valueLength: Int) throws {
        for type in [0, 127, 128, 255, 256, 1702, 32_767, 32_768, 2_147_483_647] as [Int64] {
            for version in [0, 1, 127, -1, 128] as [Int64] {
                let value = [UInt8](repeating: 0x05, count: valueLength)
                let attribute = Self.attribute(type, version, value)
                for following in [
                    [], [Self.attribute(5, 1, [9])], [Self.attribute(5, 1, Array(repeating: 9, count: 200))],
                ] {
                    let read = try Self.attributes(attribute + following.flatMap(\.self))
                    guard let first = read.first, read.count == 1 + following.count else {
                        Issue.record("\(type)")
                        continue
                    }
                    if first != .init(type: Int(type), version: Int(version), value: value) { Issue.record("\(first)") }
                }
            }
        }
    }

    @Test func `an attribute with a byte changed is read by both ways alike`() throws {
        let attribute = Self.attribute(1702, 1, [0x0C, 0x03, 0x61, 0x62, 0x63])
        for place in attribute.indices {
            for byte in UInt8.min...UInt8.max {
                var changed = attribute
                changed[place] = byte
                // Alone in its set: too few bytes follow for the load of twelve.
                let alone = Result { try Self.attributes(changed) }
                let careful = Result { try Self.carefully(changed) }
                switch (alone, careful) {
                case (.success(let left), .success(let right)) where left == right: continue
                case (.failure, .failure): continue
                default: Issue.record("byte \(byte) at \(place): \(alone) \(careful)")
                }
            }
        }
    }

    @Test(
        arguments: [
            ("too few fields", [0x30, 0x03, 0x02, 0x01, 0x05], .derTruncated),
            ("no version", [0x30, 0x07, 0x02, 0x01, 0x05, 0x04, 0x02, 0x05, 0x00], .derUnexpectedTag),
            (
                "a fourth field", [0x30, 0x0A, 0x02, 0x01, 0x05, 0x02, 0x01, 0x01, 0x04, 0x00, 0x05, 0x00],
                .derTrailingBytes
            ),
            ("a set", [0x31, 0x08, 0x02, 0x01, 0x05, 0x02, 0x01, 0x01, 0x04, 0x00], .derUnexpectedTag),
            ("a segmented value", [0x30, 0x08, 0x02, 0x01, 0x05, 0x02, 0x01, 0x01, 0x24, 0x00], .derConstructedString),
        ] as [(String, [UInt8], Rule)])
    func `each fault of an attribute is named`(name: String, bytes: [UInt8], rule: Rule) {
        #expect { try Self.attributes(bytes) } throws: { ($0 as? ReceiptError)?.rule == rule }
    }

    @Test(arguments: [-1, 2_147_483_648, 4_294_967_298, .max, .min]) func `a type outside 31 bits is refused`(
        type: Int64
    ) {
        #expect(throws: ReceiptError(.attributeTypeOutOfRange)) { try Self.attributes(Self.attribute(type, 1, [])) }
    }

    private static func text(_ text: [UInt8]) throws(ReceiptError) -> String? {
        let value = DER.element(0x0C, text)
        let slice = AttributeSlice(type: 3, version: 1, value: 0..<value.count)
        return try FieldReader(value.span, acceptsOffsets: false).text(slice).text(in: value)
    }

    private static func integer(_ value: [UInt8]) throws(ReceiptError) -> Int64 {
        let slice = AttributeSlice(type: 3, version: 1, value: 0..<value.count)
        return try FieldReader(value.span, acceptsOffsets: false).integer(slice)
    }

    private static func attribute(_ type: Int64, _ version: Int64, _ value: [UInt8]) -> [UInt8] {
        DER.element(0x30, DER.integer(type) + DER.integer(version) + DER.element(0x04, value))
    }

    private static func attributes(_ contents: [UInt8]) throws(ReceiptError) -> [ReceiptAttribute] {
        let set = DER.element(0x31, contents)
        var attributes: [ReceiptAttribute] = []
        var reader = try AttributeReader(set.span, in: 0..<set.count)
        while let slice = try reader.next() {
            attributes.append(
                ReceiptAttribute(type: slice.type, version: slice.version, value: Array(set[slice.value])))
        }
        return attributes
    }

    /// Reads attributes field by field.
    private static func carefully(_ contents: [UInt8]) throws(ReceiptError) -> [ReceiptAttribute] {
        var reader = DERReader(contents.span)
        var attributes: [ReceiptAttribute] = []
        while !reader.isAtEnd {
            var fields = try reader.enter(.sequence)
            let (type, version) = (try fields.integer(), try fields.integer())
            let value = try fields.next(.octetString).contents
            try fields.finish()
            guard Int32(exactly: type).map({ $0 >= 0 }) == true else { throw ReceiptError(.attributeTypeOutOfRange) }
            attributes.append(ReceiptAttribute(type: Int(type), version: Int(version), value: Array(contents[value])))
        }
        return attributes
    }
}

/// A minimal encoder.
private enum DER {
    static func element(_ tag: UInt8, _ contents: [UInt8]) -> [UInt8] {
        switch contents.count {
        case ..<0x80: [tag, UInt8(contents.count)] + contents
        case ..<0x100: [tag, 0x81, UInt8(contents.count)] + contents
        default: [tag, 0x82, UInt8(contents.count >> 8), UInt8(contents.count & 0xFF)] + contents
        }
    }

    static func integer(_ value: Int64) -> [UInt8] {
        let bytes = (0..<8).reversed().map { UInt8(truncatingIfNeeded: value >> (8 * $0)) }
        let redundant = bytes.indices.dropLast().prefix {
            bytes[$0] == (value < 0 ? 0xFF : 0) && (bytes[$0 + 1] >= 0x80) == (value < 0)
        }
        return element(0x02, Array(bytes.dropFirst(redundant.count)))
    }
}
