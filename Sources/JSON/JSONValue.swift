// SPDX-License-Identifier: Apache-2.0

/// A JSON text (RFC 8259) as a tree that can be written back without loss: members keep their order, numbers their
/// digits. Only white space and the escapes of strings are lost.
package enum JSONValue: Hashable, Sendable {
    /// Members in their order, without duplicate names.
    case object([Member])
    case array([JSONValue])
    /// A string, its escapes resolved.
    case string(OutsideText)
    case number(JSONNumber)
    case bool(Bool)
    /// `null`, which differs from an absent member.
    case null

    package struct Member: Hashable, Sendable {
        /// The name, its escapes resolved.
        package let name: OutsideText
        package let value: JSONValue

        package init(_ name: OutsideText, _ value: JSONValue) {
            self.name = name
            self.value = value
        }
    }

    // MARK: - Looking inside

    /// The member of this name, found by linear search; nil if there is none, or if this is no object.
    package subscript(name: String) -> JSONValue? {
        let name = OutsideText(name)
        return members?.first { $0.name == name }?.value
    }

    package var members: [Member]? { if case .object(let members) = self { members } else { nil } }
    package var elements: [JSONValue]? { if case .array(let elements) = self { elements } else { nil } }

    /// The string, if `OutsideText` hands it out.
    package var string: String? { if case .string(let text) = self { text.string } else { nil } }
    package var number: JSONNumber? { if case .number(let number) = self { number } else { nil } }
    package var bool: Bool? { if case .bool(let bool) = self { bool } else { nil } }
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

extension JSONWriter {
    package mutating func value(_ value: JSONValue) {
        switch value {
        case .object(let members): object { json in for member in members { json.member(member) } }
        case .array(let elements): array { json in for element in elements { json.value(element) } }
        case .string(let text): string(text)
        case .number(let number): self.number(number)
        case .bool(let bool): self.bool(bool)
        case .null: null()
        }
    }

    package mutating func member(_ name: StaticString, _ value: JSONValue) {
        key(name)
        self.value(value)
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

    /// The tree as JSON in UTF-8, without white space.
    package var bytes: [UInt8] {
        var json = JSONWriter()
        json.value(self)
        return json.bytes
    }
}

extension JSONValue {
    package struct Limits: Hashable, Sendable {
        package var bytes: Int
        /// The nesting of arrays and objects; reading, writing and freeing a tree take stack with its depth.
        package var depth: Int
        /// Members and elements, counted together: `[0,0,0]` takes ten times the memory of its text.
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
    package init(parsing text: Span<UInt8>, limits: Limits = Limits()) throws(JSONFault) {
        guard text.count <= limits.bytes else { throw JSONFault(.tooLarge(maximumBytes: limits.bytes), at: 0) }
        var reader = JSONTreeReader(text, limits)
        self = try reader.document()
    }

    package init(parsing text: [UInt8], limits: Limits = Limits()) throws(JSONFault) {
        try self.init(parsing: text.span, limits: limits)
    }
}

private struct JSONTreeReader: ~Escapable {
    private var reader: JSONReader
    private let limits: JSONValue.Limits
    private var depth = 0
    private var values = 0

    @_lifetime(copy text)
    init(_ text: Span<UInt8>, _ limits: JSONValue.Limits) {
        reader = JSONReader(text)
        self.limits = limits
    }

    mutating func document() throws(JSONFault) -> JSONValue {
        try reader.beginDocument()
        let value = try value()
        try reader.endDocument()
        return value
    }

    private mutating func value() throws(JSONFault) -> JSONValue {
        switch try reader.nextType() {
        case .object: return try nested { reader throws(JSONFault) in .object(try reader.members()) }
        case .array: return try nested { reader throws(JSONFault) in .array(try reader.elements()) }
        case .string: return .string(try reader.text(of: try reader.readText()))
        case .number: return .number(try reader.readNumber())
        case .boolean: return .bool(try reader.readBoolean())
        case .null:
            try reader.readWord("null", "null")
            return .null
        }
    }

    private mutating func nested(
        _ content: (inout JSONTreeReader) throws(JSONFault) -> JSONValue
    ) throws(JSONFault) -> JSONValue {
        guard depth < limits.depth else { throw JSONFault(.tooDeep(maximumDepth: limits.depth), at: reader.position) }
        depth += 1
        defer { depth -= 1 }
        reader.position += 1
        return try content(&self)
    }

    private mutating func members() throws(JSONFault) -> [JSONValue.Member] {
        var members: [JSONValue.Member] = []
        var names = MemberNames()
        while let key = try reader.nextKey(isFirst: members.isEmpty) {
            try count()
            let name = try reader.text(of: key)
            guard names.insert(name) else { throw JSONFault(.duplicateField, at: key.range.lowerBound) }
            members.append(JSONValue.Member(name, try value()))
        }
        return members
    }

    private mutating func elements() throws(JSONFault) -> [JSONValue] {
        var elements: [JSONValue] = []
        while try reader.nextElement(isFirst: elements.isEmpty) {
            try count()
            elements.append(try value())
        }
        return elements
    }

    private mutating func count() throws(JSONFault) {
        values += 1
        guard values <= limits.values else {
            throw JSONFault(.tooManyValues(maximum: limits.values), at: reader.position)
        }
    }
}

/// The names of one object. The first few are compared one by one, which for objects of ordinary size is faster than
/// hashing. Further names are hashed, because there may be very many.
private struct MemberNames {
    private static let fewCount = 32
    private var few: [OutsideText] = []
    private var others: Set<OutsideText> = []

    /// Returns false if the name is present already.
    mutating func insert(_ name: OutsideText) -> Bool {
        guard !few.contains(name) else { return false }
        guard few.count >= Self.fewCount else {
            few.append(name)
            return true
        }
        return others.insert(name).inserted
    }
}
