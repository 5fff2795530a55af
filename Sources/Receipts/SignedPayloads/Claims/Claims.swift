// SPDX-License-Identifier: Apache-2.0

internal import JSON

/// The claims of a signed payload, or of an object inside it: found once, then read by name. `null` stands for an absent
/// claim.
///
/// A name is Apple's, or Apple's in snake case: `offer_type` reads `offerType`.
struct Claims {
    private struct Member {
        let name: Range<Int>, value: Range<Int>
        let type: JSONType
        /// The place of the object that was opened; nil for a claim of the payload itself.
        let parent: Int?
        var state = State.untouched
    }

    private enum State {
        case untouched, read
        /// In another form than is read.
        case unreadable
    }

    /// The rules for the claims of one payload.
    struct Rules {
        /// True if numbers may have a fraction, as from Xcode.
        let acceptsFractions: Bool
        let limits: Limits
        /// Receives the name of each claim that counts as absent because it cannot be read.
        let onIgnored: @Sendable (String) -> Void
    }

    /// The claims of a transaction are about as many.
    private static let usualCount = 32

    private let text: [UInt8]
    private let rules: Rules
    private var members: [Member] = []

    private init(beginningIn text: [UInt8], _ rules: Rules) { (self.text, self.rules) = (text, rules) }

    /// Finds the claims of a payload, or of an object inside a payload.
    /// - Parameter notObject: the rule that a text of another kind breaks.
    init(_ text: [UInt8], _ rules: Rules, notObject: Rule = .payloadNotObject) throws(ReceiptError) {
        self.init(beginningIn: text, rules)
        try find(in: text.indices, parent: nil, maximumMembers: rules.limits.maximumClaims, notObject)
    }

    /// Returns the claims before the first fault of the JSON, any number of them, also of one name.
    static func beforeFault(in text: [UInt8], _ rules: Rules) -> Claims {
        var claims = Claims(beginningIn: text, rules)
        try? claims.find(in: text.indices, parent: nil, maximumMembers: nil, .payloadNotObject)
        return claims
    }

    private mutating func find(
        in range: Range<Int>, parent: Int?, maximumMembers: Int?, _ notObject: Rule
    ) throws(ReceiptError) {
        let objectRules = ObjectReader.Rules(
            malformed: .claimMalformed, duplicate: .claimDuplicate, tooMany: .tooManyClaims,
            maximumMembers: maximumMembers)
        let text = text
        var object = try ObjectReader(text.span.extracting(range), rules: objectRules, notObject: notObject)
        members.reserveCapacity(Self.usualCount)
        while let name = try object.nextName() {
            let type = try object.nextType(), value = try object.skip()
            members.append(
                Member(
                    name: name.advanced(by: range.lowerBound), value: value.advanced(by: range.lowerBound), type: type,
                    parent: parent))
        }
    }

    /// Adds the claims inside `commitmentInfo` to the claims of the payload. The names of their fields have a prefix, which
    /// Apple writes before some of them.
    mutating func openCommitment() throws(ReceiptError) {
        guard let index = take("commitmentInfo") else { return }
        let count = members.count
        do throws(ReceiptError) {
            try find(
                in: members[index].value, parent: index, maximumMembers: rules.limits.maximumClaims, .claimMalformed)
        } catch {
            members.removeLast(members.count - count)
            try ignore(index, because: error)
        }
    }

    private static let commitmentPrefix = "commitment_"

    /// The places of the claims of the payload that were not read, or only in part; some of them several times.
    var unread: [Int] { members.indices.filter { members[$0].state != .read }.map { members[$0].parent ?? $0 } }

    /// Leaves out a claim that is known and of no use.
    mutating func skip(_ name: StaticString) { _ = take(name) }

    /// Returns the place of a claim, which counts as read from now on; nil if it is absent.
    private mutating func take(_ name: StaticString) -> Int? {
        guard let index = index(of: name) else { return nil }
        members[index].state = .read
        return members[index].type == .null ? nil : index
    }

    // MARK: - Names

    /// Returns true if there is a claim of this name.
    func has(_ name: StaticString) -> Bool { index(of: name) != nil }

    /// Returns true if there is a claim of this name that is not `null`.
    func hasValue(_ name: StaticString) -> Bool { members.contains { $0.type != .null && isNamed($0, name) } }

    private func index(of name: StaticString) -> Int? {
        guard name.bytes.begins(with: Self.commitmentPrefix) else {
            return members.lastIndex { $0.parent == nil && isNamed($0, name) }
        }
        return members.lastIndex { $0.parent != nil && isNamed($0, name) }
            ?? members.lastIndex { $0.parent != nil && isNamed($0, name, after: Self.commitmentPrefix.utf8.count) }
    }

    private func isNamed(_ member: Member, _ name: StaticString, after prefix: Int = 0) -> Bool {
        text.span.extracting(member.name).spells(name.bytes, after: prefix)
    }

    private func name(of member: Member) -> String { String(decoding: text[member.name], as: UTF8.self) }

    // MARK: - Values

    mutating func text(_ name: StaticString) throws(ReceiptError) -> String? {
        try value(name, .string) { json, _ throws(JSONFault) in try json.plainText() }
    }

    /// Reads a claim that must be there.
    mutating func required(_ name: StaticString) throws(ReceiptError) -> String {
        guard let text = try text(name), !text.isEmpty else { throw ReceiptError(missing: name) }
        return text
    }

    /// Reads a date that must be there.
    mutating func requiredDate(_ name: StaticString) throws(ReceiptError) -> Timestamp {
        guard let date = try date(name) else { throw ReceiptError(missing: name) }
        return date
    }

    /// Reads an identifier, which may be a number.
    mutating func identifier(_ name: StaticString) throws(ReceiptError) -> String? {
        guard let index = index(of: name), members[index].type == .number else { return try text(name) }
        return try integer(name).map(String.init)
    }

    mutating func integer(_ name: StaticString) throws(ReceiptError) -> Int64? {
        try value(name, .number) { json, _ throws(JSONFault) in try json.integer() }
    }

    mutating func flag(_ name: StaticString) throws(ReceiptError) -> Bool? {
        try value(name, .boolean) { json, _ throws(JSONFault) in try json.boolean() }
    }

    /// Reads milliseconds since 1970. Fractions are dropped.
    mutating func date(_ name: StaticString) throws(ReceiptError) -> Timestamp? {
        guard rules.acceptsFractions else {
            return try integer(name).map(Timestamp.init(millisecondsSince1970:))
        }
        return try value(name, .number) { _, number in
            Double(String(decoding: number, as: UTF8.self)).flatMap { Int64(exactly: $0.rounded(.down)) }
                .map(Timestamp.init(millisecondsSince1970:))
        }
    }

    mutating func texts(_ name: StaticString) throws(ReceiptError) -> [String]? {
        let maximumCount = rules.limits.maximumClaims
        return try value(name, .array) { json, _ throws(JSONFault) in
            var texts: [String] = []
            for text in try json.strings(maximumCount: maximumCount) { texts.append(try json.string(of: text)) }
            return texts
        }
    }

    /// Reads an object as it stands, in JSON.
    mutating func raw(_ name: StaticString) throws(ReceiptError) -> [UInt8]? {
        try value(name, .object) { _, object in Array(object) }
    }

    /// Reads an object without its white space.
    mutating func compactObject(_ name: StaticString) throws(ReceiptError) -> [UInt8]? {
        try value(name, .object) { _, object in JSONValue.compactObject(Array(object)) }
    }

    /// Reads a value of this type. An unreadable claim that decides nothing counts as absent.
    /// - Parameter read: receives a reader before the value, and the value's text. Returns nil for an undocumented form.
    private mutating func value<Value>(
        _ name: StaticString, _ type: JSONType,
        _ read: (inout JSONReader, ArraySlice<UInt8>) throws(JSONFault) -> Value?
    ) throws(ReceiptError) -> Value? {
        guard let index = take(name) else { return nil }
        let member = members[index]
        if member.type == type {
            // The reader needs what follows the value.
            var json = JSONReader(text.span.extracting(member.value.lowerBound...))
            if let value = try? read(&json, text[member.value]) { return value }
        }
        try ignore(index, because: ReceiptError(.claimMalformed, at: .claim(self.name(of: member))))
        return nil
    }

    /// Throws the error, unless the claim decides nothing: then it counts as absent, and is reported once.
    private mutating func ignore(_ index: Int, because error: ReceiptError) throws(ReceiptError) {
        let whole = members[index].parent ?? index, isReported = members[whole].state == .unreadable
        members[index].state = .unreadable
        members[whole].state = .unreadable
        guard let ignorable = IgnorableClaim(rawValue: name(of: members[whole])) else { throw error }
        if !isReported { rules.onIgnored(ignorable.rawValue) }
    }

    // MARK: - Objects

    /// Reads the claims inside an object.
    mutating func nested<Value>(
        _ name: StaticString, _ read: (inout Claims) throws(ReceiptError) -> Value
    ) throws(ReceiptError) -> Value? {
        guard let index = take(name) else { return nil }
        do throws(ReceiptError) {
            var inner = try inside(members[index])
            return try read(&inner)
        } catch {
            try ignore(index, because: error)
            return nil
        }
    }

    /// Reads the claims inside each object that nothing has asked for, up to the first that gives a value. An object that
    /// cannot be read gives none.
    func firstUntouched<Value>(_ read: (inout Claims) throws(ReceiptError) -> Value?) -> Value? {
        for member in members where member.state == .untouched && member.type == .object {
            guard var inner = try? inside(member), let value = try? read(&inner) else { continue }
            return value
        }
        return nil
    }

    private func inside(_ member: Member) throws(ReceiptError) -> Claims {
        guard member.type == .object else { throw ReceiptError(.claimMalformed, at: .claim(name(of: member))) }
        return try Claims(Array(text[member.value]), rules, notObject: .claimMalformed)
    }
}

/// Reads the fields that only signed items have: each is the claim of its name.
extension Claims: FieldVisitor {
    mutating func text(_ name: StaticString, _ value: inout String?) throws(ReceiptError) { value = try text(name) }
    mutating func count(_ name: StaticString, _ value: inout Int64?) throws(ReceiptError) { value = try integer(name) }
    mutating func code(_ name: StaticString, _ value: inout Int64?) throws(ReceiptError) { value = try integer(name) }
    mutating func flag(_ name: StaticString, _ value: inout Bool?) throws(ReceiptError) { value = try flag(name) }
    mutating func date(_ name: StaticString, _ value: inout Timestamp?) throws(ReceiptError) { value = try date(name) }
    mutating func texts(_ name: StaticString, _ value: inout [String]?) throws(ReceiptError) { value = try texts(name) }

    mutating func object(_ name: StaticString, _ value: inout [UInt8]?) throws(ReceiptError) {
        value = try compactObject(name)
    }

    func invalid(_ name: StaticString) throws(ReceiptError) { throw ReceiptError(.claimMalformed) }
}

extension JSONReader {
    /// Reads a text; nil if it contains NUL, where C code behind us would end it.
    fileprivate mutating func plainText() throws(JSONFault) -> String? {
        let text = try string(of: try string())
        return text.utf8Span.span.firstIndex(of: 0, from: 0) == nil ? text : nil
    }
}

extension Range<Int> {
    fileprivate func advanced(by distance: Int) -> Range<Int> { lowerBound + distance..<upperBound + distance }
}

extension Span<UInt8> {
    /// Returns true if this is a name, or its form in camel case.
    /// - Parameter prefix: the number of the name's first bytes that do not count.
    fileprivate func spells(_ name: Span<UInt8>, after prefix: Int) -> Bool {
        var position = 0, beginsWord = false
        for index in prefix..<name.count {
            let byte = name[index]
            if byte == UInt8(ascii: "_") {
                beginsWord = true
            } else {
                guard position < count, self[position] == (beginsWord ? byte & ~0x20 : byte) else { return false }
                (position, beginsWord) = (position + 1, false)
            }
        }
        return position == count
    }
}

extension ReceiptError {
    init(missing claim: StaticString) { self.init(.claimMissing, at: .claim("\(claim)")) }
}
