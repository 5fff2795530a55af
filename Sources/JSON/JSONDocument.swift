// SPDX-License-Identifier: Apache-2.0

/// A JSON text, and its values and names in their order. A name stands before its value.
final class JSONDocument: Sendable {
    let text: [UInt8]
    let entries: [JSONEntry]

    static let null = JSONDocument(Array("null".utf8), [JSONEntry(.null, 0..<4, next: 1)])

    private init(_ text: [UInt8], _ entries: [JSONEntry]) { (self.text, self.entries) = (text, entries) }

    /// Reads and checks a text.
    init(_ text: [UInt8], _ limits: JSONValue.Limits) throws(JSONFault) {
        let maximum = min(limits.bytes, JSONEntry.maximumBytes)
        guard text.count <= maximum else { throw JSONFault(.tooLarge(maximumBytes: maximum), at: 0) }
        var reader = JSONDocumentReader(text.span, limits)
        try reader.readDocument()
        (self.text, entries) = (text, reader.entries)
    }

    /// Returns a string or a name with its escapes resolved. Reading the text has checked them.
    func text(of entry: JSONEntry) -> OutsideText {
        let text = text
        return (try? JSONReader(text.span).text(of: entry.string)) ?? ""
    }

    /// Returns the digits of a number.
    func digits(of entry: JSONEntry) -> String { String(decoding: text[entry.range], as: UTF8.self) }

    /// Returns true if the entry, with its escapes resolved, is this name. Copies nothing.
    func isName(_ entry: JSONEntry, _ name: Span<UInt8>, _ suffix: Span<UInt8>) -> Bool {
        let string = entry.string, text = text
        guard string.isEscaped else { return text.span.extracting(string.range).isEqual(to: name, suffix) }
        return (try? JSONReader(text.span).isEqual(string, to: name, suffix)) ?? false
    }
}

/// The place of a value or a name in a text. Half as large as with usual integers.
struct JSONEntry {
    static let maximumBytes = Int(UInt32.max)

    let type: JSONType
    private let isEscaped: Bool
    private let first: UInt32
    private let count: UInt32
    private var following: UInt32

    /// - Parameter next: the index of the first entry behind the value and all that it contains.
    init(_ type: JSONType, _ range: Range<Int>, isEscaped: Bool = false, next: Int) {
        (self.type, self.isEscaped) = (type, isEscaped)
        (first, count, following) = (UInt32(range.lowerBound), UInt32(range.count), UInt32(next))
    }

    /// The bytes of a literal, and of a string without its quotes.
    var range: Range<Int> { Int(first)..<Int(first) + Int(count) }
    var string: JSONText { JSONText(range: range, isEscaped: isEscaped) }

    var next: Int {
        get { Int(following) }
        set { following = UInt32(newValue) }
    }
}

/// The names of an object that is being read. The first names are compared one by one in the text, which for objects of
/// ordinary size is faster than hashing. From the next name on, or from a name with an escape, all are copied and hashed:
/// there may be very many.
private struct MemberNames {
    static let maximumCompared = 32

    /// The place of the first name.
    let first: Int
    /// The number of first names that are compared.
    var comparedCount = 0
    /// All names, or none.
    var hashed: Set<OutsideText> = []

    init(first: Int) { self.first = first }
}

private struct JSONDocumentReader: ~Escapable {
    private var reader: JSONReader
    private let limits: JSONValue.Limits
    private var depth = 0
    private var values = 0
    private(set) var entries: [JSONEntry] = []

    @_lifetime(copy text)
    init(_ text: Span<UInt8>, _ limits: JSONValue.Limits) {
        reader = JSONReader(text)
        self.limits = limits
    }

    mutating func readDocument() throws(JSONFault) {
        try reader.beginDocument()
        try readValue()
        try reader.endDocument()
    }

    private mutating func readValue() throws(JSONFault) {
        let type = try reader.nextType(), start = reader.position
        switch type {
        case .object: return try readNested(type) { reader throws(JSONFault) in try reader.readMembers() }
        case .array: return try readNested(type) { reader throws(JSONFault) in try reader.readElements() }
        case .string: return add(try reader.readText())
        case .number: try reader.skipNumber()
        case .boolean: _ = try reader.readBoolean()
        case .null: try reader.readWord("null", "null")
        }
        add(type, start..<reader.position)
    }

    private mutating func add(_ type: JSONType, _ range: Range<Int>) {
        entries.append(JSONEntry(type, range, next: entries.count + 1))
    }

    private mutating func add(_ text: JSONText) {
        entries.append(JSONEntry(.string, text.range, isEscaped: text.isEscaped, next: entries.count + 1))
    }

    private mutating func readNested(
        _ type: JSONType, _ readContents: (inout JSONDocumentReader) throws(JSONFault) -> Void
    ) throws(JSONFault) {
        guard depth < limits.depth else { throw JSONFault(.tooDeep(maximumDepth: limits.depth), at: reader.position) }
        depth += 1
        defer { depth -= 1 }
        let index = entries.count
        add(type, reader.position..<reader.position)
        reader.position += 1
        try readContents(&self)
        entries[index].next = entries.count
    }

    private mutating func readMembers() throws(JSONFault) {
        let first = entries.count
        var names = MemberNames(first: first)
        while let key = try reader.nextKey(isFirst: entries.count == first) {
            try countValue()
            guard try isNew(key, &names) else { throw JSONFault(.duplicateField, at: key.range.lowerBound) }
            add(key)
            try readValue()
        }
    }

    /// Returns false for a name that the object has already.
    private func isNew(_ key: JSONText, _ names: inout MemberNames) throws(JSONFault) -> Bool {
        if !key.isEscaped, names.hashed.isEmpty, names.comparedCount < MemberNames.maximumCompared {
            defer { names.comparedCount += 1 }
            return !isAmongFirst(reader.bytes.extracting(key.range), names)
        }
        if names.hashed.isEmpty { try hashFirst(&names) }
        return names.hashed.insert(try reader.text(of: key)).inserted
    }

    private func isAmongFirst(_ name: Span<UInt8>, _ names: MemberNames) -> Bool {
        var place = names.first
        for _ in 0..<names.comparedCount {
            if reader.bytes.extracting(entries[place].range).isEqual(to: name) { return true }
            place = entries[place + 1].next
        }
        return false
    }

    private func hashFirst(_ names: inout MemberNames) throws(JSONFault) {
        var place = names.first
        for _ in 0..<names.comparedCount {
            names.hashed.insert(try reader.text(of: entries[place].string))
            place = entries[place + 1].next
        }
    }

    private mutating func readElements() throws(JSONFault) {
        let first = entries.count
        while try reader.nextElement(isFirst: entries.count == first) {
            try countValue()
            try readValue()
        }
    }

    private mutating func countValue() throws(JSONFault) {
        values += 1
        guard values <= limits.values else {
            throw JSONFault(.tooManyValues(maximum: limits.values), at: reader.position)
        }
    }
}
