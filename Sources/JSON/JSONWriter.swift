// SPDX-License-Identifier: Apache-2.0

/// Writes one JSON text (RFC 8259) into a byte array: problems, log lines and answers.
///
/// The writer adds commas and escapes strings; the caller writes a key before each value.
/// ```swift
/// let bytes = JSONWriter.object { $0.member("verdict", "genuine") }
/// ```
public struct JSONWriter: Sendable {
    package private(set) var bytes: [UInt8] = []
    private var needsComma = false

    package init(reservingCapacity capacity: Int = 256) {
        bytes.reserveCapacity(capacity)
    }

    /// Returns the text of one object.
    package static func object(
        reservingCapacity capacity: Int = 256, _ members: (inout JSONWriter) -> Void
    ) -> [UInt8] {
        var json = JSONWriter(reservingCapacity: capacity)
        json.object(members)
        return json.bytes
    }

    /// Writes an object; `members` writes pairs of `key(_:)` and a value.
    @inlinable
    public mutating func object<Failure: Error>(
        _ members: (inout JSONWriter) throws(Failure) -> Void
    ) throws(Failure) {
        open(UInt8(ascii: "{"))
        try members(&self)
        close(UInt8(ascii: "}"))
    }

    /// Writes an array; `elements` writes its values.
    @inlinable
    public mutating func array<Failure: Error>(
        _ elements: (inout JSONWriter) throws(Failure) -> Void
    ) throws(Failure) {
        open(UInt8(ascii: "["))
        try elements(&self)
        close(UInt8(ascii: "]"))
    }

    /// Writes a member's name, before its value.
    /// - Parameters:
    ///   - name: a name that needs no escape.
    ///   - suffix: the end of a name that has two parts.
    package mutating func key(_ name: StaticString, suffix: StaticString = "") {
        members(ofBytes: name.utf8CodeUnitCount &+ suffix.utf8CodeUnitCount &+ 3) { output in
            output.append(name: name, suffix: suffix)
        }
        needsComma = false
    }

    /// Writes one or more members, with their names, in one step: answers hold thousands of them.
    /// - Parameter count: the maximum bytes that `append` adds.
    package mutating func members(ofBytes count: Int, _ append: (inout OutputSpan<UInt8>) -> Void) {
        bytes.append(addingCapacity: count &+ 1) { output in
            if needsComma { output.append(UInt8(ascii: ",")) }
            append(&output)
        }
        needsComma = true
    }

    /// Writes a member's name that is not written in the program.
    package mutating func key(named name: String) {
        string(name)
        bytes.append(UInt8(ascii: ":"))
        needsComma = false
    }

    package mutating func member(named name: String, _ value: String) {
        key(named: name)
        string(value)
    }

    package mutating func member(_ name: StaticString, suffix: StaticString, _ value: String) {
        key(name, suffix: suffix)
        string(value)
    }

    package mutating func object(_ name: StaticString, _ members: (inout JSONWriter) -> Void) {
        key(name)
        object(members)
    }

    package mutating func object(named name: String, _ members: (inout JSONWriter) -> Void) {
        key(named: name)
        object(members)
    }

    package mutating func array(_ name: StaticString, _ elements: (inout JSONWriter) -> Void) {
        key(name)
        array(elements)
    }

    /// Writes a member with an array of one object per element.
    package mutating func objects<Element>(
        _ name: StaticString, of elements: some Sequence<Element>, _ members: (inout JSONWriter, Element) -> Void
    ) {
        array(name) { json in
            for element in elements { json.object { members(&$0, element) } }
        }
    }

    package mutating func strings(_ name: StaticString, _ texts: some Sequence<String>) {
        array(name) { json in for text in texts { json.string(text) } }
    }

    /// Writes a member with a string value, which `append` adds in bytes that need no escape.
    package mutating func member(_ name: StaticString, appending append: (inout [UInt8]) -> Void) {
        key(name)
        string(appending: append)
    }

    /// Writes a member with a string value, or nothing for nil.
    package mutating func member(_ name: StaticString, _ value: String?) {
        guard let value else { return }
        let text = value.utf8Span.span
        guard text.needsNoEscape else {
            key(name)
            return string(value)
        }
        members(ofBytes: name.utf8CodeUnitCount &+ text.count &+ 5) { output in
            output.append(name: name)
            output.append(UInt8(ascii: "\""))
            output.append(text)
            output.append(UInt8(ascii: "\""))
        }
    }

    /// Writes a member with a string value, or with `null` for nil.
    package mutating func member(_ name: StaticString, orNull value: String?) {
        key(name)
        if let value { string(value) } else { null() }
    }

    package mutating func member(_ name: StaticString, _ value: Int64?) {
        guard let value else { return }
        members(ofBytes: name.utf8CodeUnitCount &+ 3 &+ Self.longestInteger) { output in
            output.append(name: name)
            output.append(integer: value)
        }
    }

    /// Writes a member with an integer as a string: JSON readers round numbers beyond 2^53. Writes nothing for nil.
    package mutating func identifier(_ name: StaticString, _ value: Int64?) {
        guard let value else { return }
        members(ofBytes: name.utf8CodeUnitCount &+ 5 &+ Self.longestInteger) { output in
            output.append(name: name)
            output.append(UInt8(ascii: "\""))
            output.append(integer: value)
            output.append(UInt8(ascii: "\""))
        }
    }

    package mutating func member(_ name: StaticString, _ value: Int?) { member(name, value.map { Int64($0) }) }

    package mutating func member(_ name: StaticString, _ value: Bool?) {
        guard let value else { return }
        key(name)
        bool(value)
    }

    /// Writes an object that another writer wrote. Writes nothing for nil.
    package mutating func member(_ name: StaticString, object: [UInt8]?) {
        guard let object else { return }
        key(name)
        value(object)
    }

    /// Writes members that another writer wrote, at least one member.
    package mutating func members(_ written: ArraySlice<UInt8>) {
        separate()
        bytes.append(contentsOf: written)
    }

    /// Writes a value that another writer wrote.
    package mutating func value(_ written: [UInt8]) {
        separate()
        bytes.append(contentsOf: written)
    }

    /// Leaves out a value, which the caller adds at the end of `bytes`.
    package mutating func leaveOutValue() { separate() }

    /// Begins an object whose end another writer writes.
    package mutating func beginObject() { open(UInt8(ascii: "{")) }

    /// Writes from now on the members of an object that another writer began with other members.
    package mutating func continueObject() { needsComma = true }

    package mutating func endObject() { close(UInt8(ascii: "}")) }

    package mutating func string(_ value: String) {
        separate()
        bytes.append(UInt8(ascii: "\""))
        append(escaping: value.utf8Span.span)
        bytes.append(UInt8(ascii: "\""))
    }

    /// Writes a string, which `append` adds in bytes that need no escape.
    package mutating func string(appending append: (inout [UInt8]) -> Void) {
        separate()
        bytes.append(UInt8(ascii: "\""))
        append(&bytes)
        bytes.append(UInt8(ascii: "\""))
    }

    package mutating func integer(_ value: some FixedWidthInteger) {
        literal(String(value))
    }

    /// Writes an integer without an intermediate string: answers hold thousands of them.
    package mutating func integer(_ value: Int64) {
        separate()
        appendDigits(of: value)
    }

    /// Writes a decimal number with as many places as it needs, and at least one place.
    /// - Parameters:
    ///   - numerator: the number times 10 to the power of `places`; not negative.
    ///   - places: the maximum number of places; 1 to 18.
    package mutating func decimal(_ numerator: Int64, places: Int) {
        separate()
        var divisor: Int64 = 1
        for _ in 0..<places { divisor *= 10 }
        let (whole, rest) = numerator.quotientAndRemainder(dividingBy: divisor)
        bytes.append(addingCapacity: Self.longestInteger + 1 + places) { output in
            output.append(integer: whole)
            output.append(UInt8(ascii: "."))
            output.append(fraction: rest.magnitude, places: places)
        }
    }

    private mutating func appendDigits(of value: Int64) {
        bytes.append(addingCapacity: Self.longestInteger) { $0.append(integer: value) }
    }

    /// The bytes of the smallest 64-bit integer.
    package static let longestInteger = 20

    /// Writes a floating-point number; infinities and NaN, which JSON lacks, become `null`.
    package mutating func number(_ value: Double) {
        literal(value.isFinite ? value.description : "null")
    }

    package mutating func number(_ value: JSONNumber) {
        literal(value.text)
    }

    package mutating func bool(_ value: Bool) {
        literalName(value ? "true" : "false")
    }

    package mutating func null() {
        literalName("null")
    }

    /// Writes `true`, `false` or `null` (RFC 8259 §3).
    private mutating func literalName(_ name: StaticString) {
        separate()
        bytes.append(addingCapacity: name.utf8CodeUnitCount) { $0.append(name.bytes) }
    }

    /// Ends the line after one JSON text; the next text begins on a new line.
    package mutating func endLine() {
        bytes.append(UInt8(ascii: "\n"))
        needsComma = false
    }

    /// Starts anew in the same memory.
    package mutating func removeAll() {
        bytes.removeAll(keepingCapacity: true)
        needsComma = false
    }

    package mutating func literal(_ text: String) {
        separate()
        bytes.append(contentsOf: text.utf8)
    }

    @usableFromInline
    package mutating func open(_ bracket: UInt8) {
        separate()
        bytes.append(bracket)
        needsComma = false
    }

    @usableFromInline
    package mutating func close(_ bracket: UInt8) {
        bytes.append(bracket)
        needsComma = true
    }

    private mutating func separate() {
        if needsComma { bytes.append(UInt8(ascii: ",")) }
        needsComma = true
    }

    // MARK: - Strings

    private mutating func append(escaping text: Span<UInt8>) {
        guard !text.needsNoEscape else {
            return bytes.append(addingCapacity: text.count) { $0.append(text) }
        }
        for index in text.indices { append(escaping: text[index]) }
    }

    private mutating func append(escaping byte: UInt8) {
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"): bytes.append(contentsOf: [UInt8(ascii: "\\"), byte])
        case UInt8(ascii: "\n"): bytes.append(contentsOf: "\\n".utf8)
        case UInt8(ascii: "\r"): bytes.append(contentsOf: "\\r".utf8)
        case UInt8(ascii: "\t"): bytes.append(contentsOf: "\\t".utf8)
        // The form of all other control characters.
        case 0x00..<0x20: bytes.append(contentsOf: "\\u00\(ASCII.hexadecimal([byte]))".utf8)
        default: bytes.append(byte)
        }
    }
}

extension Span<UInt8> {
    /// True if no byte needs an escape (RFC 8259 §7): eight at a time.
    @inline(__always)
    var needsNoEscape: Bool {
        guard count >= 8 else {
            for index in indices where !self[index].standsForItself { return false }
            return true
        }
        var found: UInt64 = 0, offset = 0
        while offset < count - 8 {
            found |= word(at: offset).escapedBytes
            offset += 8
        }
        return found | word(at: count - 8).escapedBytes == 0
    }

    /// Returns eight bytes, the first in the lowest place on a little-endian machine. Traps outside the span.
    @inline(__always)
    func word(at offset: Int) -> UInt64 {
        // SAFETY: the load checks its bounds, and every bit pattern is a number.
        unsafe bytes.unsafeLoadUnaligned(fromByteOffset: offset, as: UInt64.self)
    }
}

extension UInt64 {
    /// Not 0 if one of eight bytes needs an escape: in the high bits of these bytes, and perhaps of higher bytes.
    @inline(__always)
    var escapedBytes: UInt64 {
        let ones: UInt64 = 0x0101_0101_0101_0101
        let (quote, backslash) = (self ^ (ones &* 0x22), self ^ (ones &* 0x5C))
        let zeros = (quote &- ones) & ~quote | (backslash &- ones) & ~backslash
        let controls = (self &- (ones &* 0x20)) & ~self
        return (zeros | controls) & 0x8080_8080_8080_8080
    }
}

extension UInt8 {
    fileprivate var standsForItself: Bool { self >= 0x20 && self != UInt8(ascii: "\"") && self != UInt8(ascii: "\\") }
}
