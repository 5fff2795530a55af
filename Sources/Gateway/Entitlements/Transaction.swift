// SPDX-License-Identifier: Apache-2.0

internal import Cryptography
package import Receipts

/// A purchase or renewal, from a receipt or Apple's answer. Names follow `verifyReceipt`; unknown fields are nil.
package struct Transaction: Hashable, Sendable, Redacted, SignedPurchase {
    /// The way the customer got the product. The raw values are Apple's.
    package enum Ownership: String, CaseIterable, Hashable, Sendable {
        case purchased = "PURCHASED"
        case familyShared = "FAMILY_SHARED"
    }

    /// The reason for a transaction. The raw values appear in the API.
    package enum Reason: String, CaseIterable, Hashable, Sendable {
        /// The first purchase of its chain.
        case purchase
        /// A later period of a subscription: a renewal, or a purchase after it had ended.
        case renewal
        /// A copy of an earlier purchase, made when the customer restored it.
        case restore
    }

    /// The reason why Apple revoked a purchase. The raw values appear in the API.
    package enum Revocation: String, CaseIterable, Hashable, Sendable {
        case refund
        /// The family member who bought it no longer shares it.
        case familySharingEnded = "family_sharing_ended"
    }

    package var productID: String
    package var transactionID: String
    /// The first transaction of this transaction's chain.
    package var originalTransactionID: String?
    /// The time of the charge, or the start of the period.
    package var purchaseDate: Timestamp?
    /// The purchase date of the chain's first transaction.
    package var originalPurchaseDate: Timestamp?
    /// The end of the subscription period; nil for other products.
    package var expiresDate: Timestamp?
    /// The time when Apple refunded or revoked the transaction, or an upgrade replaced it.
    package var cancellationDate: Timestamp?
    /// The reason for the cancellation: 1 for an issue with the app, 0 for another reason.
    package var cancellationReason: Int64?
    /// True if the customer upgraded to a better product within the subscription group.
    package var isUpgraded = false
    package var isTrialPeriod: Bool?
    package var isInIntroOfferPeriod: Bool?
    /// The way the customer got the product; not in receipts.
    package var ownership: Ownership?
    /// The group whose subscriptions replace each other; not in receipts.
    package var subscriptionGroupID: String?
    package var promotionalOfferID: String?
    package var offerCodeName: String?
    /// The UUID that the app assigned to the purchase.
    package var appAccountToken: String?
    package var quantity: Int64?
    /// The number of the subscription purchase across devices.
    package var webOrderLineItemID: String?
    /// The kind of product; only in receipts and signed transactions.
    package var productType: ProductType?
    /// The fields that only signed transactions have.
    package var signedFields: HeapBox<SignedTransactionFields>?
}

extension Transaction {
    package init(productID: String, transactionID: String) {
        self.init(productID: productID, transactionID: transactionID, originalTransactionID: nil)
    }

    package init(_ purchase: InAppPurchase) {
        // In one step: property by property, the compiler makes a second copy of the whole transaction.
        self.init(
            productID: purchase.productID, transactionID: purchase.transactionID,
            originalTransactionID: purchase.originalTransactionID, purchaseDate: purchase.purchaseDate,
            originalPurchaseDate: purchase.originalPurchaseDate, expiresDate: purchase.expiresDate,
            cancellationDate: purchase.cancellationDate, cancellationReason: purchase.cancellationReason,
            isTrialPeriod: purchase.isTrialPeriod, isInIntroOfferPeriod: purchase.isInIntroOfferPeriod,
            promotionalOfferID: purchase.promotionalOfferID, quantity: purchase.quantity,
            webOrderLineItemID: purchase.webOrderLineItemID.map { String($0) }, productType: purchase.productType)
    }

    package init(_ receipt: VerifiedTransactionReceipt) {
        self.init(
            productID: receipt.productID, transactionID: receipt.transactionID,
            originalTransactionID: receipt.originalTransactionID, purchaseDate: receipt.purchaseDate,
            originalPurchaseDate: receipt.originalPurchaseDate, expiresDate: receipt.expiresDate,
            cancellationDate: receipt.cancellationDate, isTrialPeriod: receipt.isTrialPeriod,
            isInIntroOfferPeriod: receipt.isInIntroOfferPeriod, quantity: receipt.quantity,
            webOrderLineItemID: receipt.webOrderLineItemID)
    }

    /// The reason for the transaction. The first transaction of a chain has the chain's ID. A restored subscription
    /// begins when the first period did.
    package var reason: Reason {
        switch signedFields?.value.transactionReason {
        case "PURCHASE": return .purchase
        case "RENEWAL": return .renewal
        default: break
        }
        guard chainID != transactionID else { return .purchase }
        return isSubscription && purchaseDate != originalPurchaseDate ? .renewal : .restore
    }

    package var usedIntroOffer: Bool {
        if let type = signedFields?.value.offerType { return OfferType(rawValue: type) == .introductory }
        return hasIntroOfferFlags && offerCodeName == nil
    }

    /// True for a month of a year to which the customer has committed.
    package var isPartOfCommitment: Bool { signedFields?.value.billingPlanType == "MONTHLY" }

    /// The reason why Apple revoked the purchase; nil if it did not, or if the ownership is unknown.
    package var revocation: Revocation? {
        guard cancellationDate != nil, !isUpgraded else { return nil }
        if let type = signedFields?.value.revocationType {
            return type == "FAMILY_REVOKE" ? .familySharingEnded : .refund
        }
        guard let ownership else { return nil }
        return ownership == .familyShared ? .familySharingEnded : .refund
    }

    /// True if a refund, a revocation or an upgrade ended it: `verifyReceipt` may show an upgrade as a cancellation.
    var isEndedEarly: Bool { cancellationDate != nil || isUpgraded }

    /// The time of signing; nil in receipts, which are signed as a whole.
    package var signedDate: Timestamp? { signedFields?.value.signedDate }

    /// Returns true for the newer of two states of a transaction, and of two states of one time for either.
    package func isSignedLater(than other: Transaction) -> Bool {
        let first = Timestamp.earliest
        return other.signedDate ?? first <= signedDate ?? first
    }

    /// The IDs that a purge may name: of the transaction, its chain, the chain before Apple renamed it, and the
    /// customer's app transaction.
    package var ids: Set<String> { [self].ids }

    /// Returns true for one of its `ids`.
    func isNamed(_ id: String) -> Bool {
        var isNamed = false
        forEachID { isNamed = isNamed || $0 == id }
        return isNamed
    }

    fileprivate func forEachID(_ use: (String) -> Void) {
        use(transactionID)
        use(chainID)
        if let id = signedFields?.value.previousOriginalTransactionID { use(id) }
        if let id = signedFields?.value.appTransactionID { use(id) }
    }

    /// Orders transactions by the end of their period, then by its start, then by their IDs. So of two that end
    /// together, such as an upgrade and the one it replaced, the same one counts in any order of the list.
    ///
    /// A period that an upgrade replaced ended with it: a year that became months must not count as later.
    fileprivate func endsEarlier(than other: Transaction) -> Bool {
        if isUpgraded != other.isUpgraded { return isUpgraded }
        if expiryOrder != other.expiryOrder { return expiryOrder < other.expiryOrder }
        if start != other.start { return start < other.start }
        return transactionID < other.transactionID
    }
}

extension [Transaction] {
    /// The IDs of all transactions that a purge may name.
    package var ids: Set<String> {
        var ids = Set<String>(minimumCapacity: count)
        // By index, so that no transaction is copied.
        for index in indices { self[index].forEachID { ids.insert($0) } }
        return ids
    }

    /// The index of each transaction by its ID; of several with one ID, the first.
    package var indicesByID: [String: Int] {
        Dictionary(indices.map { (self[$0].transactionID, $0) }) { first, _ in first }
    }

    /// Adds a transaction, or changes the transaction that has its ID.
    /// - Parameter indices: as `indicesByID`, kept up to date.
    package mutating func add(
        _ new: Transaction, _ indices: inout [String: Int], orChange change: (inout Transaction) -> Void
    ) {
        if let index = indices[new.transactionID] { return change(&self[index]) }
        indices[new.transactionID] = count
        append(new)
    }

    /// Adds a transaction. Of two states of one transaction, the state signed last counts.
    package mutating func addNewest(_ new: Transaction, _ indices: inout [String: Int]) {
        add(new, &indices) { if new.isSignedLater(than: $0) { $0 = new } }
    }

    /// The IDs of the chains, the chain with the newest transaction first, in any order of the list.
    package var chainsByAge: [String] { EntitlementFacts(TransactionList(self)).chainsByAge }

    /// The transaction made last, in any order of the list; nil for an empty list.
    package var newest: Transaction? {
        indices.max { (self[$0].start, self[$0].transactionID) < (self[$1].start, self[$1].transactionID) }
            .map { self[$0] }
    }

    /// The transaction whose period ends last, in any order of the list, which must not be empty.
    package var latest: Transaction { self[indexOfLatest(among: Array<Int>(indices))] }

    /// Returns the index of the transaction whose period ends last, among these indices, at least one.
    package func indexOfLatest(among indices: [Int]) -> Int {
        indices.dropFirst().reduce(indices[0]) { self[$0].endsEarlier(than: self[$1]) ? $1 : $0 }
    }
}

/// The dates of a purchase or renewal in any form.
package protocol DatedPurchase {
    /// The time of the charge, or the start of the period.
    var purchaseDate: Timestamp? { get }
    /// The end of the subscription period; nil for other products.
    var expiresDate: Timestamp? { get }
    var isSubscription: Bool { get }
}

extension DatedPurchase {
    var start: Timestamp { purchaseDate ?? .earliest }

    /// The end of the period, else the purchase date.
    package var expiryOrder: Timestamp { expiresDate ?? start }
}

/// A purchase or renewal as a value, or in the bytes of a receipt.
package protocol SignedPurchase: DatedPurchase {
    var transactionID: String { get }
    var originalTransactionID: String? { get }
    var originalPurchaseDate: Timestamp? { get }
    var cancellationDate: Timestamp? { get }
    var isTrialPeriod: Bool? { get }
    var isInIntroOfferPeriod: Bool? { get }
    var productType: ProductType? { get }
    var promotionalOfferID: String? { get }
    /// True for an introductory offer, which a customer gets once in a group of subscriptions.
    var usedIntroOffer: Bool { get }
}

extension SignedPurchase {
    /// The original transaction ID, or the transaction's own: receipts made in Xcode have no original transaction ID.
    package var chainID: String { originalTransactionID ?? transactionID }

    /// True for auto-renewable subscriptions: only they have an expiry date, but the date may be missing.
    package var isSubscription: Bool { expiresDate != nil || productType == .autoRenewableSubscription }

    package var isConsumable: Bool { productType == .consumable }

    package var usedIntroOffer: Bool { hasIntroOfferFlags }

    /// True for a free or cheaper period that no promotional offer gave.
    fileprivate var hasIntroOfferFlags: Bool {
        (isTrialPeriod == true || isInIntroOfferPeriod == true) && promotionalOfferID == nil
    }
}

extension InAppPurchase: SignedPurchase {}

extension ProductType {
    package var apiName: String {
        switch self {
        case .nonConsumable: "non_consumable"
        case .consumable: "consumable"
        case .nonRenewingSubscription: "non_renewing_subscription"
        case .autoRenewableSubscription: "auto_renewable_subscription"
        }
    }
}
