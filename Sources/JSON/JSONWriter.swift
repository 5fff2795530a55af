// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// Writes one JSON text (RFC 8259) into a byte array: problems, log lines and answers.
///
/// The writer adds commas and escapes strings; the caller writes a key before each value.
/// ```swift
/// var json = JSONWriter()
/// json.object {
///     $0.key("verdict")
///     $0.string("genuine")
/// }
/// ```
package struct JSONWriter: Sendable {
    package private(set) var bytes: [UInt8] = []
    private var needsComma = false

    package init(reservingCapacity capacity: Int = 256) {
        bytes.reserveCapacity(capacity)
    }

    /// Writes an object; `members` writes pairs of `key(_:)` and a value.
    @inlinable
    package mutating func object<Failure: Error>(
        _ members: (inout JSONWriter) throws(Failure) -> Void
    ) throws(Failure) {
        open(UInt8(ascii: "{"))
        try members(&self)
        close(UInt8(ascii: "}"))
    }

    @inlinable
    package mutating func array<Failure: Error>(
        _ elements: (inout JSONWriter) throws(Failure) -> Void
    ) throws(Failure) {
        open(UInt8(ascii: "["))
        try elements(&self)
        close(UInt8(ascii: "]"))
    }

    /// Writes a member's name, before its value.
    /// - Parameter suffix: the end of a name that has two parts.
    package mutating func key(_ name: String, suffix: String = "") {
        separate()
        bytes.append(UInt8(ascii: "\""))
        append(escaping: name)
        append(escaping: suffix)
        bytes.append(UInt8(ascii: "\""))
        bytes.append(UInt8(ascii: ":"))
        needsComma = false
    }

    package mutating func key(_ name: JSONKey) {
        bytes.append(contentsOf: name.beforeString[(needsComma ? 0 : 1)...].dropLast())
        needsComma = false
    }

    /// Writes a member with a string value, in fewer steps than a key and a string.
    package mutating func member(_ name: JSONKey, _ value: String) {
        member(name) { $0.append(escaping: value) }
    }

    /// Writes a member with a string value, which `append` adds in bytes that need no escape.
    package mutating func member(_ name: JSONKey, appending append: (inout [UInt8]) -> Void) {
        member(name) { append(&$0.bytes) }
    }

    /// Writes a member with a string value, or nothing for nil.
    package mutating func member(_ name: String, _ value: String?) {
        guard let value else { return }
        key(name)
        string(value)
    }

    package mutating func member(_ name: String, _ value: Int64?) {
        guard let value else { return }
        key(name)
        integer(value)
    }

    package mutating func member(_ name: String, _ value: Bool?) {
        guard let value else { return }
        key(name)
        bool(value)
    }

    private mutating func member(_ name: JSONKey, content: (inout JSONWriter) -> Void) {
        if needsComma {
            bytes.append(contentsOf: name.beforeString)
        } else {
            bytes.append(contentsOf: name.beforeString.dropFirst())
        }
        content(&self)
        bytes.append(UInt8(ascii: "\""))
        needsComma = true
    }

    /// Writes members that another writer wrote, at least one.
    package mutating func members(_ written: ArraySlice<UInt8>) {
        separate()
        bytes.append(contentsOf: written)
    }

    /// Writes a value that another writer wrote.
    package mutating func value(_ written: [UInt8]) {
        separate()
        bytes.append(contentsOf: written)
    }

    /// Writes again a value that this writer wrote, from its range in `bytes`.
    package mutating func value(writtenAt range: Range<Int>) {
        separate()
        // A copy, because a slice would copy the whole array.
        bytes.append(contentsOf: Array(bytes[range]))
    }

    package mutating func string(_ value: String) {
        separate()
        bytes.append(UInt8(ascii: "\""))
        append(escaping: value)
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

    /// Writes a decimal number with as many places as it needs, and at least one.
    /// - Parameters:
    ///   - numerator: the number times 10 to the power of `places`; not negative.
    ///   - places: the maximum number of places; 1 or more.
    package mutating func decimal(_ numerator: Int64, places: Int) {
        separate()
        var divisor: Int64 = 1
        for _ in 0..<places { divisor *= 10 }
        appendDigits(of: numerator / divisor)
        bytes.append(UInt8(ascii: "."))
        var rest = numerator % divisor
        repeat {
            divisor /= 10
            bytes.append(UInt8(ascii: "0") + UInt8(truncatingIfNeeded: rest / divisor))
            rest %= divisor
        } while rest > 0
    }

    private mutating func appendDigits(of value: Int64) {
        if value < 0 { bytes.append(UInt8(ascii: "-")) }
        var rest = value.magnitude
        var first = bytes.count
        repeat {
            bytes.append(UInt8(ascii: "0") + UInt8(truncatingIfNeeded: rest % 10))
            rest /= 10
        } while rest > 0
        // In place: reversing a slice would copy it.
        var last = bytes.count - 1
        while first < last {
            bytes.swapAt(first, last)
            (first, last) = (first + 1, last - 1)
        }
    }

    /// Writes a floating-point number; infinities and NaN, which JSON lacks, become `null`.
    package mutating func number(_ value: Double) {
        literal(value.isFinite ? value.description : "null")
    }

    package mutating func number(_ value: JSONNumber) {
        literal(value.text)
    }

    package mutating func bool(_ value: Bool) {
        literal(value ? "true" : "false")
    }

    package mutating func null() {
        literal("null")
    }

    /// Ends the line after one JSON text; the next text begins on a new line.
    package mutating func endLine() {
        bytes.append(UInt8(ascii: "\n"))
        needsComma = false
    }

    /// Returns the bytes written and starts anew, with the same capacity.
    package mutating func takeBytes() -> [UInt8] {
        let taken = bytes
        self = JSONWriter(reservingCapacity: taken.capacity)
        return taken
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

    private mutating func append(escaping value: String) {
        if Self.needsNoEscape(value.utf8.span) {
            bytes.append(contentsOf: value.utf8)
        } else {
            for byte in value.utf8 { append(escaping: byte) }
        }
    }

    private static func needsNoEscape(_ text: Span<UInt8>) -> Bool {
        for index in text.indices where !standsForItself(text[index]) { return false }
        return true
    }

    private mutating func append(escaping byte: UInt8) {
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"): bytes.append(contentsOf: [UInt8(ascii: "\\"), byte])
        case UInt8(ascii: "\n"): bytes.append(contentsOf: "\\n".utf8)
        case UInt8(ascii: "\r"): bytes.append(contentsOf: "\\r".utf8)
        case UInt8(ascii: "\t"): bytes.append(contentsOf: "\\t".utf8)
        // The only form of the other control characters.
        case 0x00..<0x20: bytes.append(contentsOf: "\\u00\(ASCII.hexadecimal([byte]))".utf8)
        default: bytes.append(byte)
        }
    }

    private static func standsForItself(_ byte: UInt8) -> Bool {
        byte >= 0x20 && byte != UInt8(ascii: "\"") && byte != UInt8(ascii: "\\")
    }
}

/// The name of a member: escaped once, written many times.
package struct JSONKey: Sendable {
    /// A comma, the name in quotation marks, a colon, and the quotation mark of a string.
    fileprivate let beforeString: [UInt8]

    package init(_ name: String) {
        var json = JSONWriter()
        json.key(name)
        beforeString = [UInt8(ascii: ",")] + json.bytes + [UInt8(ascii: "\"")]
    }
}
