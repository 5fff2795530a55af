// SPDX-License-Identifier: Apache-2.0

/// The range of a string in the body: checked, but neither copied nor unescaped.
package struct JSONText: Hashable, Sendable {
    /// The bytes between the quotes.
    package let range: Range<Int>
    /// True if it contains a backslash; otherwise the bytes are the string.
    package let isEscaped: Bool
}

extension JSONReader {
    /// Reads a string from its opening quote, and checks its escapes and its UTF-8.
    mutating func readText() throws(JSONFault) -> JSONText {
        position += 1
        let start = position
        var isEscaped = false
        var isASCII = true
        while true {
            isASCII = skipPlainText() && isASCII
            work += 1
            let byte = try next()
            switch byte {
            case UInt8(ascii: "\""):
                let text = JSONText(range: start..<position, isEscaped: isEscaped)
                if !isASCII { try checkUTF8(text.range) }
                position += 1
                return text
            case UInt8(ascii: "\\"):
                isEscaped = true
                _ = try readEscape()
            case 0x00..<0x20:
                throw JSONFault(.controlCharacter, at: position)
            default:
                isASCII = isASCII && byte < 0x80
                position += 1
            }
        }
    }

    /// Decodes a string while reading it.
    /// - Parameter decode: receives the text from the first byte of the string's contents. Returns the decoded bytes
    ///   and the number of bytes of the contents, which have no escapes; nil for contents that must be read first.
    /// - Returns: nil for a string that is still to be read.
    package mutating func string(
        decoding decode: (Span<UInt8>) -> (bytes: [UInt8], textCount: Int)?
    ) throws(JSONFault) -> [UInt8]? {
        try require(.string)
        let rest = bytes.extracting((position + 1)...)
        guard let decoded = decode(rest), decoded.textCount < rest.count,
            rest[decoded.textCount] == UInt8(ascii: "\"")
        else { return nil }
        position += decoded.textCount + 2
        work += decoded.textCount / 16
        return decoded.bytes
    }

    /// Skips thirty-two bytes at a time while none needs decoding, then eight, then up to the first that does. A receipt is
    /// one string of many thousand bytes.
    /// - Returns: true if all skipped bytes are ASCII.
    private mutating func skipPlainText() -> Bool {
        let start = position
        var seen: UInt64 = 0
        defer { work += (position - start) / 16 }
        while bytes.count - position >= 32 {
            let words = (
                bytes.word(at: position), bytes.word(at: position + 8), bytes.word(at: position + 16),
                bytes.word(at: position + 24)
            )
            let special = words.0.escapedBytes | words.1.escapedBytes | words.2.escapedBytes | words.3.escapedBytes
            guard special == 0 else { break }
            seen |= words.0 | words.1 | words.2 | words.3
            position += 32
        }
        while bytes.count - position >= 8 {
            let word = bytes.word(at: position), special = word.escapedBytes
            guard special == 0 else {
                // The first of the special bytes is exact.
                let plainBits = special.trailingZeroBitCount & ~7
                seen |= word & ~(UInt64.max << UInt64(plainBits))
                position += plainBits / 8
                break
            }
            seen |= word
            position += 8
        }
        return seen & 0x8080_8080_8080_8080 == 0
    }

    private func checkUTF8(_ range: Range<Int>) throws(JSONFault) {
        do throws(UTF8.ValidationError) {
            _ = try UTF8Span(validating: bytes.extracting(range))
        } catch {
            throw JSONFault(.invalidUTF8, at: range.lowerBound + error.byteOffsets.lowerBound)
        }
    }

    // MARK: - Escapes

    /// Reads an escape sequence and returns its character (RFC 8259 §7).
    private mutating func readEscape() throws(JSONFault) -> Unicode.Scalar {
        let start = position
        position += 1
        let kind = try next()
        position += 1
        switch kind {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): return Unicode.Scalar(kind)
        case UInt8(ascii: "b"): return "\u{08}"
        case UInt8(ascii: "f"): return "\u{0C}"
        case UInt8(ascii: "n"): return "\n"
        case UInt8(ascii: "r"): return "\r"
        case UInt8(ascii: "t"): return "\t"
        case UInt8(ascii: "u"): return try readUnicodeEscape(from: start)
        default: throw JSONFault(.invalidEscape, at: start)
        }
    }

    /// Reads one escape, or two for a UTF-16 surrogate pair: a character beyond the Basic Multilingual Plane.
    private mutating func readUnicodeEscape(from start: Int) throws(JSONFault) -> Unicode.Scalar {
        let unit = try readCodeUnit(from: start)
        if let scalar = Unicode.Scalar(unit) { return scalar }
        guard UTF16.isLeadSurrogate(unit), bytes.count - position >= 2,
            bytes[position] == UInt8(ascii: "\\"), bytes[position + 1] == UInt8(ascii: "u")
        else { throw JSONFault(.loneSurrogate, at: start) }
        position += 2
        let low = try readCodeUnit(from: start)
        guard UTF16.isTrailSurrogate(low) else { throw JSONFault(.loneSurrogate, at: start) }
        return UTF16.decode(UTF16.EncodedScalar([unit, low]))
    }

    private mutating func readCodeUnit(from start: Int) throws(JSONFault) -> UInt16 {
        var unit: UInt16 = 0
        for _ in 0..<4 {
            guard let digit = ASCII.hexadecimalValue(of: try next()) else { throw JSONFault(.invalidEscape, at: start) }
            unit = unit << 4 | UInt16(digit)
            position += 1
        }
        return unit
    }

    // MARK: - Contents

    /// Returns a copy of the string's UTF-8 with its escapes resolved.
    package func unescaped(_ text: JSONText) throws(JSONFault) -> [UInt8] {
        guard text.isEscaped else { return copy(of: text.range) }
        var reader = JSONReader(bytes)
        reader.position = text.range.lowerBound
        var result: [UInt8] = []
        result.reserveCapacity(text.range.count)
        while reader.position < text.range.upperBound {
            let byte = bytes[reader.position]
            if byte == UInt8(ascii: "\\") {
                if let units = UTF8.encode(try reader.readEscape()) { result.append(contentsOf: units) }
            } else {
                result.append(byte)
                reader.position += 1
            }
        }
        return result
    }

    /// Returns true if the string, its escapes resolved, is this text. Ends at the first difference.
    func isEqual(_ text: JSONText, to first: Span<UInt8>, _ second: Span<UInt8>) throws(JSONFault) -> Bool {
        var reader = JSONReader(bytes)
        reader.position = text.range.lowerBound
        let end = text.range.upperBound
        guard try reader.skip(first, before: end), try reader.skip(second, before: end) else { return false }
        return reader.position == end
    }

    /// Skips the next bytes of a string, its escapes resolved, as long as they are these bytes.
    private mutating func skip(_ expected: Span<UInt8>, before end: Int) throws(JSONFault) -> Bool {
        var index = 0
        func isNext(_ byte: UInt8) -> Bool {
            defer { index += 1 }
            return index < expected.count && expected[index] == byte
        }
        while index < expected.count {
            guard position < end else { return false }
            let byte = bytes[position]
            if byte == UInt8(ascii: "\\") {
                guard let units = UTF8.encode(try readEscape()), units.allSatisfy(isNext) else { return false }
            } else {
                guard isNext(byte) else { return false }
                position += 1
            }
        }
        return true
    }

    /// Returns the string with its escapes resolved, if it is then no longer than `maximumBytes` of UTF-8.
    package func value(of text: JSONText, maximumBytes: Int) throws(JSONFault) -> String {
        let fault = JSONFault(.textTooLong(maximumBytes: maximumBytes), at: text.range.lowerBound)
        // An escape is up to six times as long as its character (`\u0041`).
        guard text.range.count <= (text.isEscaped ? 6 * maximumBytes : maximumBytes) else { throw fault }
        let value = try string(of: text)
        guard value.utf8.count <= maximumBytes else { throw fault }
        return value
    }

    /// Returns the string with its escapes resolved.
    /// - Throws: `.textTooLong` for a text that `OutsideText` does not hand out.
    package func string(of text: JSONText) throws(JSONFault) -> String {
        guard let string = try self.text(of: text).string else {
            throw JSONFault(.textTooLong(maximumBytes: OutsideText.Limits.unicodeBytes), at: text.range.lowerBound)
        }
        return string
    }

    /// Returns the text with its escapes resolved.
    package func text(of text: JSONText) throws(JSONFault) -> OutsideText {
        if !text.isEscaped, let bytes = try? UTF8Span(validating: bytes.extracting(text.range)) {
            return OutsideText(String(copying: bytes))
        }
        return OutsideText(String(decoding: try unescaped(text), as: UTF8.self))
    }
}
