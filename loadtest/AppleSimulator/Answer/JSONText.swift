// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// A writer of one JSON text (RFC 8259), which places commas and escapes.
struct JSONText: Sendable {
    /// The text so far.
    private(set) var bytes: [UInt8] = []
    private var needsComma = false

    /// Writes an object, as the value of a member if `name` is given.
    mutating func object(_ name: String? = nil, _ members: (inout JSONText) -> Void) {
        begin(name)
        enclose("{", members, "}")
    }

    /// Writes an array, as the value of a member if `name` is given.
    mutating func array(_ name: String? = nil, _ elements: (inout JSONText) -> Void) {
        begin(name)
        enclose("[", elements, "]")
    }

    /// Writes a member whose value is a text.
    mutating func member(_ name: String, _ value: String) {
        begin(name)
        quote(value)
    }

    /// Writes a member whose value is a number.
    mutating func member(_ name: String, _ value: some BinaryInteger) {
        member(name, literal: String(value))
    }

    /// Writes a member whose value is given as JSON.
    mutating func member(_ name: String, literal: String) {
        begin(name)
        bytes.append(contentsOf: literal.utf8)
    }

    private mutating func begin(_ name: String?) {
        if needsComma { bytes.append(UInt8(ascii: ",")) }
        needsComma = true
        guard let name else { return }
        quote(name)
        bytes.append(UInt8(ascii: ":"))
    }

    private mutating func enclose(_ open: String, _ content: (inout JSONText) -> Void, _ close: String) {
        bytes.append(contentsOf: open.utf8)
        needsComma = false
        content(&self)
        bytes.append(contentsOf: close.utf8)
        needsComma = true
    }

    private mutating func quote(_ text: String) {
        bytes.append(UInt8(ascii: "\""))
        for byte in text.utf8 { append(escaping: byte) }
        bytes.append(UInt8(ascii: "\""))
    }

    private mutating func append(escaping byte: UInt8) {
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"): bytes.append(contentsOf: [UInt8(ascii: "\\"), byte])
        case 0x00..<0x20:
            let digits = Array("0123456789abcdef".utf8)
            bytes.append(contentsOf: "\\u00".utf8)
            bytes.append(contentsOf: [digits[Int(byte >> 4)], digits[Int(byte & 0x0F)]])
        default: bytes.append(byte)
        }
    }
}
