// SPDX-License-Identifier: Apache-2.0

internal import ReceiptForge

/// Apple's knowledge of the customer a receipt belongs to.
struct SimulatedAccount: Hashable, Sendable {
    let subscriptions: [SimulatedSubscription]
    /// All other purchases.
    let items: [SimulatedTransaction]
    /// True if the app itself was bought in volume.
    let isVolumePurchase: Bool
    /// True if answers have the form of answers to iOS 6 style receipts.
    let isIOS6Style: Bool
    /// True if the customer deleted the account.
    let isDeleted: Bool
    private let receipt: ReceiptContents
    /// The recorded answer that has the whole account; nil if receipts and stories make it.
    let recorded: RecordedAccount?

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
            var subscription = SimulatedSubscription(
                periods, story: story, extensions: changes.extensions, start: start, now: now)
            subscription.periods = subscription.periods.map { $0.marked(by: changes) }
            return (story: story, subscription: subscription)
        }
        let items = receipt.purchases.filter { !$0.isSubscription }.map { purchase in
            let story = stories.story(
                ofOriginalTransactionID: purchase.originalTransactionID, productID: purchase.productID)
            return (story: story, item: SimulatedTransaction(purchase, story: story, start: start).marked(by: changes))
        }
        let heard = told.map(\.story) + items.map(\.story)
        subscriptions = told.map(\.subscription)
        self.items = items.map(\.item)
        isVolumePurchase = told.contains { $0.story == .volumePurchase }
        isIOS6Style = told.contains { $0.story == .ios6Style }
        isDeleted = heard.contains(.accountDeleted)
        self.receipt = receipt
        recorded = nil
    }

    /// Creates an account as a recorded answer has it, without a story.
    init(_ recorded: RecordedAccount, receipt: ReceiptContents, changes: CustomerChanges, now: UTCDate) {
        let recorded = recorded.changed(by: changes)
        let transactions = recorded.transactions
        let chains = Dictionary(grouping: transactions, by: \.purchase.originalTransactionID)
        subscriptions = chains.sorted { $0.key < $1.key }.compactMap { original, transactions in
            let periods = transactions.filter(\.purchase.isSubscription)
            let renewals = (recorded.renewals ?? []).filter { $0.originalTransactionID == original }
            return periods.isEmpty ? nil : SimulatedSubscription(recorded: periods, renewals: renewals, now: now)
        }
        items = transactions.filter { !$0.purchase.isSubscription }
        (isVolumePurchase, isIOS6Style, isDeleted) = (false, false, false)
        self.receipt = receipt
        self.recorded = recorded
    }

    /// All transactions, finished consumables included.
    var history: [SimulatedTransaction] { subscriptions.flatMap(\.periods) + items }

    /// Returns all transactions but finished consumables; with `excludingOld`, only the newest of each subscription.
    func transactions(excludingOld: Bool) -> [SimulatedTransaction] {
        subscriptions.flatMap { excludingOld ? [$0.newest] : $0.periods } + items.filter { !$0.isFinished }
    }

    /// Returns the subscription with an original transaction ID.
    func subscription(_ originalID: String?) -> SimulatedSubscription? {
        subscriptions.first { $0.newest.purchase.originalTransactionID == originalID }
    }

    /// The ownership by transaction ID. Since 2021 Apple names it in `in_app`, too, although receipts do not have it.
    var ownershipTypes: [String: String] {
        Dictionary(history.map { ($0.purchase.transactionID, $0.ownershipType) }) { first, _ in first }
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

extension SimulatedAccount {
    /// The elements of `pending_renewal_info`; nil if a recorded answer does not have the member.
    var renewals: [SimulatedRenewal]? {
        guard let recorded else { return subscriptions.flatMap(\.renewals) }
        return recorded.renewals
    }

    /// Returns the elements of `latest_receipt_info`; nil if a recorded answer does not have the member.
    func listed(excludingOld: Bool) -> [SimulatedTransaction]? {
        guard let recorded else { return transactions(excludingOld: excludingOld) }
        return recorded.listed(excludingOld: excludingOld)
    }
}

extension PurchaseContents {
    /// True for auto-renewable subscriptions, which alone have an expiry date in a receipt.
    var isSubscription: Bool { expiresDate != nil }
    /// The end of a period; the date of the purchase for single items.
    var end: UTCDate { expiresDate ?? purchaseDate }
}

extension SimulatedTransaction {
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
struct SimulatedTransaction: Hashable, Sendable {
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
    /// The group in a recorded answer; nil if it is the app's only group.
    var recordedGroup: String?
    /// False in a recorded answer that is older than `in_app_ownership_type` (2020).
    var hasOwnershipType = true
    /// False in a recorded answer that is older than `subscription_group_identifier`, and in its `in_app`.
    var hasGroup = true

    init(_ purchase: PurchaseContents) {
        self.purchase = purchase
    }

    /// `in_app_ownership_type`.
    var ownershipType: String { isFamilyShared ? "FAMILY_SHARED" : "PURCHASED" }

    /// The group of the product; nil for single items. Every app has one group, except in recorded answers.
    var subscriptionGroup: String? { recordedGroup ?? (purchase.isSubscription ? "20000001" : nil) }

    /// Returns the transaction with the effects of the Server API's writes, except for extensions.
    func marked(by changes: CustomerChanges) -> SimulatedTransaction {
        var transaction = self
        transaction.appAccountToken = changes.appAccountTokens[purchase.originalTransactionID] ?? appAccountToken
        transaction.isFinished = changes.finished.contains(purchase.transactionID)
        if changes.familyShared.contains(purchase.originalTransactionID) { transaction.isFamilyShared = true }
        return transaction
    }

    /// Marks it as bought with an offer code, in place of another offer: a purchase has at most one offer.
    mutating func redeem(offerCode name: String) {
        offerCode = name
        purchase.promotionalOfferID = nil
        purchase.isInIntroOfferPeriod = purchase.isInIntroOfferPeriod.map { _ in false }
    }

    /// Marks it as refunded at a date, or at its purchase if that was later.
    mutating func refund(at date: UTCDate, _ reason: PurchaseContents.CancellationReason) {
        purchase.cancellationDate = max(date, purchase.purchaseDate)
        purchase.cancellationReason = reason
    }

    mutating func reverseRefund() {
        (purchase.cancellationDate, purchase.cancellationReason) = (nil, nil)
    }
}
