// SPDX-License-Identifier: Apache-2.0

/// A value of a JSON text (RFC 8259) that was read and checked as a whole. The values are places in the text: looking at
/// one copies what is looked at, and nothing else.
///
/// A value can be written back without loss: members keep their order, numbers their digits. Only white space and the
/// escapes of strings are lost.
package struct JSONValue: Sendable {
    private let document: JSONDocument
    /// The index of the value's entry.
    private let index: Int

    package struct Member: Hashable, Sendable {
        /// The name, its escapes resolved.
        package let name: OutsideText
        package let value: JSONValue
    }

    /// The type and the contents of a value, copied from the text.
    package enum Content: Hashable, Sendable {
        /// Members in their order, without duplicate names.
        case object([Member])
        case array([JSONValue])
        /// A string, its escapes resolved.
        case string(OutsideText)
        case number(JSONNumber)
        case bool(Bool)
        /// `null`, which differs from an absent member.
        case null
    }

    // MARK: - Looking inside

    private var entry: JSONEntry { document.entries[index] }

    package var type: JSONType { entry.type }

    package var content: Content {
        switch type {
        case .object: .object(members ?? [])
        case .array: .array(elements ?? [])
        case .string: .string(document.text(of: entry))
        case .number: .number(JSONNumber(text: document.digits(of: entry)))
        case .boolean: .bool(bool ?? false)
        case .null: .null
        }
    }

    /// The member of this name, found by linear search; nil if there is none, or if this is no object.
    package subscript(name: String) -> JSONValue? { member(name.utf8Span.span, Span()) }

    /// - Parameter suffix: the end of a name that has two parts.
    package subscript(name: StaticString, suffix suffix: StaticString = "") -> JSONValue? {
        member(name.bytes, suffix.bytes)
    }

    private func member(_ name: Span<UInt8>, _ suffix: Span<UInt8>) -> JSONValue? {
        guard type == .object else { return nil }
        let end = entry.next
        var place = index + 1
        while place < end {
            if document.isName(document.entries[place], name, suffix) { return JSONValue(document, place + 1) }
            place = document.entries[place + 1].next
        }
        return nil
    }

    package var members: [Member]? {
        guard type == .object else { return nil }
        return places(step: 1).map {
            Member(name: document.text(of: document.entries[$0]), value: JSONValue(document, $0 + 1))
        }
    }

    package var elements: [JSONValue]? {
        type == .array ? places(step: 0).map { JSONValue(document, $0) } : nil
    }

    /// The indices of what is directly inside this value.
    /// - Parameter step: the number of entries before each value: 1 for its name.
    private func places(step: Int) -> [Int] {
        var places: [Int] = [], place = index + 1
        while place < entry.next {
            places.append(place)
            place = document.entries[place + step].next
        }
        return places
    }

    /// The string, if `OutsideText` hands it out.
    package var string: String? { type == .string ? document.text(of: entry).string : nil }
    package var number: JSONNumber? { type == .number ? JSONNumber(text: document.digits(of: entry)) : nil }
    package var bool: Bool? { type == .boolean ? document.text[entry.range.lowerBound] == UInt8(ascii: "t") : nil }
    /// True for a string without characters.
    package var isEmptyString: Bool { type == .string && entry.range.isEmpty }
}

extension JSONValue: Hashable {
    package static func == (one: JSONValue, other: JSONValue) -> Bool { one.content == other.content }
    package func hash(into hasher: inout Hasher) { hasher.combine(content) }
}

/// A number as written, so that 2^60, `1.0` and `1e3` stay unchanged.
package struct JSONNumber: Hashable, Sendable {
    /// The digits, by the grammar of RFC 8259 §6.
    package let text: String

    /// Nil with a fraction, an exponent, or more than 64 bits.
    package var integer: Int64? { Int64(text) }
}

extension JSONWriter {
    package mutating func value(_ value: JSONValue) {
        switch value.content {
        case .object(let members): object { json in for member in members { json.member(member) } }
        case .array(let elements): array { json in for element in elements { json.value(element) } }
        case .string(let text): string(text)
        case .number(let number): self.number(number)
        case .bool(let bool): self.bool(bool)
        case .null: null()
        }
    }

    package mutating func member(_ member: JSONValue.Member) {
        key(named: member.name)
        value(member.value)
    }
}

extension JSONValue {
    /// Returns a JSON object without its white space; nil for anything else, and for more than 16 KiB before or after. The
    /// same again for what it returns.
    package static func compactObject(_ text: [UInt8]) -> [UInt8]? {
        let limits = Limits(bytes: 16 << 10)
        guard let value = try? JSONValue(parsing: text, limits: limits), value.type == .object else { return nil }
        // Some characters have longer escapes in the result.
        let bytes = value.bytes
        return bytes.count <= limits.bytes ? bytes : nil
    }

    /// The value as JSON in UTF-8, without white space.
    package var bytes: [UInt8] {
        var json = JSONWriter()
        json.value(self)
        return json.bytes
    }
}

extension JSONValue {
    package struct Limits: Hashable, Sendable {
        package var bytes: Int
        /// The nesting of arrays and objects; reading and writing take stack with its depth.
        package var depth: Int
        /// Members and elements, counted together: a member of one digit takes six times the memory of its text.
        package var values: Int

        /// Creates limits that fit Apple's responses: a receipt of 5 MB is on record, and its response is twice as
        /// long.
        package init(bytes: Int = 16 << 20, depth: Int = 16, values: Int = 1_000_000) {
            self.bytes = bytes
            self.depth = depth
            self.values = values
        }
    }

    /// Parses a text of one value, in time proportional to its length.
    ///
    /// - Throws: `JSONFault`, with the position; also for a duplicate name in an object.
    package init(parsing text: [UInt8], limits: Limits = Limits()) throws(JSONFault) {
        self.init(try JSONDocument(text, limits), 0)
    }

    private init(_ document: JSONDocument, _ index: Int) { (self.document, self.index) = (document, index) }

    package static let null = JSONValue(.null, 0)
}
