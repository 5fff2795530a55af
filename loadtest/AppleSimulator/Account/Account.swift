// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import ReceiptForge

/// Apple's knowledge of the customer a receipt belongs to.
struct Account: Hashable, Sendable {
    let subscriptions: [Subscription]
    /// All other purchases.
    let items: [Transaction]
    /// True if the app itself was bought in volume.
    let isVolumePurchase: Bool
    /// True if answers have the form of answers to iOS 6 style receipts.
    let isIOS6Style: Bool
    /// True if the customer deleted the account.
    let isDeleted: Bool
    private let receipt: ReceiptContents

    /// - Parameters:
    ///   - changes: the effects of the Server API's writes.
    ///   - start: the beginning of the scenario.
    init(
        _ receipt: ReceiptContents, changes: CustomerChanges = CustomerChanges(), stories: Stories, start: UTCDate,
        now: UTCDate
    ) {
        let chains = Dictionary(grouping: receipt.purchases.filter(\.isSubscription), by: \.originalTransactionID)
        let told = chains.sorted { $0.key < $1.key }.map { original, periods in
            let newest = periods.max { $0.purchaseDate < $1.purchaseDate }?.productID ?? ""
            let story = stories.story(ofOriginalTransactionID: original, productID: newest)
            var subscription = Subscription(
                periods, story: story, extensions: changes.extensions, start: start, now: now)
            subscription.mark(changes)
            return (story: story, subscription: subscription)
        }
        let items = receipt.purchases.filter { !$0.isSubscription }.map { purchase in
            let story = stories.story(
                ofOriginalTransactionID: purchase.originalTransactionID, productID: purchase.productID)
            return (story: story, item: Transaction(purchase, story: story, start: start).marked(by: changes))
        }
        let heard = told.map(\.story) + items.map(\.story)
        subscriptions = told.map(\.subscription)
        self.items = items.map(\.item)
        isVolumePurchase = told.contains { $0.story == .volumePurchase }
        isIOS6Style = told.contains { $0.story == .ios6Style }
        isDeleted = heard.contains(.accountDeleted)
        self.receipt = receipt
    }

    /// All transactions, finished consumables included.
    var history: [Transaction] { subscriptions.flatMap(\.periods) + items }

    /// Returns all transactions but finished consumables; with `excludingOld`, only the newest of each subscription.
    func transactions(excludingOld: Bool) -> [Transaction] {
        subscriptions.flatMap { excludingOld ? [$0.newest] : $0.periods } + items.filter { !$0.isFinished }
    }

    func purchase(_ transactionID: String) -> PurchaseContents? {
        transactions(excludingOld: false).first { $0.purchase.transactionID == transactionID }?.purchase
    }

    /// Returns the receipt that the customer's device would get now.
    func receipt(issuedAt date: UTCDate) -> ReceiptContents {
        var latest = receipt
        latest.creationDate = date
        latest.purchases = transactions(excludingOld: false).map(\.purchase)
        if isVolumePurchase {
            latest.receiptType = latest.receiptType.hasSuffix("Sandbox") ? "ProductionVPPSandbox" : "ProductionVPP"
            latest.expirationDate = date.advanced(byDays: 365)
        }
        return latest
    }
}

extension PurchaseContents {
    /// True for auto-renewable subscriptions, which alone have an expiry date in a receipt.
    var isSubscription: Bool { expiresDate != nil }
}

extension Transaction {
    /// Creates a single item; refunds, family sharing and offer codes apply to it too.
    fileprivate init(_ purchase: PurchaseContents, story: Story, start: UTCDate) {
        self.init(purchase)
        switch story {
        case .refunded(let reason): refund(at: start.advanced(bySeconds: -3600), reason)
        case .familyShared: isFamilyShared = true
        case .offerCode(let name): offerCode = name
        default: break
        }
    }
}

/// A purchase or renewal as Apple knows it: the receipt's data, and the server's.
struct Transaction: Hashable, Sendable {
    var purchase: PurchaseContents
    /// True if an upgrade replaced it.
    var isUpgraded = false
    /// True if another family member bought it.
    var isFamilyShared = false
    var offerCode: String?
    /// The UUID by which the app knows the customer.
    var appAccountToken: String?
    /// True for a consumable that the app delivered and finished.
    var isFinished = false

    init(_ purchase: PurchaseContents) {
        self.purchase = purchase
    }

    /// The group of the product; nil for single items. Every app has one group.
    var subscriptionGroup: String? { purchase.isSubscription ? "20000001" : nil }

    /// Returns the transaction with the effects of the Server API's writes, except for extensions.
    func marked(by changes: CustomerChanges) -> Transaction {
        var transaction = self
        transaction.appAccountToken = changes.appAccountTokens[purchase.originalTransactionID]
        transaction.isFinished = changes.finished.contains(purchase.transactionID)
        if changes.familyShared.contains(purchase.originalTransactionID) { transaction.isFamilyShared = true }
        return transaction
    }

    /// Marks it as refunded at a date, or at its purchase if that was later.
    mutating func refund(at date: UTCDate, _ reason: PurchaseContents.CancellationReason) {
        purchase.cancellationDate = max(date, purchase.purchaseDate)
        purchase.cancellationReason = reason
    }
}
