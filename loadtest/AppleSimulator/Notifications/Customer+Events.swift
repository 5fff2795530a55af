// SPDX-License-Identifier: Apache-2.0

internal import ReceiptForge

/// An event, and the transaction it is about.
struct AccountChange: Sendable {
    let event: AccountEvent?
    /// A transaction ID, an original transaction ID or an app transaction ID.
    let id: String
    /// True if the ID names a transaction, which may be the first transaction of a subscription.
    let isOfTransaction: Bool
    /// The product to change to, or to buy.
    var productID: String?
}

extension Customer {
    /// Applies an event, and returns the transaction ID that its notification is about.
    ///
    /// From then on the account changes by events and by the Server API's writes alone.
    mutating func apply(
        _ change: AccountChange, _ call: CallContext, _ limits: SimulatorLimits
    ) throws(ControlError) -> String {
        let account = account(call)
        guard !account.isDeleted else { throw .unknownCustomer(change.id) }
        let target = try account.target(of: change)
        guard let event = change.event else { return target.purchase.transactionID }
        if event.addsTransaction {
            changes.addedPurchases += 1
            guard changes.addedPurchases <= limits.maximumAddedPurchases else {
                throw .tooManyPurchases(maximum: limits.maximumAddedPurchases)
            }
        }
        var changed = RecordedAccount(account, in: recorded)
        let now = UTCDate(call.now)
        defer { keep(changed) }
        guard event == .bought else { return changed.apply(event, change, to: target, of: account, at: now) }
        return changed.buy(change.productID ?? app.bundleID + ".coins.500", as: account.nextTransactionID, at: now)
    }
}

extension AccountEvent {
    fileprivate var addsTransaction: Bool {
        switch self {
        case .renewed, .resubscribed, .recovered, .upgraded, .bought: true
        default: false
        }
    }
}

extension SimulatedAccount {
    /// Returns the transaction with the ID, or the newest period of the subscription with it. For an app transaction ID
    /// that is the first subscription, else the newest purchase.
    fileprivate func target(of change: AccountChange) throws(ControlError) -> SimulatedTransaction {
        let named = subscriptions.first { $0.newest.purchase.originalTransactionID == change.id }
        let exact = history.first { $0.purchase.transactionID == change.id }
        if let target = change.isOfTransaction ? exact ?? named?.newest : named?.newest ?? exact { return target }
        guard let target = subscriptions.first?.newest ?? history.max(by: SimulatedTransaction.isOlder) else {
            throw .noPurchase(change.id)
        }
        return target
    }

    /// The ID of a further transaction: 10,000 after the highest ID.
    fileprivate var nextTransactionID: String {
        let highest = history.compactMap { Int64($0.purchase.transactionID) }.max() ?? 0
        return String(highest &+ 10_000)
    }
}

extension RecordedAccount {
    /// Copies an account as it is now.
    /// - Parameter recorded: the recorded answer that the account comes from; nil for none.
    fileprivate init(_ account: SimulatedAccount, in recorded: RecordedAccount?) {
        self.init(
            latest: account.history, inApp: recorded?.inApp ?? [:],
            renewals: account.subscriptions.flatMap(\.renewals), hasLatestReceipt: !account.subscriptions.isEmpty)
    }

    fileprivate mutating func apply(
        _ event: AccountEvent, _ change: AccountChange, to target: SimulatedTransaction, of account: SimulatedAccount,
        at now: UTCDate
    ) -> String {
        let original = target.purchase.originalTransactionID
        let subscription = account.subscriptions.first { $0.newest.purchase.originalTransactionID == original }
        guard let subscription else { return changeItem(target, event, at: now) }
        var changing = ChangingSubscription(
            subscription, now: now, nextID: account.nextTransactionID, productID: change.productID)
        changing.apply(event, toTransaction: target.purchase.transactionID)
        replace(changing)
        return event.isAboutOneTransaction ? target.purchase.transactionID : changing.newest.purchase.transactionID
    }

    private mutating func replace(_ subscription: ChangingSubscription) {
        let ids = Set(subscription.periods.map(\.purchase.transactionID))
        let others = (latest ?? []).filter { !ids.contains($0.purchase.transactionID) }
        latest = subscription.periods + others
        let original = subscription.renewal.originalTransactionID
        renewals = [subscription.renewal] + (renewals ?? []).filter { $0.originalTransactionID != original }
    }

    /// Changes a single item: only refunds apply.
    private mutating func changeItem(_ item: SimulatedTransaction, _ event: AccountEvent, at now: UTCDate) -> String {
        let id = item.purchase.transactionID
        latest = latest?.map { transaction in
            var transaction = transaction
            guard transaction.purchase.transactionID == id else { return transaction }
            switch event {
            case .refunded: transaction.refund(at: now, .other)
            case .refundReversed: transaction.reverseRefund()
            case .familySharingEnded:
                transaction.isFamilyShared = true
                transaction.refund(at: now, .other)
            default: break
            }
            return transaction
        }
        return id
    }

    fileprivate mutating func buy(_ productID: String, as id: String, at now: UTCDate) -> String {
        var purchase = PurchaseContents(productID: productID, transactionID: id, purchaseDate: now)
        purchase.productType = .consumable
        purchase.isInIntroOfferPeriod = nil
        latest = (latest ?? []) + [SimulatedTransaction(purchase)]
        return id
    }
}

extension AccountEvent {
    fileprivate var isAboutOneTransaction: Bool { self == .refunded || self == .refundReversed }
}
