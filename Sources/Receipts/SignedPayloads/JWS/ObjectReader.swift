// SPDX-License-Identifier: Apache-2.0

internal import JSON

/// Reads the members of a signed JSON object in their order. A name appears once: readers disagree about which of two
/// counts.
struct ObjectReader: ~Escapable {
    /// The rules that the object's faults break.
    struct Rules {
        let malformed: Rule
        let duplicate: Rule
        let tooMany: Rule
        /// Nil for any number, and for names that appear several times.
        let maximumMembers: Int?
    }

    let text: Span<UInt8>
    private var json: JSONReader
    private let rules: Rules
    private var names: [Range<Int>] = []
    private var allowance: JSONSkipAllowance

    private static let maximumDepth = 8

    /// - Throws: `notObject` if the text is no JSON object.
    @_lifetime(copy text)
    init(_ text: Span<UInt8>, rules: Rules, notObject: Rule) throws(ReceiptError) {
        self.text = text
        self.rules = rules
        json = JSONReader(text)
        allowance = JSONSkipAllowance(maximumDepth: Self.maximumDepth, maximumWork: text.count)
        do throws(JSONFault) {
            try json.beginObject()
        } catch {
            throw ReceiptError(notObject)
        }
        names.reserveCapacity(32)
    }

    /// Reads the next member's name, up to its value; nil after the last member.
    mutating func nextName() throws(ReceiptError) -> Range<Int>? {
        let found = try read { json throws(JSONFault) in
            let key = try json.nextKey()
            if key == nil { try json.endDocument() }
            return key
        }
        guard let key = found else { return nil }
        // Apple escapes no name, and with escapes one name has many spellings.
        guard !key.isEscaped else { throw ReceiptError(rules.malformed) }
        guard let maximumMembers = rules.maximumMembers else { return key.range }
        for name in names where name.count == key.range.count && text.equals(name, key.range) {
            throw ReceiptError(rules.duplicate)
        }
        guard names.count < maximumMembers else { throw ReceiptError(rules.tooMany) }
        names.append(key.range)
        return key.range
    }

    /// The type of the next value.
    mutating func nextType() throws(ReceiptError) -> JSONType {
        try read { json throws(JSONFault) in try json.nextType() }
    }

    /// Skips the next value, of any type, and returns its range.
    @discardableResult
    mutating func skip() throws(ReceiptError) -> Range<Int> {
        let start = json.position
        do throws(JSONFault) { try json.skipValue(within: &allowance) } catch { throw ReceiptError(rules.malformed) }
        return start..<json.position
    }

    /// Reads with a reader before the next value.
    @inline(__always)
    mutating func read<Value>(_ body: (inout JSONReader) throws(JSONFault) -> Value) throws(ReceiptError) -> Value {
        do throws(JSONFault) { return try body(&json) } catch { throw ReceiptError(rules.malformed) }
    }
}
