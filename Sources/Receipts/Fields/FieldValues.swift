// SPDX-License-Identifier: Apache-2.0

/// The range of a text in the receipt. Empty means absent, as Apple writes it (`0C 00`, `16 00`).
struct TextRange: Sendable {
    // Four bytes suffice, as a receipt is far smaller than 4 GiB (see `Limits`); and purchases are many.
    private let lowerBound: UInt32
    private let upperBound: UInt32

    static let absent = TextRange(0..<0)

    init(_ range: Range<Int>) {
        lowerBound = UInt32(range.lowerBound)
        upperBound = UInt32(range.upperBound)
    }

    var range: Range<Int> { Int(lowerBound)..<Int(upperBound) }
    var isAbsent: Bool { lowerBound == upperBound }

    func text(in receipt: [UInt8]) -> String? {
        isAbsent ? nil : String(decoding: receipt[range], as: UTF8.self)
    }
}

/// Decodes attribute values: each is one DER element that fills the value.
struct FieldReader: ~Escapable {
    let receipt: Span<UInt8>
    /// True if dates may have an offset (`+0100`), as from Xcode, instead of the App Store's `Z`.
    let acceptsOffsets: Bool

    @_lifetime(copy receipt)
    init(_ receipt: Span<UInt8>, acceptsOffsets: Bool) {
        self.receipt = receipt
        self.acceptsOffsets = acceptsOffsets
    }

    @inline(__always)
    func integer(_ attribute: AttributeSlice) throws(ReceiptError) -> Int64 {
        let element = try value(of: attribute)
        guard element.tag == .integer else { throw malformed(attribute) }
        return try receipt.derInteger(in: element.contents)
    }

    @inline(__always)
    func flag(_ attribute: AttributeSlice) throws(ReceiptError) -> Bool {
        try integer(attribute) != 0
    }

    /// Reads a UTF8String or IA5String without NUL: C code behind us would end the text there.
    @inline(__always)
    func text(_ attribute: AttributeSlice) throws(ReceiptError) -> TextRange {
        let contents = try stringContents(attribute)
        try receipt.checkText(in: contents, of: attribute)
        return TextRange(contents)
    }

    /// Reads an RFC 3339 date in an IA5String; nil if the string is empty, and for the year 0.
    @inline(__always)
    func date(_ attribute: AttributeSlice) throws(ReceiptError) -> Timestamp? {
        let contents = try stringContents(attribute)
        if contents.isEmpty { return nil }
        if contents.count == 20, let date = Timestamp(plainRFC3339: receipt, at: contents.lowerBound) {
            return date.unlessYearZero
        }
        if acceptsOffsets, let date = Timestamp(xcode: receipt, in: contents) { return date.unlessYearZero }
        throw ReceiptError(.dateInvalid, at: .attribute(attribute.type))
    }

    @inline(__always)
    private func stringContents(_ attribute: AttributeSlice) throws(ReceiptError) -> Range<Int> {
        let element = try value(of: attribute)
        guard element.tag == .utf8String || element.tag == .ia5String else { throw malformed(attribute) }
        return element.contents
    }

    @inline(__always)
    private func value(of attribute: AttributeSlice) throws(ReceiptError) -> DERElement {
        let value = attribute.value
        // Usually the length fits one byte.
        if value.count >= 2, value.count < 0x82, Int(receipt[value.lowerBound + 1]) == value.count - 2 {
            let contents = value.lowerBound + 2..<value.upperBound
            return DERElement(tag: DERTag(byte: receipt[value.lowerBound]), start: value.lowerBound, contents: contents)
        }
        return try longValue(of: attribute)
    }

    @inline(never)
    private func longValue(of attribute: AttributeSlice) throws(ReceiptError) -> DERElement {
        do throws(ReceiptError) {
            var reader = DERReader(receipt, in: attribute.value)
            let element = try reader.next()
            try reader.finish()
            return element
        } catch {
            throw ReceiptError(error.rule, at: .attribute(attribute.type))
        }
    }

    private func malformed(_ attribute: AttributeSlice) -> ReceiptError {
        ReceiptError(.attributeMalformed, at: .attribute(attribute.type))
    }
}

extension Span<UInt8> {
    /// Checks for valid UTF-8 without NUL. Nearly all text is ASCII, which is checked eight bytes at a time.
    @inline(__always)
    fileprivate func checkText(in range: Range<Int>, of attribute: AttributeSlice) throws(ReceiptError) {
        var position = range.lowerBound
        var suspicious = false
        if range.count >= 8 {
            let lastWord = range.upperBound - 8
            while position < lastWord {
                suspicious = suspicious || load64(at: position).isUnusualText
                position += 8
            }
            suspicious = suspicious || load64(at: lastWord).isUnusualText
        } else {
            while position < range.upperBound {
                suspicious = suspicious || self[position] == 0 || self[position] >= 0x80
                position += 1
            }
        }
        if suspicious { try checkUnusualText(in: range, of: attribute) }
    }

    @inline(never)
    private func checkUnusualText(in range: Range<Int>, of attribute: AttributeSlice) throws(ReceiptError) {
        for index in range where self[index] == 0 {
            throw ReceiptError(.textContainsNUL, at: .attribute(attribute.type))
        }
        guard (try? UTF8Span(validating: extracting(range))) != nil else {
            throw ReceiptError(.textInvalidUTF8, at: .attribute(attribute.type))
        }
    }
}

extension UInt64 {
    /// True if one of eight bytes may be NUL or beyond ASCII: its high bit is set, or is set by borrowing.
    @inline(__always)
    fileprivate var isUnusualText: Bool {
        ((self &- 0x0101_0101_0101_0101) | self) & 0x8080_8080_8080_8080 != 0
    }
}
