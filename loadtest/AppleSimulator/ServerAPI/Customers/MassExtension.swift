// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import ReceiptForge

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
        return extend(period, bySeconds: rule.seconds, at: rule.date)
    }

    /// Extends a period, at most twice in a year.
    mutating func extend(_ period: SimulatedTransaction, bySeconds seconds: Int64, at date: UTCDate) -> Bool {
        changes.extend(period, bySeconds: seconds, at: date)
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
