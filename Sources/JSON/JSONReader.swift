// SPDX-License-Identifier: Apache-2.0

/// Reads one JSON object (RFC 8259) from front to back, without copying what it reads.
///
/// The caller requests the next member in the type it expects; whole documents are read by `JSONValue`. Values of
/// another type are rejected, so nesting is as deep as the caller's own code, and needs no stack.
package struct JSONReader: ~Escapable {
    let bytes: Span<UInt8>
    package internal(set) var position = 0
    /// The steps taken so far, with which the time for reading grows. There is a step for each value and name, for each
    /// byte examined by itself, and for each sixteen bytes skipped at once.
    package internal(set) var work = 0
    private var isFirstMember = true

    @_lifetime(copy bytes)
    package init(_ bytes: Span<UInt8>) {
        self.bytes = bytes
    }

    package mutating func beginObject() throws(JSONFault) {
        guard try beginDocument() == UInt8(ascii: "{") else { throw JSONFault(.notAnObject, at: position) }
        position += 1
    }

    /// Reads up to the first byte of the document's value.
    @discardableResult
    mutating func beginDocument() throws(JSONFault) -> UInt8 {
        if bytes.count >= 3, bytes[0] == 0xEF, bytes[1] == 0xBB, bytes[2] == 0xBF {
            throw JSONFault(.byteOrderMark, at: 0)
        }
        skipWhiteSpace()
        guard let first = peek() else { throw JSONFault(.emptyBody, at: position) }
        return first
    }

    /// Reads the name of the next member, up to its value; nil after the closing brace.
    package mutating func nextKey() throws(JSONFault) -> JSONText? {
        defer { isFirstMember = false }
        return try nextKey(isFirst: isFirstMember)
    }

    /// Reads the opening brace of a member's value. `nextKey` reads the members of that object, and after its nil the
    /// further members of the outer object.
    package mutating func beginMemberObject() throws(JSONFault) {
        try require(.object)
        position += 1
        isFirstMember = true
    }

    mutating func nextKey(isFirst: Bool) throws(JSONFault) -> JSONText? {
        skipWhiteSpace()
        if try skip(UInt8(ascii: "}")) { return nil }
        if !isFirst { try expect(UInt8(ascii: ","), "',' or '}'") }
        skipWhiteSpace()
        guard try next() == UInt8(ascii: "\"") else {
            throw JSONFault(.expected("a field name in quotes"), at: position)
        }
        work += 1
        let key = try readText()
        skipWhiteSpace()
        try expect(UInt8(ascii: ":"), "':'")
        skipWhiteSpace()
        return key
    }

    /// Returns true if another element of the enclosing array follows, and reads up to it.
    mutating func nextElement(isFirst: Bool) throws(JSONFault) -> Bool {
        skipWhiteSpace()
        if try skip(UInt8(ascii: "]")) { return false }
        if !isFirst { try expect(UInt8(ascii: ","), "',' or ']'") }
        skipWhiteSpace()
        return true
    }

    package mutating func endDocument() throws(JSONFault) {
        skipWhiteSpace()
        if position < bytes.count { throw JSONFault(.trailingData, at: position) }
    }

    package mutating func string() throws(JSONFault) -> JSONText {
        try require(.string)
        return try readText()
    }

    /// Reads an array of strings, and leaves them in the text.
    package mutating func strings(maximumCount: Int) throws(JSONFault) -> [JSONText] {
        try require(.array)
        position += 1
        var strings: [JSONText] = []
        while try nextElement(isFirst: strings.isEmpty) {
            guard strings.count < maximumCount else {
                throw JSONFault(.tooManyValues(maximum: maximumCount), at: position)
            }
            work += 1
            strings.append(try string())
        }
        return strings
    }

    package mutating func boolean() throws(JSONFault) -> Bool {
        try require(.boolean)
        let value = try readBoolean()
        try endLiteral("true or false")
        return value
    }

    package mutating func integer() throws(JSONFault) -> Int64 {
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

    // MARK: - Values in a tree, whose end the caller checks

    mutating func readBoolean() throws(JSONFault) -> Bool {
        let value = try next() == UInt8(ascii: "t")
        try readWord(value ? "true" : "false", "true or false")
        return value
    }

    mutating func readWord(_ word: StaticString, _ what: String) throws(JSONFault) {
        let bytes = word.bytes
        for index in bytes.indices { try expect(bytes[index], what) }
        work += bytes.count
    }

    /// Skips a number. RFC 8259 §6: `number = [ minus ] int [ frac ] [ exp ]`.
    mutating func skipNumber() throws(JSONFault) {
        let start = position
        skip(oneOf: UInt8(ascii: "-"), UInt8(ascii: "-"))
        let hasLeadingZero = peek() == UInt8(ascii: "0")
        let digits = try readDigits(of: start)
        if hasLeadingZero, digits > 1 { throw JSONFault(.expected("a number"), at: start) }
        if skip(oneOf: UInt8(ascii: "."), UInt8(ascii: ".")) { _ = try readDigits(of: start) }
        if skip(oneOf: UInt8(ascii: "e"), UInt8(ascii: "E")) {
            skip(oneOf: UInt8(ascii: "+"), UInt8(ascii: "-"))
            _ = try readDigits(of: start)
        }
        work += position - start
    }

    @discardableResult
    private mutating func skip(oneOf first: UInt8, _ second: UInt8) -> Bool {
        guard let byte = peek(), byte == first || byte == second else { return false }
        position += 1
        return true
    }

    /// Reads at least one digit and returns the number of digits.
    private mutating func readDigits(of number: Int) throws(JSONFault) -> Int {
        let start = position
        while let byte = peek(), (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) { position += 1 }
        if position > start { return position - start }
        _ = try next()
        throw JSONFault(.expected("a number"), at: number)
    }

    // MARK: - Bytes

    func copy(of range: Range<Int>) -> [UInt8] {
        // SAFETY: the pointer does not leave the closure.
        unsafe bytes.extracting(range).withUnsafeBufferPointer { unsafe Array($0) }
    }

    func peek() -> UInt8? {
        position < bytes.count ? bytes[position] : nil
    }

    func next() throws(JSONFault) -> UInt8 {
        guard position < bytes.count else { throw JSONFault(.truncated, at: position) }
        return bytes[position]
    }

    mutating func skip(_ byte: UInt8) throws(JSONFault) -> Bool {
        guard try next() == byte else { return false }
        position += 1
        return true
    }

    mutating func expect(_ byte: UInt8, _ what: String) throws(JSONFault) {
        guard try next() == byte else { throw JSONFault(.expected(what), at: position) }
        position += 1
    }

    private mutating func skipWhiteSpace() {
        let start = position
        while let byte = peek(), byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09 { position += 1 }
        work += position - start
    }

    /// Throws unless a comma, a brace or white space ends the literal: `truex` is none.
    private func endLiteral(_ what: String) throws(JSONFault) {
        guard let byte = peek() else { throw JSONFault(.truncated, at: position) }
        switch byte {
        case UInt8(ascii: ","), UInt8(ascii: "}"), 0x20, 0x0A, 0x0D, 0x09: return
        default: throw JSONFault(.expected(what), at: position)
        }
    }

    /// Reads an integer without leading zeros (RFC 8259 §6).
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

    // MARK: - Types

    package func nextType() throws(JSONFault) -> JSONType {
        guard let type = JSONType(firstByte: try next()) else { throw JSONFault(.expected("a value"), at: position) }
        return type
    }

    func require(_ expected: JSONType) throws(JSONFault) {
        let found = try nextType()
        guard found == expected else { throw JSONFault(.wrongType(expected: expected, found: found), at: position) }
    }
}

extension JSONType {
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

// MARK: - Skipping

/// The limits of skipped values, for a whole text: a limit per value would grow with their number.
package struct JSONSkipAllowance: Hashable, Sendable {
    fileprivate let maximumDepth: Int
    /// The steps left for all values together, counted as in `JSONReader.work`.
    fileprivate var remainingWork: Int

    package init(maximumDepth: Int, maximumWork: Int) {
        self.maximumDepth = maximumDepth
        remainingWork = maximumWork
    }
}

extension JSONReader {
    /// Skips the next value, of any type, and checks its form. Duplicate names inside it are not detected.
    ///
    /// - Throws: `JSONFault`; `.tooDeep` or `.tooMuchSkipped` for a value beyond the allowance.
    package mutating func skipValue(within allowance: inout JSONSkipAllowance) throws(JSONFault) {
        let start = work
        defer { allowance.remainingWork -= work - start }
        try skipValue(depth: 0, maximum: allowance.maximumDepth, lastWork: start + allowance.remainingWork)
    }

    /// - Parameter lastWork: the value of `work` at which skipping ends.
    private mutating func skipValue(depth: Int, maximum: Int, lastWork: Int) throws(JSONFault) {
        work += 1
        switch try nextType() {
        case .string: _ = try readText()
        case .number: try skipNumber()
        case .boolean: _ = try readBoolean()
        case .null: try readWord("null", "null")
        case .object, .array:
            guard depth < maximum else { throw JSONFault(.tooDeep(maximumDepth: maximum), at: position) }
            try skipContainer(depth: depth + 1, maximum: maximum, lastWork: lastWork)
        }
        guard work <= lastWork else { throw JSONFault(.tooMuchSkipped, at: position) }
    }

    private mutating func skipContainer(depth: Int, maximum: Int, lastWork: Int) throws(JSONFault) {
        let isObject = try nextType() == .object
        position += 1
        var isFirst = true
        while isObject ? try nextKey(isFirst: isFirst) != nil : try nextElement(isFirst: isFirst) {
            try skipValue(depth: depth, maximum: maximum, lastWork: lastWork)
            isFirst = false
        }
    }
}
