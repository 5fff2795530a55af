// SPDX-License-Identifier: Apache-2.0

internal import ReceiptForge

/// An account that is exactly as a recorded answer of verifyReceipt has it: no story, and no renewal since.
struct RecordedAccount: Hashable, Sendable {
    /// The parts of an answer to a transaction receipt (iOS 6).
    struct IOS6: Hashable, Sendable {
        /// True for an expired subscription: status 21006.
        let isOver: Bool
        /// The fields of `latest_receipt_info` or `latest_expired_receipt_info`; nil without either.
        var latest: TransactionReceiptContents?
    }

    /// The elements of `latest_receipt_info`, which may repeat a transaction; nil without the member.
    var latest: [SimulatedTransaction]?
    /// The elements of `in_app` by transaction ID, or the one purchase of a transaction receipt.
    var inApp: [String: SimulatedTransaction]
    /// The elements of `pending_renewal_info`; nil without the member.
    var renewals: [SimulatedRenewal]?
    var hasLatestReceipt: Bool
    /// The parts of an answer to a transaction receipt; nil for an app receipt.
    var ios6: IOS6?
}

extension RecordedAccount {
    /// All transactions of both lists, each once.
    ///
    /// Of two elements about one transaction, the element with an end counts: an end makes it a period of a
    /// subscription.
    var transactions: [SimulatedTransaction] {
        let all = (latest ?? []) + inApp.values.sorted(by: SimulatedTransaction.isOlder)
        let known = Dictionary(all.map { ($0.purchase.transactionID, $0) }) { first, other in
            !first.purchase.isSubscription && other.purchase.isSubscription ? other : first
        }
        let groups = Dictionary(all.compactMap(\.chainAndGroup)) { first, _ in first }
        return known.values.sorted(by: SimulatedTransaction.isOlder).map { transaction in
            var transaction = transaction
            transaction.recordedGroup = groups[transaction.purchase.originalTransactionID]
            return transaction
        }
    }

    /// The transaction IDs and original transaction IDs of all transactions.
    var ids: [String] { transactions.flatMap { [$0.purchase.originalTransactionID, $0.purchase.transactionID] } }

    /// Returns the elements of `latest_receipt_info`; with `excludingOld`, only the newest of each subscription.
    func listed(excludingOld: Bool) -> [SimulatedTransaction]? {
        let listed = latest?.filter { !$0.isFinished }
        return excludingOld ? listed.map(Self.withoutOld) : listed
    }

    private static func withoutOld(_ listed: [SimulatedTransaction]) -> [SimulatedTransaction] {
        let periods = listed.filter(\.purchase.isSubscription)
        let chains = Dictionary(grouping: periods, by: \.purchase.originalTransactionID)
        let newest = chains.compactMapValues { $0.max(by: SimulatedTransaction.isEarlierPeriod) }
        return listed.filter { transaction in
            newest[transaction.purchase.originalTransactionID].map { $0 == transaction } ?? true
        }
    }

    func withPurchases(_ isIncluded: (PurchaseContents) -> Bool) -> RecordedAccount {
        var account = self
        account.latest = latest?.filter { isIncluded($0.purchase) }
        account.inApp = inApp.filter { isIncluded($0.value.purchase) }
        return account
    }

    /// Returns the account with the effects of the Server API's writes.
    func changed(by changes: CustomerChanges) -> RecordedAccount {
        var account = self
        account.latest = latest?.map { $0.extended(by: changes.extensions).marked(by: changes) }
        account.inApp = inApp.mapValues { $0.extended(by: changes.extensions).marked(by: changes) }
        if let period = ios6?.latest?.purchase {
            account.ios6?.latest?.purchase = SimulatedTransaction(period).extended(by: changes.extensions).purchase
        }
        return account
    }
}

extension SimulatedTransaction {
    /// The original transaction ID with the recorded group; nil without a group. The lists do not both have it.
    fileprivate var chainAndGroup: (String, String)? { recordedGroup.map { (purchase.originalTransactionID, $0) } }

    /// Returns true if the other period of the subscription is newer. Of two periods that were bought in the same
    /// second, as in some lists of Apple's, the period with the later end is newer.
    static func isEarlierPeriod(_ one: SimulatedTransaction, than other: SimulatedTransaction) -> Bool {
        one.periodOrder < other.periodOrder
    }

    private var periodOrder: (Int64, Int64, String) {
        (purchase.purchaseDate.secondsSince1970, purchase.end.secondsSince1970, purchase.transactionID)
    }
}
