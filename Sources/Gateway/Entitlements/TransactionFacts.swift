// SPDX-License-Identifier: Apache-2.0

internal import Receipts

/// The facts of one transaction that decide states. Without references, so that rules copy them freely.
struct TransactionFacts: DatedPurchase, Sendable {
    let chain: InternedText
    let product: InternedText
    /// The number of the subscription purchase across devices (`web_order_line_item_id`); nil where Apple gives 0.
    let lineItem: LineItem?
    let purchaseDate: Timestamp?
    let originalPurchaseDate: Timestamp?
    let expiresDate: Timestamp?
    let cancellationDate: Timestamp?
    let isSubscription: Bool
    let isConsumable: Bool
    let isTrialPeriod: Bool
    let usedIntroOffer: Bool

    // Unknown in receipts:

    /// The chain's name before Apple replaced it.
    private(set) var previousChain: InternedText?
    /// The group whose subscriptions replace each other.
    private(set) var group: InternedText?
    /// The app transaction ID.
    private(set) var customer: InternedText?
    private(set) var signedDate: Timestamp?
    private(set) var isUpgraded = false
    private(set) var isFamilyShared = false
    /// True if Apple is known to have revoked the purchase, and not only replaced it.
    private(set) var isRevoked = false
    /// True for a month of a year to which the customer has committed.
    private(set) var isPartOfCommitment = false
}

extension TransactionFacts {
    enum LineItem: Hashable, Sendable {
        case number(Int64)
        /// Not a plain number, as Apple's are.
        case text(InternedText)
    }

    /// False for a free trial, and for a period that a member of the family shares.
    var isPaidByCustomer: Bool { !isTrialPeriod && !isFamilyShared }

    private init(_ purchase: some SignedPurchase, _ chain: InternedText, _ product: InternedText, _ item: LineItem?) {
        (self.chain, self.product, lineItem) = (chain, product, item)
        (purchaseDate, originalPurchaseDate) = (purchase.purchaseDate, purchase.originalPurchaseDate)
        (expiresDate, cancellationDate) = (purchase.expiresDate, purchase.cancellationDate)
        (isSubscription, isConsumable) = (purchase.isSubscription, purchase.isConsumable)
        (isTrialPeriod, usedIntroOffer) = (purchase.isTrialPeriod == true, purchase.usedIntroOffer)
    }

    init(_ transaction: Transaction, _ texts: inout InternedTexts) {
        self.init(
            transaction, texts.intern(transaction.chainID), texts.intern(transaction.productID),
            LineItem(transaction.webOrderLineItemID, &texts))
        (isUpgraded, isRevoked) = (transaction.isUpgraded, transaction.revocation != nil)
        (isFamilyShared, isPartOfCommitment) = (transaction.ownership == .familyShared, transaction.isPartOfCommitment)
        group = texts.intern(transaction.subscriptionGroupID)
        // Field by field: all fields at once would be copied.
        signedDate = transaction.signedDate
        previousChain = texts.intern(transaction.signedFields?.value.previousOriginalTransactionID)
        customer = texts.intern(transaction.signedFields?.value.appTransactionID)
    }

    /// - Parameter previous: the purchase before this one, which usually has the same chain and product, and its facts.
    init(
        _ purchase: InAppPurchase, after previous: InAppPurchase?, _ known: Self?, _ texts: inout InternedTexts
    ) {
        var chain: InternedText?, product: InternedText?
        if let previous, let known {
            if purchase.isOfSameChain(as: previous) { chain = known.chain }
            if purchase.isOfSameProduct(as: previous) { product = known.product }
        }
        self.init(
            purchase, chain ?? texts.intern(purchase.chainID), product ?? texts.intern(purchase.productID),
            purchase.webOrderLineItemID.map(LineItem.number))
    }
}

extension TransactionFacts.LineItem {
    fileprivate init?(_ text: String?, _ texts: inout InternedTexts) {
        guard let text, text != "0" else { return nil }
        // With a sign or a zero first, two texts would be one number.
        let isPlain = text.utf8.first.map { (UInt8(ascii: "1")...UInt8(ascii: "9")).contains($0) } ?? false
        self = (isPlain ? Int64(text).map(Self.number) : nil) ?? .text(texts.intern(text))
    }
}

/// The facts of one plan (`Renewal`) that decide states.
struct PlanFacts: Sendable {
    let chain: InternedText
    /// The chain's name before Apple replaced it.
    let previousChain: InternedText?
    let product: InternedText?
    let nextProduct: InternedText?
    /// False if the subscription will not renew; nil if unknown.
    let willRenew: Bool?
    private let productAfterCommitment: InternedText?
    private let willRenewAfterCommitment: Bool?
    /// True if Apple called the change to the next product a downgrade.
    let isDowngrade: Bool
    /// Without a time for a plan that is not signed.
    let timelinePlan: SubscriptionTimeline.Plan

    var signedDate: Timestamp? { timelinePlan.knownAt }

    /// Returns the next product, and false if there will be none: as `Renewal.next(after:)`.
    func next(after period: TransactionFacts) -> (product: InternedText?, willRenew: Bool?) {
        period.isPartOfCommitment ? (productAfterCommitment, willRenewAfterCommitment) : (nextProduct, willRenew)
    }

    init(_ renewal: Renewal, _ texts: inout InternedTexts) {
        chain = texts.intern(renewal.originalTransactionID)
        previousChain = texts.intern(renewal.signedFields?.value.previousOriginalTransactionID)
        (product, nextProduct) = (texts.intern(renewal.productID), texts.intern(renewal.renewalProductID))
        let next = renewal.afterCommitment
        (productAfterCommitment, willRenewAfterCommitment) = (texts.intern(next.productID), next.willRenew)
        (willRenew, isDowngrade) = (renewal.willRenew, renewal.isDowngrade)
        timelinePlan = SubscriptionTimeline.Plan(renewal)
    }
}
