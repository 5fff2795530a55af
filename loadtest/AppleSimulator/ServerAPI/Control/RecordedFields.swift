// SPDX-License-Identifier: Apache-2.0

internal import JSON
internal import ReceiptForge
internal import Receipts

/// The members of an object in a recorded answer. Errors name their place, such as `answers[2].receipt.bundle_id`.
struct RecordedFields: Sendable {
    private let value: JSONValue
    private let path: String

    init(_ value: JSONValue, at path: String) throws(ControlError) {
        guard value.members != nil else { throw .wrongValue(of: path, needed: "an object") }
        self.value = value
        self.path = path
    }

    /// Returns the place of a member.
    func path(_ name: String) -> String { "\(path).\(name)" }

    /// Returns false for null, too.
    func has(_ name: String) -> Bool { member(name) != nil }

    private func member(_ name: String) -> JSONValue? {
        value[name].flatMap { $0 == .null ? nil : $0 }
    }

    /// Returns the value of a member that every answer has.
    func required<Value>(
        _ name: String, _ read: (String) throws(ControlError) -> Value?
    ) throws(ControlError) -> Value {
        guard let value = try read(name) else { throw .missing(path(name)) }
        return value
    }
}

/// The values of members; nil without the member.
extension RecordedFields {
    func object(_ name: String) throws(ControlError) -> RecordedFields? {
        guard let value = member(name) else { return nil }
        return try RecordedFields(value, at: path(name))
    }

    func list(_ name: String) throws(ControlError) -> [RecordedFields]? {
        guard let value = member(name) else { return nil }
        guard let elements = value.elements else { throw .wrongValue(of: path(name), needed: "a list") }
        return try elements.enumerated().map { index, element throws(ControlError) in
            try RecordedFields(element, at: "\(path(name))[\(index)]")
        }
    }

    func text(_ name: String) throws(ControlError) -> String? {
        guard let value = member(name) else { return nil }
        guard let text = value.string else { throw .wrongValue(of: path(name), needed: "a text") }
        return text
    }

    /// Returns a whole number, written as a number or as a text: Apple does both.
    func integer(
        _ name: String, in range: ClosedRange<Int64> = 0...Int64.max
    ) throws(ControlError) -> Int64? {
        guard let value = member(name) else { return nil }
        let number = value.number?.integer ?? value.string.flatMap { Int64($0) }
        guard let number, range.contains(number) else {
            throw .wrongValue(
                of: path(name), needed: "a whole number from \(range.lowerBound) to \(range.upperBound)")
        }
        return number
    }

    /// Returns `"true"` or `"false"`, also as a JSON boolean.
    func flag(_ name: String) throws(ControlError) -> Bool? {
        guard let value = member(name) else { return nil }
        guard let flag = value.bool ?? value.string.flatMap({ Bool($0) }) else {
            throw .wrongValue(of: path(name), needed: "true or false")
        }
        return flag
    }

    /// Returns a date with three forms. The milliseconds count: some published answers were edited by hand, and only in
    /// one form.
    func date(_ name: String) throws(ControlError) -> UTCDate? {
        let milliseconds = name + "_ms"
        guard has(name) == has(milliseconds) else { throw .missing(path(has(name) ? milliseconds : name)) }
        return try dateInMilliseconds(milliseconds)
    }

    /// Returns the date of one member, in milliseconds.
    func dateInMilliseconds(_ name: String) throws(ControlError) -> UTCDate? {
        try integer(name, in: Self.dates).map { UTCDate.exact(Timestamp(millisecondsSince1970: $0)) }
    }

    /// Up to the year 9999, as in receipts.
    private static let dates: ClosedRange<Int64> = 0...253_402_300_799_999
}
