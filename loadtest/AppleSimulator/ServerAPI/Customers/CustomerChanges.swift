// SPDX-License-Identifier: Apache-2.0

internal import ReceiptForge
internal import Receipts

/// The effects of the Server API's writes on a customer, and of evidence that is no receipt.
struct CustomerChanges: Hashable, Sendable {
    /// UUIDs by original transaction ID.
    var appAccountTokens: [String: String] = [:]
    /// Seconds added to periods, by transaction ID.
    var extensions: [String: Int64] = [:]
    /// The dates of the extensions, by original transaction ID.
    var extensionDates: [String: [UTCDate]] = [:]
    /// The transaction IDs of finished consumables.
    var finished: Set<String> = []
    /// The original transaction IDs of purchases by another family member.
    var familyShared: Set<String> = []
    /// The number of purchases and renewals that notifications announced.
    var addedPurchases = 0
    /// The signing date of the last notification.
    private var notifiedAt: Timestamp?
}

extension CustomerChanges {
    /// Returns the signing date of the next notification: later than the last notification's date.
    mutating func dateNotification(at now: Timestamp) -> Timestamp {
        let date = notifiedAt.map { max(now, $0.advanced(by: .milliseconds(1))) } ?? now
        notifiedAt = date
        return date
    }
}

/// The order in which a customer's transactions changed. A revision names a place in it.
struct TransactionLog: Hashable, Sendable {
    private struct Entry: Hashable, Sendable {
        let claims: Fingerprint
        let number: Int64
    }

    private var entries: [String: Entry] = [:]
    /// The number of the last change.
    private(set) var last: Int64 = 0

    /// Gives a new number to each transaction whose claims are new or other than before, in the order of the list.
    mutating func note(_ transactions: [(id: String, claims: Fingerprint)]) {
        for (id, claims) in transactions where entries[id]?.claims != claims {
            last += 1
            entries[id] = Entry(claims: claims, number: last)
        }
    }

    /// Returns the number of a transaction's last change.
    func number(of id: String) -> Int64 { entries[id]?.number ?? 0 }
}

/// An extension of all running subscriptions of a product.
struct MassExtension: Hashable, Sendable {
    let app: AppInStore
    let productID: String
    let seconds: Int64
    let date: UTCDate
}

extension Customer {
    /// The most extensions of a subscription in a year.
    static let maximumExtensions = 2

    /// Extends the subscription of the rule's product. Returns false if it may not be extended, and nil if the customer
    /// has no running subscription.
    @discardableResult
    mutating func extend(_ rule: MassExtension, _ call: CallContext) -> Bool? {
        let running = account(call).subscriptions.first { subscription in
            subscription.newest.purchase.productID == rule.productID && subscription.isRunning(at: rule.date)
        }
        guard let period = running?.newest else { return nil }
        return changes.extend(period, bySeconds: rule.seconds, at: rule.date)
    }
}

extension CustomerChanges {
    /// Extends a period, at most twice in a year.
    mutating func extend(_ period: SimulatedTransaction, bySeconds seconds: Int64, at date: UTCDate) -> Bool {
        let original = period.purchase.originalTransactionID
        guard !hasMostExtensions(original, at: date) else { return false }
        extensions[period.purchase.transactionID, default: 0] += seconds
        extensionDates[original, default: []].append(date)
        return true
    }

    /// Returns true if a subscription was extended twice in the year before a date.
    func hasMostExtensions(_ original: String, at date: UTCDate) -> Bool {
        let recent = (extensionDates[original] ?? []).filter { $0 > date.advanced(byDays: -365) }
        return recent.count >= Customer.maximumExtensions
    }
}
