// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import Entitlements
package import Gateway
internal import Receipts

/// The order of the signed states of one transaction or plan. The later one counts, in whatever order they arrive.
package struct SignedStateOrder: Comparable, Hashable, Sendable {
    /// Milliseconds since 1970.
    private let signedDate: Int64
    /// Of two states of one millisecond, the one that ends an entitlement counts.
    private let isFinal: Bool
    /// Any order that is the same on all nodes, for what is left.
    private let tieBreaker: UInt32

    /// - Parameter tieBreaker: a number that depends on the item's contents.
    package init(_ item: SignedStateItem, tieBreaker: UInt32) {
        signedDate = min(max(0, item.signedDate.millisecondsSince1970), Self.maximumDate)
        isFinal = item.isFinal
        self.tieBreaker = tieBreaker
    }

    package static func < (one: Self, other: Self) -> Bool {
        (one.signedDate, one.isFinal ? 1 : 0, one.tieBreaker)
            < (other.signedDate, other.isFinal ? 1 : 0, other.tieBreaker)
    }

    /// The order as digits of fixed number: texts compare as their orders do, in every locale.
    package var text: String {
        padded(String(signedDate), 15) + (isFinal ? "1" : "0") + padded(String(tieBreaker), 10)
    }

    /// The length of `text`.
    package static let textBytes = 26

    private func padded(_ digits: String, _ count: Int) -> String {
        String(repeating: "0", count: count - digits.utf8.count) + digits
    }

    /// 15 digits, which are enough for 30,000 years.
    private static let maximumDate: Int64 = 999_999_999_999_999
}

extension SignedStateItem {
    fileprivate var isFinal: Bool {
        switch self {
        case .transaction(let transaction): transaction.cancellationDate != nil || transaction.isUpgraded
        case .renewal: false
        }
    }
}

extension CustomerState {
    package enum Limits {
        /// The transactions of a chain whose state is kept, those signed last. A change of an older one, such as a refund,
        /// makes it one of them.
        package static let transactions = 32
    }

    /// Creates the newest state of these.
    package init(_ items: [SignedStateItem]) {
        self.init()
        _ = merge(items)
    }

    /// Adds signed states; each replaces an older one of its transaction or plan.
    /// - Returns: true if any did.
    mutating func merge(_ items: [SignedStateItem]) -> Bool {
        let before = self
        for item in items { merge(item) }
        transactions.sort { Self.order(.transaction($1)) < Self.order(.transaction($0)) }
        transactions = Array(transactions.prefix(Limits.transactions))
        return self != before
    }

    private mutating func merge(_ item: SignedStateItem) {
        switch item {
        case .transaction(let new):
            guard let index = transactions.firstIndex(where: { $0.transactionID == new.transactionID }) else {
                transactions.append(new)
                return
            }
            if Self.order(.transaction(transactions[index])) < Self.order(item) { transactions[index] = new }
        case .renewal(let new):
            guard let known = renewals.first else {
                renewals = [new]
                return
            }
            if Self.order(.renewal(known)) < Self.order(item) { renewals = [new] }
        }
    }

    private static func order(_ item: SignedStateItem) -> SignedStateOrder {
        SignedStateOrder(item, tieBreaker: UInt32(truncatingIfNeeded: item.hashValue))
    }
}
