// SPDX-License-Identifier: Apache-2.0

internal import Gateway
internal import JSON
internal import Receipts

// Apple writes most numbers and flags as strings, some as numbers, and changed this over the years. These functions
// accept a scalar in all known forms.

extension JSONValue {
    /// A string, or a number as it is written.
    var scalarText: String? {
        switch content {
        case .string(let text): text.string
        case .number(let number): number.text
        case .object, .array, .bool, .null: nil
        }
    }

    /// An integer, or a string that is one.
    var scalarInteger: Int64? {
        switch content {
        case .number(let number): number.integer
        case .string(let text): text.string.flatMap { $0.utf8.first == UInt8(ascii: "+") ? nil : Int64($0) }
        case .object, .array, .bool, .null: nil
        }
    }

    /// `true`, 1, `"true"`, `"1"` and their opposites.
    var scalarFlag: Bool? {
        if let bool { return bool }
        return switch scalarText {
        case "true", "1": true
        case "false", "0": false
        default: nil
        }
    }

    /// A date in any of the three forms; iOS 6 style answers have milliseconds under the plain name.
    var scalarDate: Timestamp? {
        scalarText.flatMap { AppleDate($0) }?.timestamp
    }

    /// True for `null` and the empty string, which count as an absent member.
    var isAbsent: Bool { type == .null || isEmptyString }
}

/// Parses the members that decide about entitlements, and throws if a member is unreadable. An expiry date that is
/// skipped would make a subscription endless; a cancellation date, uncancelled. In a list, the element is left out.
struct EntitlementMembers {
    let json: JSONValue
    let path: String

    func value<Value>(
        _ name: StaticString, suffix: StaticString = "", _ read: (JSONValue) -> Value?
    ) throws(AppStoreFault) -> Value? {
        guard let value = json[name, suffix: suffix], !value.isAbsent else { return nil }
        guard let result = read(value) else { throw .unreadable("\(path)\(name)\(suffix)") }
        return result
    }

    func text(_ name: StaticString) throws(AppStoreFault) -> String {
        guard let text = try value(name, \.scalarText) else { throw .missing("\(path)\(name)") }
        return text
    }

    /// Returns a date: its milliseconds if present, else its best other form. Nil in the year 0, as in a receipt.
    func date(_ name: StaticString) throws(AppStoreFault) -> Timestamp? {
        if let date = try value(name, suffix: "_ms", \.scalarInteger) {
            return Timestamp(millisecondsSince1970: date).unlessYearZero
        }
        for suffix in Self.dateSuffixes {
            if let date = try value(name, suffix: suffix, \.scalarDate) { return date.unlessYearZero }
        }
        return nil
    }

    private static let dateSuffixes: [StaticString] = ["", "_formatted", "_pst", "_formatted_pst"]

    /// Returns the elements of a list, or the single object of an iOS 6 style answer.
    func elements(_ name: StaticString) throws(AppStoreFault) -> [JSONValue] {
        guard let value = json[name], !value.isAbsent else { return [] }
        if value.type == .object { return [value] }
        guard let elements = value.elements else { throw .unreadable("\(path)\(name)") }
        return elements
    }

    /// Returns what is read of the elements of a list.
    /// - Parameter unreadable: receives the elements that cannot be read.
    func readable<Value>(
        _ elements: [JSONValue], _ unreadable: inout [UnreadableItem],
        _ read: (JSONValue) throws(AppStoreFault) -> Value
    ) -> [Value] {
        var values: [Value] = []
        for element in elements {
            do throws(AppStoreFault) {
                values.append(try read(element))
            } catch {
                unreadable.append(UnreadableItem(element, error))
            }
        }
        return values
    }

    func transactions(_ name: StaticString, _ unreadable: inout [UnreadableItem]) throws(AppStoreFault) -> [Transaction]
    {
        readable(try elements(name), &unreadable) { object throws(AppStoreFault) in
            try Transaction(object, path: "\(path)\(name).")
        }
    }
}

extension UnreadableItem {
    fileprivate init(_ element: JSONValue, _ fault: AppStoreFault) {
        self.init(
            transactionID: element["transaction_id"]?.scalarText,
            originalTransactionID: element["original_transaction_id"]?.scalarText,
            productID: element["product_id"]?.scalarText,
            isRevoked: ["cancellation_date", "cancellation_date_ms"].contains {
                element[$0].map { !$0.isAbsent } ?? false
            },
            fault: fault.memberDescription)
    }
}

extension AppStoreFault {
    /// The member that is missing or unreadable.
    fileprivate var memberDescription: String {
        switch self {
        case .missing(let name): "missing " + name
        case .unreadable(let name): "unreadable " + name
        default: label
        }
    }
}

extension Transaction {
    /// Parses an element of `in_app` or `latest_receipt_info`, or an iOS 6 style receipt as a whole.
    /// - Parameter path: the object's name, for faults.
    init(_ json: JSONValue, path: String) throws(AppStoreFault) {
        self.init(productID: "", transactionID: "")
        var reader = TransactionReader(members: EntitlementMembers(json: json, path: path))
        try visitFields(with: &reader)
    }
}

/// Reads the members of a transaction. An unreadable member is nil, unless it decides about entitlements.
private struct TransactionReader: FieldVisitor {
    let members: EntitlementMembers

    private static let deciding: [StaticString] = [
        "product_id", "transaction_id", "original_transaction_id", "purchase_date", "expires_date",
        "cancellation_date", "is_upgraded",
    ]

    private static func decides(_ name: StaticString) -> Bool { deciding.contains { $0.bytes.equals(name.bytes) } }

    private func read<Value>(_ name: StaticString, _ read: (JSONValue) -> Value?) throws(AppStoreFault) -> Value? {
        Self.decides(name) ? try members.value(name, read) : members.json[name].flatMap(read)
    }

    func text(_ name: StaticString, _ value: inout String?) throws(AppStoreFault) {
        value = try read(name, \.scalarText)
    }
    func count(_ name: StaticString, _ value: inout Int64?) throws(AppStoreFault) {
        value = try read(name, \.scalarInteger)
    }
    func code(_ name: StaticString, _ value: inout Int64?) throws(AppStoreFault) {
        value = try read(name, \.scalarInteger)
    }
    func flag(_ name: StaticString, _ value: inout Bool?) throws(AppStoreFault) { value = try read(name, \.scalarFlag) }

    func date(_ name: StaticString, _ value: inout Timestamp?) throws(AppStoreFault) {
        value = if Self.decides(name) { try members.date(name) } else { try? members.date(name) }
    }

    /// Does nothing: Apple's answer has no such lists.
    func texts(_ name: StaticString, _ value: inout [String]?) throws(AppStoreFault) {}

    /// Does nothing: Apple's answer has no such objects.
    func object(_ name: StaticString, _ value: inout [UInt8]?) throws(AppStoreFault) {}

    func invalid(_ name: StaticString) throws(AppStoreFault) {
        if Self.decides(name) { throw .missing("\(members.path)\(name)") }
    }
}

extension Renewal {
    /// Parses an element of `pending_renewal_info`, or members of an iOS 6 style answer; nil without a subscription.
    /// - Parameters:
    ///   - path: the object's name, for faults.
    ///   - subscription: the original transaction ID if the object has none: iOS 6 style answers are about one
    ///     subscription.
    init?(_ json: JSONValue, path: String, of subscription: String?) throws(AppStoreFault) {
        let members = EntitlementMembers(json: json, path: path)
        let id = try members.value("original_transaction_id", \.scalarText) ?? subscription
        let gracePeriodEnd = try members.date("grace_period_expires_date")
        let isInBillingRetry = try members.value("is_in_billing_retry_period", \.scalarFlag)
        guard let id else { return nil }
        self.init(originalTransactionID: id)
        gracePeriodExpiresDate = gracePeriodEnd
        self.isInBillingRetry = isInBillingRetry
        productID = json["product_id"]?.scalarText
        renewalProductID = json["auto_renew_product_id"]?.scalarText
        willRenew = json["auto_renew_status"]?.scalarFlag
        expirationIntent = json["expiration_intent"]?.scalarInteger.flatMap(ExpirationIntent.init(code:))
        let consent = json["price_consent_status"]?.scalarFlag, increase = json["price_increase_status"]?.scalarFlag
        priceConsent =
            consent.map { $0 ? .given : .pending } ?? increase.map { $0 ? .givenOrNotNeeded : .pending }
        promotionalOfferID = json["promotional_offer_id"]?.scalarText
        offerCodeName = json["offer_code_ref_name"]?.scalarText
    }
}
