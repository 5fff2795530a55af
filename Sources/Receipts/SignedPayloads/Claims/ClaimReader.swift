// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import JSON

/// Reads the claims of a signed payload. `null` stands for an absent claim.
struct ClaimReader: ~Escapable {
    private var object: ObjectReader
    /// True if numbers may have a fraction, as from Xcode.
    let acceptsFractions: Bool
    private let limits: Limits
    private let onIgnored: @Sendable (String) -> Void
    private var claim: ClaimName?
    /// The claims that decide nothing and could not be read.
    private(set) var ignored: [String] = []

    /// Begins with the first claim of a payload, or of an object inside a payload.
    @_lifetime(copy text)
    init(
        _ text: Span<UInt8>, acceptsFractions: Bool, limits: Limits, acceptsAnyNumber: Bool = false,
        onIgnored: @escaping @Sendable (String) -> Void, notObject: Rule = .payloadNotObject
    ) throws(ReceiptError) {
        let rules = ObjectReader.Rules(
            malformed: .claimMalformed, duplicate: .claimDuplicate, tooMany: .tooManyClaims,
            maximumMembers: acceptsAnyNumber ? nil : limits.maximumClaims)
        object = try ObjectReader(text, rules: rules, notObject: notObject)
        self.acceptsFractions = acceptsFractions
        self.limits = limits
        self.onIgnored = onIgnored
    }

    /// Reads each claim with a meaning here. An unreadable claim that decides nothing counts as absent.
    /// - Parameter read: reads or skips the value.
    mutating func readAll(
        _ read: (ClaimName, inout ClaimReader) throws(ReceiptError) -> Void
    ) throws(ReceiptError) {
        while let claim = try next() {
            let value = self
            do throws(ReceiptError) {
                try read(claim, &self)
            } catch {
                guard let ignorable = IgnorableClaim(rawValue: claim.rawValue) else { throw error }
                self = value
                try skip()
                ignored.append(ignorable.rawValue)
                onIgnored(ignorable.rawValue)
            }
        }
    }

    /// Returns the next claim with a meaning here; skips all other claims. Nil after the last claim.
    mutating func next() throws(ReceiptError) -> ClaimName? {
        while let name = try object.nextName() {
            if let claim = ClaimName(object.text.extracting(name)) {
                self.claim = claim
                return claim
            }
            try object.skip()
        }
        return nil
    }

    /// Reads the claims inside each object whose name has no meaning here, up to the first that gives a value. An object that
    /// cannot be read gives none.
    mutating func firstUnknown<Value>(
        _ read: (inout ClaimReader) throws(ReceiptError) -> Value?
    ) throws(ReceiptError) -> Value? {
        while let name = try object.nextName() {
            let (isKnown, type) = (ClaimName(object.text.extracting(name)) != nil, try object.nextType())
            let range = try object.skip()
            guard !isKnown, type == .object, let value = try? inside(range, read) else { continue }
            return value
        }
        return nil
    }

    /// Skips the value of a claim that this payload does not use.
    mutating func skip() throws(ReceiptError) { try object.skip() }

    /// Skips the value, and returns false for `null`.
    mutating func skipPresent() throws(ReceiptError) -> Bool {
        let isPresent = try object.nextType() != .null
        try object.skip()
        return isPresent
    }

    mutating func text() throws(ReceiptError) -> String? {
        guard try isPresent(as: .string) else { return nil }
        let text = try object.string(of: try object.string())
        // C code behind us would end the text there.
        guard !text.utf8.contains(0) else { throw malformed }
        return text
    }

    /// Reads an identifier, which may be a number.
    mutating func identifier() throws(ReceiptError) -> String? {
        try object.nextType() == .number ? try integer().map(String.init) : try text()
    }

    mutating func integer() throws(ReceiptError) -> Int64? {
        guard try isPresent(as: .number) else { return nil }
        let claim = claim
        do throws(ReceiptError) { return try object.integer() } catch { throw Self.malformed(claim) }
    }

    mutating func flag() throws(ReceiptError) -> Bool? {
        guard try isPresent(as: .boolean) else { return nil }
        return try object.boolean()
    }

    /// Reads milliseconds since 1970. Fractions are dropped.
    mutating func date() throws(ReceiptError) -> Timestamp? {
        guard acceptsFractions else { return try integer().map(Timestamp.init(millisecondsSince1970:)) }
        guard try isPresent(as: .number) else { return nil }
        let range = try object.skip()
        let text = object.text.extracting(range)
        guard let number = Double(String(decoding: text.copy(0..<text.count), as: UTF8.self)),
            let milliseconds = Int64(exactly: number.rounded(.down))
        else { throw malformed }
        return Timestamp(millisecondsSince1970: milliseconds)
    }

    mutating func texts() throws(ReceiptError) -> [String]? {
        guard try isPresent(as: .array) else { return nil }
        var texts: [String] = []
        for text in try object.strings(maximumCount: limits.maximumClaims) { texts.append(try object.string(of: text)) }
        return texts
    }

    /// Reads an object as it stands, in JSON.
    mutating func raw() throws(ReceiptError) -> [UInt8]? {
        guard try isPresent(as: .object) else { return nil }
        let range = try object.skip()
        return object.text.copy(range)
    }

    /// Reads the claims inside an object.
    mutating func nested<Value>(
        _ read: (inout ClaimReader) throws(ReceiptError) -> Value
    ) throws(ReceiptError) -> Value? {
        guard try isPresent(as: .object) else { return nil }
        return try inside(try object.skip(), read)
    }

    private func inside<Value>(
        _ range: Range<Int>, _ read: (inout ClaimReader) throws(ReceiptError) -> Value
    ) throws(ReceiptError) -> Value {
        var inner = try ClaimReader(
            object.text.extracting(range), acceptsFractions: acceptsFractions, limits: limits, onIgnored: onIgnored,
            notObject: .claimMalformed)
        return try read(&inner)
    }

    /// Returns false for `null`, which is skipped.
    private mutating func isPresent(as type: JSONType) throws(ReceiptError) -> Bool {
        let found = try object.nextType()
        if found == .null {
            try object.skip()
            return false
        }
        guard found == type else { throw malformed }
        return true
    }

    private var malformed: ReceiptError { Self.malformed(claim) }

    private static func malformed(_ claim: ClaimName?) -> ReceiptError {
        ReceiptError(.claimMalformed, at: claim.map { .claim($0.rawValue) } ?? .receipt)
    }
}

extension ReceiptError {
    init(missing claim: ClaimName) {
        self.init(.claimMissing, at: .claim(claim.rawValue))
    }
}
