// SPDX-License-Identifier: Apache-2.0

internal import Cryptography
package import Receipts

/// Evidence whose Apple signatures were verified: one or more items of one app and environment.
package struct VerifiedEvidence: Sendable, Redacted {
    /// The items, at least one.
    package private(set) var items: [SignedItem]
    /// The app that the items were signed for; nil if no item names an app.
    package private(set) var bundleID: String?
    /// The environment of the items that name an environment.
    private var namedEnvironment: Environment?
    /// True if an item with purchases does not name its environment.
    private var isEnvironmentOpen: Bool
    /// The time of the oldest signature, after which anything may have changed; nil if an item does not sign its time.
    package private(set) var signingTime: Timestamp?
    /// The time of the newest signature; nil if no item signs its time.
    private(set) var newestSigningTime: Timestamp?
    /// The end of the app's volume licence, which ends every period; nil if no receipt has one.
    let licenceEnd: Timestamp?

    package init(_ item: SignedItem) {
        items = [item]
        bundleID = item.bundleID
        namedEnvironment = item.environment
        isEnvironmentOpen = item.leavesEnvironmentOpen
        signingTime = item.signingTime
        newestSigningTime = signingTime
        licenceEnd = item.receipt?.expirationDate
    }

    /// The environment that the purchases were signed in; nil if any purchase names no environment. Another item cannot
    /// name it for that purchase: transactions of 2021 name no environment, not even in the sandbox.
    package var environment: Environment? { isEnvironmentOpen ? nil : namedEnvironment }

    /// Adds an item. An item without an app or environment goes with any.
    /// - Throws: the rule that forbids the combination.
    package mutating func add(_ item: SignedItem) throws(ReceiptError) {
        if let bundleID, let other = item.bundleID, bundleID != other { throw ReceiptError(.itemsOfDifferentApps) }
        if let namedEnvironment, let other = item.environment, namedEnvironment != other {
            throw ReceiptError(.itemsOfDifferentEnvironments)
        }
        items.append(item)
        bundleID = bundleID ?? item.bundleID
        namedEnvironment = namedEnvironment ?? item.environment
        isEnvironmentOpen = isEnvironmentOpen || item.leavesEnvironmentOpen
        let time = item.signingTime
        signingTime = signingTime.flatMap { oldest in time.map { min(oldest, $0) } }
        newestSigningTime = [newestSigningTime, time].compactMap(\.self).max()
    }

    package var receipt: VerifiedReceipt? { items.first?.receipt }

    package var transactionReceipt: VerifiedTransactionReceipt? { items.first?.transactionReceipt }

    /// The bytes of the receipt, for Apple's `verifyReceipt`; nil for other evidence.
    package var receiptBytes: [UInt8]? { receipt?.bytes ?? transactionReceipt?.bytes }

    package var appTransaction: VerifiedAppTransaction? { items.lazy.compactMap(\.appTransaction).first }

    /// The transactions of all items, in the order of the items. Of several states of one transaction, the newest
    /// counts. Computed on each call.
    package var transactions: TransactionList {
        items.count == 1
            ? items[0].transactions
            : TransactionList(newest(\.transactions.values, by: \.transactionID) { $0.cancellationDate != nil })
    }

    /// The plans of all items. Of several states of one plan, the newest counts.
    package var renewals: [Renewal] {
        items.count == 1 ? items[0].renewals : newest(\.renewals, by: \.originalTransactionID) { _ in false }
    }

    /// Returns the newest value of each ID, in the order of the items.
    /// - Parameter isFinal: returns true for a value that counts before another value of the same time.
    private func newest<Value>(
        _ values: (SignedItem) -> [Value], by id: (Value) -> String, isFinal: (Value) -> Bool
    ) -> [Value] {
        var order: [String] = []
        var newest: [String: (value: Value, signingTime: Timestamp)] = [:]
        for item in items {
            guard let signingTime = item.signingTime else { continue }
            for value in values(item) {
                let known = newest[id(value)]
                if known == nil { order.append(id(value)) }
                let isNewer = known.map { known in
                    known.signingTime < signingTime || (known.signingTime == signingTime && isFinal(value))
                }
                if isNewer ?? true { newest[id(value)] = (value, signingTime) }
            }
        }
        return order.compactMap { newest[$0]?.value }
    }

    /// The identity of a single item, or SHA-256 of the sorted identities of several: their order does not matter.
    package var identity: Fingerprint {
        guard items.count > 1 else { return items[0].identity }
        let identities = items.map(\.identity.description).sorted().joined()
        return Fingerprint(of: Array(identities.utf8).span)
    }

    var byteCount: Int { items.reduce(0) { $0 + $1.byteCount } }

    package var description: String { "VerifiedEvidence(\(items.count) items)" }
}
