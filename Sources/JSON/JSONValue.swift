// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// A JSON text (RFC 8259) as a tree that can be written back without loss: members keep their order, numbers their
/// digits. Only white space and the escapes of strings are lost.
package enum JSONValue: Hashable, Sendable {
    /// Members in their order, without duplicate names.
    case object([Member])
    case array([JSONValue])
    /// A string, its escapes resolved.
    case string(String)
    case number(JSONNumber)
    case bool(Bool)
    /// `null`, which differs from an absent member.
    case null

    package struct Member: Hashable, Sendable {
        /// The name, its escapes resolved.
        package let name: String
        package let value: JSONValue

        package init(_ name: String, _ value: JSONValue) {
            self.name = name
            self.value = value
        }
    }

    // MARK: - Looking inside

    /// The member of this name, found by linear search; nil if there is none, or if this is no object.
    package subscript(name: String) -> JSONValue? {
        // By bytes: to Unicode, U+212A (the kelvin sign) and "K" are one character; here they are two names.
        members?.first { $0.name.utf8.count == name.utf8.count && $0.name.utf8.elementsEqual(name.utf8) }?.value
    }

    package var members: [Member]? {
        if case .object(let members) = self { members } else { nil }
    }

    package var elements: [JSONValue]? {
        if case .array(let elements) = self { elements } else { nil }
    }

    package var string: String? {
        if case .string(let string) = self { string } else { nil }
    }

    package var number: JSONNumber? {
        if case .number(let number) = self { number } else { nil }
    }

    package var bool: Bool? {
        if case .bool(let bool) = self { bool } else { nil }
    }

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

/// A number as written, so that 2^60, `1.0` and `1e3` stay unchanged.
package struct JSONNumber: Hashable, Sendable {
    /// The digits, by the grammar of RFC 8259 §6.
    package let text: String

    /// Nil with a fraction, an exponent, or more than 64 bits.
    package var integer: Int64? { Int64(text) }
}

// MARK: - Writing

extension JSONWriter {
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
