// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// A JSON text (RFC 8259) as a tree that can be written back without loss: members keep their order, numbers their
/// digits. What is lost is white space and how a string was escaped.
package enum JSONValue: Hashable, Sendable {
    /// Members in the order they stood in; no name stands twice.
    case object([Member])
    /// Elements in their order.
    case array([JSONValue])
    /// A string, its escapes resolved.
    case string(String)
    /// A number, as it was written.
    case number(JSONNumber)
    /// `true` or `false`.
    case bool(Bool)
    /// `null`, which is not the same as a member that is absent.
    case null

    /// One name of an object and what it names.
    package struct Member: Hashable, Sendable {
        /// The name, its escapes resolved.
        package let name: String
        /// What it names.
        package let value: JSONValue

        /// A member.
        package init(_ name: String, _ value: JSONValue) {
            self.name = name
            self.value = value
        }
    }
}

// MARK: - Looking inside

extension JSONValue {
    /// The member of this name; nil if there is none, or if this is no object. Takes time with the number of members.
    package subscript(name: String) -> JSONValue? {
        // By bytes: U+212A (the sign for kelvin) and "K" are one character to Unicode, and two names here.
        members?.first { $0.name.utf8.count == name.utf8.count && $0.name.utf8.elementsEqual(name.utf8) }?.value
    }

    /// The members, if this is an object.
    package var members: [Member]? {
        if case .object(let members) = self { members } else { nil }
    }

    /// The elements, if this is an array.
    package var elements: [JSONValue]? {
        if case .array(let elements) = self { elements } else { nil }
    }

    /// The text, if this is a string.
    package var string: String? {
        if case .string(let string) = self { string } else { nil }
    }

    /// The number, if this is one.
    package var number: JSONNumber? {
        if case .number(let number) = self { number } else { nil }
    }

    /// The truth value, if this is one.
    package var bool: Bool? {
        if case .bool(let bool) = self { bool } else { nil }
    }

    /// Which kind of value this is.
    package var type: JSONType {
        switch self {
        case .object: .object
        case .array: .array
        case .string: .string
        case .number: .number
        case .bool: .boolean
        case .null: .null
        }
    }
}

/// A number as it was written, so that 2^60, `1.0` and `1e3` come out as they went in.
package struct JSONNumber: Hashable, Sendable {
    /// The digits, by the grammar of RFC 8259 §6.
    package let text: String

    /// An integer in decimal digits.
    package init(_ integer: some FixedWidthInteger) {
        text = String(integer)
    }

    /// A text that was checked against the grammar.
    init(checked text: String) {
        self.text = text
    }

    /// The integer it is; nil with a fraction, an exponent, or more than 64 bits.
    package var integer: Int64? { Int64(text) }
}

// MARK: - Writing

extension JSONWriter {
    /// Writes a whole tree, members in their order and numbers as they were written.
    package mutating func value(_ value: JSONValue) {
        switch value {
        case .object(let members): object { json in for member in members { json.member(member.name, member.value) } }
        case .array(let elements): array { json in for element in elements { json.value(element) } }
        case .string(let string): self.string(string)
        case .number(let number): self.number(number)
        case .bool(let bool): self.bool(bool)
        case .null: null()
        }
    }

    /// Writes one member.
    package mutating func member(_ name: String, _ value: JSONValue) {
        key(name)
        self.value(value)
    }
}

extension JSONValue {
    /// The tree as JSON in UTF-8, without white space.
    package var bytes: [UInt8] {
        var json = JSONWriter()
        json.value(self)
        return json.bytes
    }
}
