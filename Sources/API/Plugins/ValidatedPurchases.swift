// SPDX-License-Identifier: Apache-2.0

internal import Gateway
internal import HTTPServer
internal import JSON
internal import Receipts

/// The answer of `POST /v1/validate` about genuine evidence: everything that the customer owns or owned.
struct ValidatedPurchases {
    private let answer: Answer
    private let bundleID: String
    private let now: Timestamp

    /// - Parameter named: the app that the request names, for evidence that names none.
    init(_ answer: Answer, named: String?, at now: Timestamp) {
        (self.answer, self.now) = (answer, now)
        bundleID = answer.subject?.bundleID ?? named ?? ""
    }

    var reply: Reply {
        Reply { json in
            json.member("ok", true)
            json.object("data") { json in
                json.member("id", id)
                json.member("latest_receipt", true)
                json.object("transaction") { writeEvidence(to: &$0) }
                json.array("collection") { json in
                    for subscription in subscriptions { write(subscription, to: &json) }
                    for purchase in purchases { write(purchase, to: &json) }
                }
                json.strings("ineligible_for_intro_price", productsWithoutIntroPrice)
                json.member("date") { appendDate(to: &$0) }
                json.member("warning", extent.warning)
            }
        }
    }

    // MARK: - The extent of the answer

    /// The purchases that the answer knows.
    private enum Extent {
        /// All: the purchases of an app receipt, or Apple's history.
        case all
        /// The evidence, and what Apple said earlier or in part: purchases of the customer may be missing.
        case earlierHistory
        case postedPurchase

        /// Nil for all purchases.
        var warning: String? {
            switch self {
            case .all: nil
            case .earlierHistory:
                """
                Apple's present history of the customer is not available: this is an earlier one, or a part of it, so \
                purchases and refunds may be missing. Other purchases keep their earlier answers.
                """
            case .postedPurchase:
                """
                Only this purchase was verified, by its signature: Apple's history of the customer is not available, so \
                refunds may be missing. Other purchases keep their earlier answers.
                """
            }
        }
    }

    private var extent: Extent {
        let isReceipt = answer.subject?.evidence?.receipt != nil
        guard isReceipt || answer.provenance.source == .serverAPI else { return .postedPurchase }
        return answer.provenance.isDegraded ? .earlierHistory : .all
    }

    /// The name of the collection, which the next answer with this name replaces. An answer that may lack purchases has a
    /// collection of its own: it must not take a purchase from the customer.
    private var id: String {
        switch extent {
        case .all: bundleID
        case .earlierHistory: "\(bundleID).\(sentPurchase?.chainID ?? "app").history"
        case .postedPurchase: "\(bundleID).\(sentPurchase?.chainID ?? "app")"
        }
    }

    /// The purchase that the evidence is about; nil for an app receipt, which is about many, and an app transaction.
    private var sentPurchase: Transaction? {
        answer.subject?.evidence?.receipt == nil ? answer.subject?.evidence?.transactions.first : nil
    }

    /// Writes the time of the verification with a fraction of a second, which some clients require.
    private func appendDate(to bytes: inout [UInt8]) {
        let date = answer.provenance.verifiedAt
        date.appendRFC3339(to: &bytes)
        guard date.millisecondsSince1970 % 1000 == 0 else { return }
        bytes.removeLast()
        bytes.append(contentsOf: ".000Z".utf8)
    }
}

// MARK: - The evidence

extension ValidatedPurchases {
    /// Writes what identifies the evidence, in Apple's words for its kind.
    private func writeEvidence(to json: inout JSONWriter) {
        let environment = answer.environment?.rawValue
        guard let evidence = answer.subject?.evidence, evidence.receiptBytes != nil else {
            json.member("type", "apple-sk2")
            json.member("environment", environment)
            json.member("bundleId", bundleID)
            guard let transaction = sentPurchase else { return }
            json.member("productId", transaction.productID)
            json.member("transactionId", transaction.transactionID)
            json.member("originalTransactionId", transaction.originalTransactionID)
            json.date("purchaseDate", transaction.purchaseDate)
            json.date("originalPurchaseDate", transaction.originalPurchaseDate)
            json.date("expiresDate", transaction.expiresDate)
            return
        }
        json.member("type", "ios-appstore")
        json.member("environment", environment)
        json.member("bundle_id", bundleID)
        guard let receipt = evidence.receipt else { return }
        json.member("application_version", receipt.applicationVersion)
        // The plugin takes the date on which the app was first downloaded from these two.
        json.member("original_application_version", receipt.originalApplicationVersion)
        json.identifier("original_purchase_date_ms", receipt.originalPurchaseDate?.millisecondsSince1970)
        json.identifier("receipt_creation_date_ms", receipt.creationDate.millisecondsSince1970)
    }

    /// The products of the subscriptions, and of the groups, whose introductory offer was used.
    private var productsWithoutIntroPrice: [String] {
        let used = answer.subscriptions.filter { $0.isEligibleForIntroOffer == false }
        guard !used.isEmpty else { return [] }
        let names = ChainNames(answer.transactions.values, answer.renewals)
        let chains = Set(used.map(\.originalTransactionID))
        let groups = Set(used.compactMap(\.transaction.subscriptionGroupID))
        let products = answer.transactions.filter { transaction in
            transaction.isSubscription
                && (chains.contains(names.current(transaction.chainID))
                    || transaction.subscriptionGroupID.map { groups.contains($0) } ?? false)
        }
        return Set(products.map(\.productID)).sorted()
    }
}

// MARK: - Purchases

extension ValidatedPurchases {
    /// One subscription for each product. Of two, the plugin would take the subscription that was bought last, even if the
    /// other is active.
    private var subscriptions: [Subscription] {
        var products: Set<String> = []
        let active = answer.subscriptions.filter { $0.grantsAccess(at: now) }
        let ended = answer.subscriptions.filter { !$0.grantsAccess(at: now) }
        return (active + ended).filter { products.insert($0.transaction.productID).inserted }
    }

    /// The other purchases. A purchase that was taken back does not hide another of its product. Consumables are all there:
    /// each is a purchase of its own.
    private var purchases: [Transaction] {
        let purchases = answer.transactions.filter { !$0.isSubscription }
        let owned = Set(purchases.filter { $0.cancellationDate == nil }.map(\.productID))
        return purchases.filter { $0.cancellationDate == nil || $0.isConsumable || !owned.contains($0.productID) }
    }

    /// Writes a subscription. Its expiry date is the end of the access: in a grace period the end of that.
    private func write(_ subscription: Subscription, to json: inout JSONWriter) {
        let transaction = subscription.transaction, plan = subscription.renewal
        json.object { json in
            writeCommon(transaction, chain: subscription.originalTransactionID, to: &json)
            if transaction.reason == .renewal { json.date("lastRenewalDate", transaction.purchaseDate) }
            json.date("expiryDate", subscription.accessUntil ?? transaction.expiresDate)
            json.member("isExpired", !subscription.grantsAccess(at: now))
            json.member("renewalIntent", plan?.next(after: transaction).willRenew.map { $0 ? "Renew" : "Lapse" })
            json.member("cancelationReason", subscription.cancelationReason)
            json.member("isBillingRetryPeriod", subscription.isInBillingRetry)
            json.member("isTrialPeriod", transaction.isTrialPeriod)
            json.member("isIntroPeriod", transaction.isInIntroOfferPeriod)
            json.member("discountId", transaction.promotionalOfferID ?? transaction.offerCodeName)
            json.member("priceConsentStatus", plan?.priceConsent?.validatorName)
        }
    }

    private func write(_ purchase: Transaction, to json: inout JSONWriter) {
        json.object { json in
            writeCommon(purchase, chain: purchase.chainID, to: &json)
            json.member("isExpired", purchase.cancellationDate != nil)
            json.member("cancelationReason", purchase.cancellationDate == nil ? "" : purchase.cancelationReason)
        }
    }

    /// Writes the members that all purchases have.
    private func writeCommon(_ transaction: Transaction, chain: String, to json: inout JSONWriter) {
        json.member("id", transaction.productID)
        json.member("platform", "ios-appstore")
        json.member("purchaseId", chain)
        json.member("transactionId", transaction.transactionID)
        json.date("purchaseDate", purchaseDate(of: transaction))
        json.member("quantity", transaction.quantity)
    }

    /// Returns the date of the first purchase, moved by milliseconds.
    ///
    /// Of two entries of a product the plugin trusts the later purchase, and of two with one date the entry that it got
    /// first. So each day between the first purchase and the end of the present period counts two milliseconds: a renewal
    /// or an extension outweighs what was known before it, in whichever collection. A refund is one millisecond later than
    /// the purchase. An entry that Apple's history may correct is one millisecond earlier: the history outweighs it.
    private func purchaseDate(of transaction: Transaction) -> Timestamp? {
        guard let first = transaction.originalPurchaseDate ?? transaction.purchaseDate else { return nil }
        let end = transaction.isSubscription ? transaction.expiresDate ?? first : first
        let days = max(0, end.millisecondsSince1970 - first.millisecondsSince1970) / 86_400_000
        let rank: Int64 = transaction.cancellationDate != nil ? 1 : extent == .all ? 0 : -1
        return first.advanced(by: .milliseconds(2 * days + rank))
    }
}

extension JSONWriter {
    /// Writes a date as a number, in milliseconds; nothing for nil.
    fileprivate mutating func date(_ name: StaticString, _ date: Timestamp?) {
        member(name, date?.millisecondsSince1970)
    }
}

// MARK: - The plugin's words

extension Subscription {
    /// Empty for a subscription that was not cancelled.
    fileprivate var cancelationReason: String {
        switch state {
        case .active, .inGracePeriod: ""
        case .inBillingRetry: "System.BillingError"
        case .upgraded: "System.Replaced"
        case .revoked: transaction.cancelationReason
        case .expired:
            switch renewal?.expirationIntent {
            case .customerCancelled: "Customer"
            case .billingError: "System.BillingError"
            case .priceIncreaseDeclined: "Customer.PriceIncrease"
            case .productUnavailable: "System.ProductUnavailable"
            case .unknown, nil: "Unknown"
            }
        }
    }

    /// Nil if it is unknown.
    fileprivate var isInBillingRetry: Bool? {
        switch state {
        case .inGracePeriod, .inBillingRetry: true
        default: renewal?.isInBillingRetry
        }
    }
}

extension Transaction {
    /// The reason why Apple took the purchase back. The customer's reasons are Apple's two.
    fileprivate var cancelationReason: String {
        if revocation == .familySharingEnded { return "Unknown" }
        return switch cancellationReason {
        case 1: "Customer.TechnicalIssues"
        case 0: "Customer.OtherReason"
        default: "Customer"
        }
    }
}

extension Renewal.PriceConsent {
    /// Nil if the customer may not have been asked.
    fileprivate var validatorName: String? {
        switch self {
        case .pending: "Notified"
        case .given: "Agreed"
        case .givenOrNotNeeded: nil
        }
    }
}
