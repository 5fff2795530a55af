// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// Reads one flat JSON object (RFC 8259) from front to back, without copying what it reads.
///
/// A reader, not a parser of documents: the caller asks for the next member and says which type it wants. Values of
/// another type are named and refused, so nesting never gets deeper than the object itself and needs no stack.
struct JSONReader: ~Escapable {
    let bytes: Span<UInt8>
    /// The next byte to read, counted from 0.
    var position = 0
    private var isFirstMember = true

    /// A reader at the start of a body.
    @_lifetime(copy bytes)
    init(_ bytes: Span<UInt8>) {
        self.bytes = bytes
    }

    /// Reads up to the opening brace.
    mutating func beginObject() throws(JSONFault) {
        if bytes.count >= 3, bytes[0] == 0xEF, bytes[1] == 0xBB, bytes[2] == 0xBF {
            throw JSONFault(.byteOrderMark, at: 0)
        }
        skipWhiteSpace()
        guard let first = peek() else { throw JSONFault(.emptyBody, at: position) }
        guard first == UInt8(ascii: "{") else { throw JSONFault(.notAnObject, at: position) }
        position += 1
    }

    /// The name of the next member, read up to its value; nil after the closing brace.
    mutating func nextKey() throws(JSONFault) -> JSONText? {
        skipWhiteSpace()
        if try skip(UInt8(ascii: "}")) { return nil }
        if !isFirstMember { try expect(UInt8(ascii: ","), "',' or '}'") }
        isFirstMember = false
        skipWhiteSpace()
        guard try next() == UInt8(ascii: "\"") else {
            throw JSONFault(.expected("a field name in quotes"), at: position)
        }
        let key = try readText()
        skipWhiteSpace()
        try expect(UInt8(ascii: ":"), "':'")
        skipWhiteSpace()
        return key
    }

    /// Reads to the end of the body, where nothing but white space may stand.
    mutating func endDocument() throws(JSONFault) {
        skipWhiteSpace()
        if position < bytes.count { throw JSONFault(.trailingData, at: position) }
    }

    /// The string that stands here.
    mutating func string() throws(JSONFault) -> JSONText {
        try require(.string)
        return try readText()
    }

    /// The boolean that stands here.
    mutating func boolean() throws(JSONFault) -> Bool {
        try require(.boolean)
        let value = try next() == UInt8(ascii: "t")
        for byte in (value ? "true" : "false").utf8 { try expect(byte, "true or false") }
        try endLiteral("true or false")
        return value
    }

    /// The integer that stands here.
    mutating func integer() throws(JSONFault) -> Int64 {
        try require(.number)
        let start = position
        let isNegative = try skip(UInt8(ascii: "-"))
        let magnitude = try digits(from: start)
        if let byte = peek(), [UInt8(ascii: "."), UInt8(ascii: "e"), UInt8(ascii: "E")].contains(byte) {
            throw JSONFault(.notAnInteger, at: start)
        }
        try endLiteral("a number")
        return isNegative ? -magnitude : magnitude
    }
}

// MARK: - Bytes

extension JSONReader {
    func peek() -> UInt8? {
        position < bytes.count ? bytes[position] : nil
    }

    func next() throws(JSONFault) -> UInt8 {
        guard position < bytes.count else { throw JSONFault(.truncated, at: position) }
        return bytes[position]
    }

    private mutating func skip(_ byte: UInt8) throws(JSONFault) -> Bool {
        guard try next() == byte else { return false }
        position += 1
        return true
    }

    private mutating func expect(_ byte: UInt8, _ what: String) throws(JSONFault) {
        guard try next() == byte else { throw JSONFault(.expected(what), at: position) }
        position += 1
    }

    private mutating func skipWhiteSpace() {
        while let byte = peek(), byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09 { position += 1 }
    }

    /// A literal ends where a comma, a brace or white space stands: `truex` is none.
    private func endLiteral(_ what: String) throws(JSONFault) {
        guard let byte = peek() else { throw JSONFault(.truncated, at: position) }
        switch byte {
        case UInt8(ascii: ","), UInt8(ascii: "}"), 0x20, 0x0A, 0x0D, 0x09: return
        default: throw JSONFault(.expected(what), at: position)
        }
    }

    /// RFC 8259 §6: no leading zeros.
    private mutating func digits(from start: Int) throws(JSONFault) -> Int64 {
        let first = position
        var value: Int64 = 0
        while let byte = peek(), (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) {
            let (product, overflow) = value.multipliedReportingOverflow(by: 10)
            let (sum, carry) = product.addingReportingOverflow(Int64(byte - UInt8(ascii: "0")))
            if overflow || carry { throw JSONFault(.notAnInteger, at: start) }
            value = sum
            position += 1
        }
        let hasLeadingZero = position - first > 1 && bytes[first] == UInt8(ascii: "0")
        guard position > first, !hasLeadingZero else { throw JSONFault(.expected("a number"), at: start) }
        return value
    }
}

// MARK: - Types

extension JSONReader {
    /// Checks that a value of this type starts here.
    private func require(_ expected: JSONType) throws(JSONFault) {
        guard let found = JSONType(firstByte: try next()) else { throw JSONFault(.expected("a value"), at: position) }
        guard found == expected else { throw JSONFault(.wrongType(expected: expected, found: found), at: position) }
    }
}

extension JSONType {
    /// The type of the value that starts with this byte.
    fileprivate init?(firstByte: UInt8) {
        switch firstByte {
        case UInt8(ascii: "\""): self = .string
        case UInt8(ascii: "{"): self = .object
        case UInt8(ascii: "["): self = .array
        case UInt8(ascii: "t"), UInt8(ascii: "f"): self = .boolean
        case UInt8(ascii: "n"): self = .null
        case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"): self = .number
        default: return nil
        }
    }
}
