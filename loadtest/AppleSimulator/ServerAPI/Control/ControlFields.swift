// SPDX-License-Identifier: Apache-2.0

internal import JSON
internal import ReceiptForge
internal import Receipts

/// The members of a request that controls the simulator, or of an object in a recorded answer. Errors name their place,
/// such as `answers[2].receipt.bundle_id`.
struct ControlFields: Sendable {
    private let value: JSONValue
    /// Empty for a whole request.
    private let path: String

    init(_ value: JSONValue, at path: String) throws(ControlError) {
        guard value.members != nil else { throw .wrongValue(of: path, needed: "an object") }
        self.value = value
        self.path = path
    }

    /// Reads a request, in which unknown names are errors.
    init(_ body: [UInt8], known: Set<String>) throws(ControlError) {
        guard let value = try? JSONValue(parsing: body), let members = value.members else { throw .notJSON }
        if let unknown = members.map(\.name.description).first(where: { !known.contains($0) }) {
            throw .unknownName(unknown)
        }
        (self.value, path) = (value, "")
    }

    /// Returns the place of a member.
    func path(_ name: String) -> String { path.isEmpty ? name : "\(path).\(name)" }

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
extension ControlFields {
    func object(_ name: String) throws(ControlError) -> ControlFields? {
        guard let value = member(name) else { return nil }
        return try ControlFields(value, at: path(name))
    }

    func list(_ name: String) throws(ControlError) -> [ControlFields]? {
        guard has(name) else { return nil }
        return try values(name).enumerated().map { index, element throws(ControlError) in
            try ControlFields(element, at: "\(path(name))[\(index)]")
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

extension ControlFields {
    /// Returns a text that is not empty; nil without the member.
    func word(_ name: String) throws(ControlError) -> String? {
        guard let text = try text(name) else { return nil }
        guard !text.isEmpty else { throw .wrongValue(of: path(name), needed: "a text") }
        return text
    }

    func texts(_ name: String) throws(ControlError) -> [String] {
        let values = try values(name), texts = values.compactMap(\.string)
        guard texts.count == values.count else { throw .wrongValue(of: path(name), needed: "a list of texts") }
        return texts
    }

    /// Returns the values of a list; none without the member.
    func values(_ name: String) throws(ControlError) -> [JSONValue] {
        guard let list = member(name) else { return [] }
        guard let elements = list.elements else { throw .wrongValue(of: path(name), needed: "a list") }
        return elements
    }

    /// Returns nil without the member.
    func number(_ name: String, in range: ClosedRange<Double>) throws(ControlError) -> Double? {
        guard let value = member(name) else { return nil }
        guard let number = value.number.flatMap({ Double($0.text) }), range.contains(number) else {
            throw .wrongValue(of: path(name), needed: "a number from \(range.lowerBound) to \(range.upperBound)")
        }
        return number
    }

    /// Returns the app of the members `bundle_id` and `environment`.
    func app() throws(ControlError) -> AppInStore {
        guard let endpoint = Endpoint(rawValue: try required("environment", word).lowercased()) else {
            throw .wrongValue(of: "environment", needed: "production or sandbox")
        }
        return AppInStore(bundleID: try required("bundle_id", word), endpoint: endpoint)
    }
}

/// The reason why a request that controls the simulator is refused, and the remedy.
package enum ControlError: Error, Hashable, Sendable, CustomStringConvertible {
    case notJSON
    case unknownName(String)
    case wrongValue(of: String, needed: String)
    case missing(String)
    case tooMuchEvidence(maximum: Int)
    /// The piece of evidence of this name.
    case notGenuine(String)
    /// A receipt with the contents of the recorded answer of this name would not verify.
    case notIssuable(String)
    case tooManyAccounts
    case tooManyPopulations(maximum: Int)
    /// Another population of the app has some of the transaction IDs.
    case overlapping
    /// No customer has the ID.
    case unknownCustomer(String)
    /// The customer with the ID has bought nothing.
    case noPurchase(String)
    case tooManyPurchases(maximum: Int)
    case tooManyNotificationURLs(maximum: Int)
    case tooManyNotifications(maximum: Int)
    /// Version 1 has no notification of this type.
    case notInVersion1(String)

    package var description: String {
        switch self {
        case .notJSON: "The body must be an object of JSON."
        case .unknownName(let name): "'\(name)' is unknown here."
        case .wrongValue(let name, let needed): "'\(name)' takes \(needed)."
        case .missing(let name): "'\(name)' is missing."
        case .tooMuchEvidence(let maximum): "Send at most \(maximum) pieces of evidence at once."
        case .notGenuine(let name): "\(name) is not genuine; the evidence before it is registered."
        case .notIssuable(let name):
            "A receipt with the contents of \(name) would not verify. Check its type, dates and texts; the evidence "
                + "before it is registered."
        case .tooManyAccounts: "The limit of accounts is reached. Restart the simulator."
        case .tooManyPopulations(let maximum): "At most \(maximum) populations are possible. Restart the simulator."
        case .overlapping: "Another population of the app has some of these transaction IDs. Choose others."
        case .unknownCustomer(let id): "No customer of this app has the ID \(id) here."
        case .noPurchase(let id): "The customer with the ID \(id) has no purchase."
        case .tooManyPurchases(let maximum):
            "Notifications add at most \(maximum) purchases to a customer. Use another one."
        case .tooManyNotificationURLs(let maximum):
            "At most \(maximum) notification URLs are possible. Remove one by a request without 'url'."
        case .tooManyNotifications(let maximum):
            "At most \(maximum) notifications may wait. Retry after some were delivered."
        case .notInVersion1(let type): "Version 1 has no notification for \(type). Set the URL to version 2."
        }
    }
}
