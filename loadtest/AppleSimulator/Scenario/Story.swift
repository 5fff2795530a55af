// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// Apple's knowledge of a purchase beyond the receipt.
///
/// A story that needs an ended subscription begins when the receipt's last period ends; until then the subscription is
/// as in the receipt.
enum Story: Hashable, Sendable {
    /// Nothing new: ended subscriptions were cancelled by their customers.
    case asInReceipt
    /// There are newer periods; one of them runs now.
    case renewed
    /// A period runs now, and will not be renewed.
    case willNotRenew
    /// The last period ended a day before the scenario began. Apple retries the payment, and the customer keeps access.
    case inGracePeriod
    /// The last period ended twenty days before the scenario began; Apple still retries the payment.
    case inBillingRetry
    /// Ended, for reason 1 (cancelled), 2 (billing), 3 (price increase), 4 (product withdrawn) or 5 (other).
    case expired(intent: Int)
    /// Apple refunded the last period; reason 1 is an issue with the app, 0 another one.
    case refunded(reason: Int)
    /// The customer upgraded an hour before the scenario began.
    case upgraded(to: String?)
    /// The customer cancelled, and bought another product of the group after the receipt's last period. That one ended
    /// a day before the scenario began; Apple retries the payment, and the customer keeps access. Each product has a
    /// renewal, both of the same original transaction. Requires a period that ended more than a day before the scenario
    /// began.
    case switched(to: String?)
    /// Bought by another member of the family.
    case familyShared
    /// A period runs now, and the customer has not yet agreed to the next one's price.
    case priceIncrease
    /// The last period was bought with this offer code.
    case offerCode(String)
    /// The app was bought in volume: the latest receipt's type says so, and it has an expiration date.
    case volumePurchase
    /// The answer has the form of answers to iOS 6 style receipts.
    case ios6Style
}

/// The stories by purchase.
struct Stories: Hashable, Sendable {
    /// A story for some purchases.
    struct Rule: Hashable, Sendable {
        let condition: Condition
        let story: Story
    }

    /// The purchases that a rule applies to.
    enum Condition: Hashable, Sendable {
        /// Subscriptions whose newest product, and items whose product, ends with this.
        case productIDSuffix(String)
        /// The purchases with these original transaction IDs.
        case originalTransactionIDs(Set<String>)
    }

    /// The story of purchases without a rule.
    var fallback = Story.asInReceipt
    /// The rules; the first that applies decides.
    var rules: [Rule] = []

    func story(ofOriginalTransactionID original: String, productID: String) -> Story {
        rules.first { $0.condition.holds(forOriginalTransactionID: original, productID: productID) }?.story ?? fallback
    }
}

extension Stories.Condition {
    fileprivate func holds(forOriginalTransactionID original: String, productID: String) -> Bool {
        switch self {
        case .productIDSuffix(let suffix): productID.hasSuffix(suffix)
        case .originalTransactionIDs(let originals): originals.contains(original)
        }
    }
}
