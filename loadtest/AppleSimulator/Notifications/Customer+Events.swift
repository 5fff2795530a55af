// SPDX-License-Identifier: Apache-2.0

internal import ReceiptForge

extension Customer {
    /// Applies the change that a notification announces, and returns the transaction ID that the notification is about.
    ///
    /// From then on the account changes by notifications and by the Server API's writes alone.
    ///
    /// - Parameter id: a transaction ID, an original transaction ID or an app transaction ID.
    mutating func apply(
        _ request: NotificationRequest, toID id: String, _ call: CallContext, _ limits: SimulatorLimits
    ) throws(ControlError) -> String {
        let (account, kind) = (account(call), request.kind)
        guard !account.isDeleted else { throw .unknownCustomer(id) }
        let target = try account.target(id, of: request.subject)
        guard kind.changesAccount else { return target.purchase.transactionID }
        if kind.addsTransaction {
            changes.addedPurchases += 1
            guard changes.addedPurchases <= limits.maximumAddedPurchases else {
                throw .tooManyPurchases(maximum: limits.maximumAddedPurchases)
            }
        }
        let now = UTCDate(call.now)
        var changed = RecordedAccount(account, in: recorded)
        defer { keep(changed) }
        guard kind.isPurchase else { return changed.apply(request, to: target, of: account, at: now) }
        let productID = request.productID ?? app.bundleID + ".coins.500"
        return changed.buy(productID, as: account.nextTransactionID, at: now)
    }
}

extension SimulatedAccount {
    /// Returns the transaction with the ID, or the newest period of the subscription with it. For an app transaction ID
    /// that is the first subscription, else the newest purchase.
    fileprivate func target(
        _ id: String, of subject: NotificationRequest.Subject
    ) throws(ControlError) -> SimulatedTransaction {
        let newest = subscription(id)?.newest
        let exact = history.first { $0.purchase.transactionID == id }
        if let target = subject == .transaction(id) ? exact ?? newest : newest ?? exact { return target }
        guard let target = subscriptions.first?.newest ?? history.max(by: SimulatedTransaction.isOlder) else {
            throw .noPurchase(id)
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
        _ request: NotificationRequest, to target: SimulatedTransaction, of account: SimulatedAccount, at now: UTCDate
    ) -> String {
        let id = target.purchase.transactionID
        guard var subscription = account.subscription(target.purchase.originalTransactionID) else {
            changeItem(id, request.kind, at: now)
            return id
        }
        subscription.apply(
            request.kind, toTransaction: id, nextID: account.nextTransactionID, productID: request.productID)
        replace(subscription)
        return request.kind.isAboutOneTransaction ? id : subscription.newest.purchase.transactionID
    }

    private mutating func replace(_ subscription: SimulatedSubscription) {
        let ids = Set(subscription.periods.map(\.purchase.transactionID))
        let others = (latest ?? []).filter { !ids.contains($0.purchase.transactionID) }
        latest = subscription.periods + others
        let original = subscription.renewal.originalTransactionID
        renewals = [subscription.renewal] + (renewals ?? []).filter { $0.originalTransactionID != original }
    }

    /// Changes a single item: only refunds apply.
    private mutating func changeItem(_ id: String, _ kind: NotificationKind, at now: UTCDate) {
        guard let index = latest?.firstIndex(where: { $0.purchase.transactionID == id }) else { return }
        switch kind.type {
        case "REFUND": latest?[index].refund(at: now, .other)
        case "REFUND_REVERSED": latest?[index].reverseRefund()
        case "REVOKE":
            latest?[index].isFamilyShared = true
            latest?[index].refund(at: now, .other)
        default: break
        }
    }

    fileprivate mutating func buy(_ productID: String, as id: String, at now: UTCDate) -> String {
        let purchase = PurchaseContents(.consumable, productID: productID, transactionID: id, purchaseDate: now)
        latest = (latest ?? []) + [SimulatedTransaction(purchase)]
        return id
    }
}
