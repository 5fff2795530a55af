// SPDX-License-Identifier: Apache-2.0

internal import JSON
internal import ReceiptForge
internal import Receipts

/// A member of a request that controls the simulator, or of an object in a recorded answer.
struct ControlValue: NamedScalar, Sendable {
    let value: JSONValue
    /// The place for messages, such as `answers[2].receipt.bundle_id`.
    let path: String

    var string: String? { value.string }
    /// Apple writes numbers and truth values as texts, too.
    var scalar: String? { value.string ?? value.number?.text ?? value.bool?.description }

    func wrong(needed: String) -> ControlError { .wrongValue(of: path, needed: needed) }

    func textOrEmpty() throws(ControlError) -> String {
        guard let string else { throw wrong(needed: "a text") }
        return string
    }

    func elements() throws(ControlError) -> [ControlValue] {
        guard let elements = value.elements else { throw wrong(needed: "a list") }
        return elements.enumerated().map { ControlValue(value: $1, path: "\(path)[\($0)]") }
    }

    func objects() throws(ControlError) -> [ControlFields] { try elements().map(ControlFields.init) }

    func texts() throws(ControlError) -> [String] {
        let elements = try elements(), texts = elements.compactMap(\.string)
        guard texts.count == elements.count else { throw wrong(needed: "a list of texts") }
        return texts
    }
}

/// The members of a request that controls the simulator, or of an object in a recorded answer.
struct ControlFields: Sendable {
    private let value: JSONValue
    /// The place of the object; empty for a whole request.
    private let path: String

    init(_ object: ControlValue) throws(ControlError) {
        guard object.value.members != nil else { throw object.wrong(needed: "an object") }
        (value, path) = (object.value, object.path)
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

    /// The value of a member; nil for null, too.
    subscript(name: String) -> ControlValue? {
        value[name].flatMap { $0 == .null ? nil : ControlValue(value: $0, path: path(name)) }
    }

    func required(_ name: String) throws(ControlError) -> ControlValue {
        guard let value = self[name] else { throw .missing(path(name)) }
        return value
    }

    /// Returns a date with three forms. The milliseconds count: some published answers were edited by hand, and only in
    /// one form.
    func date(_ name: String) throws(ControlError) -> UTCDate? {
        let milliseconds = name + "_ms"
        if self[name] == nil, self[milliseconds] == nil { return nil }
        _ = try required(name)
        return try required(milliseconds).date()
    }

    /// Returns a date that every answer has.
    func requiredDate(_ name: String) throws(ControlError) -> UTCDate {
        guard let date = try date(name) else { throw .missing(path(name)) }
        return date
    }

    /// Returns the app of the members `bundle_id` and `environment`.
    func app() throws(ControlError) -> AppInStore {
        guard let endpoint = Endpoint(rawValue: try required("environment").text().lowercased()) else {
            throw .wrongValue(of: "environment", needed: "production or sandbox")
        }
        return AppInStore(bundleID: try required("bundle_id").text(), endpoint: endpoint)
    }
}

extension ControlValue {
    /// Returns a date in milliseconds, up to the year 9999, as in receipts.
    func date() throws(ControlError) -> UTCDate {
        UTCDate.exact(Timestamp(millisecondsSince1970: try integer(in: 0...253_402_300_799_999)))
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
