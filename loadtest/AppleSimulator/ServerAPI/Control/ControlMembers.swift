// SPDX-License-Identifier: Apache-2.0

internal import JSON

/// The members of a request that controls the simulator. Unknown names are errors.
struct ControlMembers: Sendable {
    private let value: JSONValue

    init(_ body: [UInt8], known: Set<String>) throws(ControlError) {
        guard let value = try? JSONValue(parsing: body), let members = value.members else { throw .notJSON }
        if let unknown = members.map(\.name.description).first(where: { !known.contains($0) }) {
            throw .unknownName(unknown)
        }
        self.value = value
    }

    func texts(_ name: String) throws(ControlError) -> [String] {
        guard let list = value[name] else { return [] }
        let texts = list.elements?.compactMap(\.string)
        guard let texts, texts.count == list.elements?.count else {
            throw .wrongValue(of: name, needed: "a list of texts")
        }
        return texts
    }

    /// Returns the values of a list; none without the member.
    func list(_ name: String) throws(ControlError) -> [JSONValue] {
        guard let list = value[name] else { return [] }
        guard let elements = list.elements else { throw .wrongValue(of: name, needed: "a list") }
        return elements
    }

    func text(_ name: String) throws(ControlError) -> String {
        guard let text = value[name] else { throw .missing(name) }
        guard let text = text.string, !text.isEmpty else { throw .wrongValue(of: name, needed: "a text") }
        return text
    }

    /// Returns nil without the member.
    func optionalText(_ name: String) throws(ControlError) -> String? {
        value[name] == nil ? nil : try text(name)
    }

    /// Returns nil without the member.
    func flag(_ name: String) throws(ControlError) -> Bool? {
        guard let value = value[name] else { return nil }
        guard let flag = value.bool else { throw .wrongValue(of: name, needed: "true or false") }
        return flag
    }

    /// Returns nil without the member.
    func number(_ name: String, in range: ClosedRange<Double>) throws(ControlError) -> Double? {
        guard let value = value[name] else { return nil }
        guard let number = value.number.flatMap({ Double($0.text) }), range.contains(number) else {
            throw .wrongValue(of: name, needed: "a number from \(range.lowerBound) to \(range.upperBound)")
        }
        return number
    }

    /// Returns the app of the members `bundle_id` and `environment`.
    func app() throws(ControlError) -> AppInStore {
        guard let endpoint = Endpoint(rawValue: try text("environment").lowercased()) else {
            throw .wrongValue(of: "environment", needed: "production or sandbox")
        }
        return AppInStore(bundleID: try text("bundle_id"), endpoint: endpoint)
    }

    /// Returns a whole number, written as a number or as a text.
    func integer(_ name: String, in range: ClosedRange<Int64>) throws(ControlError) -> Int64? {
        guard let value = value[name] else { return nil }
        guard let number = value.number?.integer ?? value.string.flatMap({ Int64($0) }), range.contains(number) else {
            throw .wrongValue(of: name, needed: "a whole number from \(range.lowerBound) to \(range.upperBound)")
        }
        return number
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
