// SPDX-License-Identifier: Apache-2.0

// dictionary ::= "{" *( text "=" text ";" ) "}"                  -- white space around each part
// text       ::= <"> *( character | escape ) <">
// escape     ::= "\" ( <"> | "\" | "n" | "r" | "t" | "U" 4HEXDIG )

/// Reads an OpenStep property list of the form that transaction receipts have: one dictionary of quoted texts.
///
/// Comments, unquoted words, nested values and other escapes are rejected, as are raw control characters. A name is
/// ASCII without escapes, so that no two spellings mean one name. Texts are ranges; escapes are undone on access.
struct PropertyListReader: ~Escapable {
    /// The ranges of a name and its value, without their quotes.
    struct Member {
        let name: Range<Int>
        let value: Range<Int>
    }

    private let bytes: Span<UInt8>
    /// The rule that other forms break.
    private let malformed: Rule
    private let maximumMembers: Int
    private var memberCount = 0
    private var position: Int

    /// Reads from `start` to the end of the bytes.
    @_lifetime(copy bytes)
    init(
        _ bytes: Span<UInt8>, from start: Int, malformed: Rule, maximumMembers: Int
    ) throws(ReceiptError) {
        self.bytes = bytes
        self.malformed = malformed
        self.maximumMembers = maximumMembers
        position = start
        try take(UInt8(ascii: "{"))
    }

    /// Returns the next member; nil after the last member. Nothing but white space may follow the dictionary.
    ///
    /// The value is not checked: it may be base64, which its decoder checks. Pass other values to `checkText`.
    @_lifetime(self: copy self)
    mutating func next() throws(ReceiptError) -> Member? {
        skipWhiteSpace()
        guard position < bytes.count, bytes[position] == UInt8(ascii: "\"") else {
            try take(UInt8(ascii: "}"))
            skipWhiteSpace()
            guard position == bytes.count else { throw malformed(at: position) }
            return nil
        }
        guard memberCount < maximumMembers else { throw ReceiptError(.tooManyAttributes, at: .offset(position)) }
        memberCount += 1
        let name = try quotedText()
        guard !name.isEmpty, !bytes.isUnusualText(in: name) else { throw malformed(at: name.lowerBound) }
        try take(UInt8(ascii: "="))
        skipWhiteSpace()
        let value = try quotedText()
        try take(UInt8(ascii: ";"))
        return Member(name: name, value: value)
    }

    /// Checks that a value is UTF-8 without raw control characters, and its escapes.
    @inline(__always)
    func checkText(_ range: Range<Int>) throws(ReceiptError) {
        if bytes.isUnusualText(in: range) { try checkUnusualText(range) }
    }

    @inline(never)
    private func checkUnusualText(_ range: Range<Int>) throws(ReceiptError) {
        var index = range.lowerBound
        while index < range.upperBound {
            switch bytes[index] {
            case 0: throw ReceiptError(.textContainsNUL, at: .offset(index))
            case ..<0x20, 0x7F: throw malformed(at: index)
            case UInt8(ascii: "\\"):
                guard let escape = Escape.read(bytes, at: index, end: range.upperBound) else {
                    throw malformed(at: index)
                }
                index = escape.end
            default: index += 1
            }
        }
        guard (try? UTF8Span(validating: bytes.extracting(range))) != nil else {
            throw ReceiptError(.textInvalidUTF8, at: .offset(range.lowerBound))
        }
    }

    /// Reads from a quote to the next quote that is not escaped.
    @_lifetime(self: copy self)
    private mutating func quotedText() throws(ReceiptError) -> Range<Int> {
        let quote = UInt8(ascii: "\"")
        guard position < bytes.count, bytes[position] == quote else { throw malformed(at: position) }
        let start = position + 1
        var end = bytes.firstIndex(of: quote, from: start)
        while let found = end, bytes.isEscaped(found, from: start) {
            end = bytes.firstIndex(of: quote, from: found + 1)
        }
        guard let end else { throw malformed(at: bytes.count) }
        position = end + 1
        return start..<end
    }

    @_lifetime(self: copy self)
    private mutating func take(_ character: UInt8) throws(ReceiptError) {
        skipWhiteSpace()
        guard position < bytes.count, bytes[position] == character else { throw malformed(at: position) }
        position += 1
    }

    @_lifetime(self: copy self)
    private mutating func skipWhiteSpace() {
        while position < bytes.count, bytes[position].isWhiteSpace { position += 1 }
    }

    private func malformed(at offset: Int) -> ReceiptError {
        ReceiptError(malformed, at: .offset(offset))
    }
}

/// One escape of a text and its end.
private struct Escape {
    let scalar: Unicode.Scalar
    let end: Int

    /// Reads at a backslash; nil for other escapes, NUL, and half of a surrogate pair.
    static func read(_ bytes: Span<UInt8>, at start: Int, end limit: Int) -> Escape? {
        guard start + 1 < limit else { return nil }
        let end = start + 2
        switch bytes[start + 1] {
        case UInt8(ascii: "\""): return Escape(scalar: "\"", end: end)
        case UInt8(ascii: "\\"): return Escape(scalar: "\\", end: end)
        case UInt8(ascii: "n"): return Escape(scalar: "\n", end: end)
        case UInt8(ascii: "r"): return Escape(scalar: "\r", end: end)
        case UInt8(ascii: "t"): return Escape(scalar: "\t", end: end)
        default: return unicode(bytes, at: start, end: limit)
        }
    }

    /// Reads `\Uxxxx`, a code unit of UTF-16, or two code units.
    private static func unicode(_ bytes: Span<UInt8>, at start: Int, end limit: Int) -> Escape? {
        guard let first = codeUnit(bytes, at: start, end: limit), first != 0 else { return nil }
        if let scalar = Unicode.Scalar(first) { return Escape(scalar: scalar, end: start + length) }
        guard UTF16.isLeadSurrogate(first), let second = codeUnit(bytes, at: start + length, end: limit),
            UTF16.isTrailSurrogate(second)
        else { return nil }
        let value = 0x10000 + (UInt32(first) - 0xD800) << 10 + (UInt32(second) - 0xDC00)
        return Unicode.Scalar(value).map { Escape(scalar: $0, end: start + 2 * length) }
    }

    private static let length = 6

    private static func codeUnit(_ bytes: Span<UInt8>, at start: Int, end limit: Int) -> UInt16? {
        guard start + length <= limit, bytes[start] == UInt8(ascii: "\\"), bytes[start + 1] == UInt8(ascii: "U") else {
            return nil
        }
        var value: UInt16 = 0
        for index in start + 2..<start + length {
            guard let digit = Character(UnicodeScalar(bytes[index])).hexDigitValue else { return nil }
            value = value << 4 | UInt16(digit)
        }
        return value
    }
}

extension Span<UInt8> {
    /// Returns the text of a checked value, its escapes undone.
    func propertyListText(in range: Range<Int>) -> String {
        let backslash = UInt8(ascii: "\\")
        guard extracting(range).firstIndex(of: backslash, from: 0) != nil else {
            return String(decoding: copy(range), as: UTF8.self)
        }
        var text: [UInt8] = []
        var index = range.lowerBound
        while index < range.upperBound {
            if self[index] == backslash, let escape = Escape.read(self, at: index, end: range.upperBound) {
                text.append(contentsOf: Character(escape.scalar).utf8)
                index = escape.end
            } else {
                text.append(self[index])
                index += 1
            }
        }
        return String(decoding: text, as: UTF8.self)
    }

    /// Returns true if an odd number of backslashes stands before the index.
    fileprivate func isEscaped(_ index: Int, from start: Int) -> Bool {
        var first = index
        while first > start, self[first - 1] == UInt8(ascii: "\\") { first -= 1 }
        return (index - first) % 2 == 1
    }

    /// Returns true if a byte may be a control character, a backslash or beyond ASCII. Most texts have none, which is
    /// checked eight bytes at a time.
    @inline(__always)
    fileprivate func isUnusualText(in range: Range<Int>) -> Bool {
        var position = range.lowerBound
        while range.upperBound - position >= 8 {
            if load64(at: position).isUnusualText { return true }
            position += 8
        }
        while position < range.upperBound {
            if !(0x20..<0x7F).contains(self[position]) || self[position] == UInt8(ascii: "\\") { return true }
            position += 1
        }
        return false
    }
}

extension UInt64 {
    /// True if one of eight bytes may be below a space, DEL, a backslash or beyond ASCII: its high bit is set, or is set
    /// by borrowing or by a carry.
    @inline(__always)
    fileprivate var isUnusualText: Bool {
        let backslashes = self ^ 0x5C5C_5C5C_5C5C_5C5C
        let unusual =
            self | (self &- 0x2020_2020_2020_2020) | (self &+ 0x0101_0101_0101_0101)
            | (backslashes &- 0x0101_0101_0101_0101)
        return unusual & 0x8080_8080_8080_8080 != 0
    }
}
