// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import Gateway
internal import JSON
internal import Receipts

/// The JSON of an answer to `POST /v1/verify`.
///
/// Names are Apple's where Apple has one. Dates are RFC 3339 in UTC with a `_ms` twin in milliseconds, identifiers are
/// strings, flags are booleans. What a receipt does not say is left out.
///
/// What an answer says is written once, how it is known each time it is given.
struct AnswerBody: Sendable {
    /// The answer as it is given now.
    let now: [UInt8]
    /// The answer as it is given again.
    let again: [UInt8]

    /// Writes an answer.
    /// - Parameter latestReceipt: in base64; nil if it is not wanted.
    init(_ answer: Answer, latestReceipt: String? = nil) {
        let transactionBytes = 2 * answer.transactions.count * 640
        var json = JSONWriter(reservingCapacity: 1536 + transactionBytes + (latestReceipt?.utf8.count ?? 0))
        var contents = 0..<0
        json.object { json in
            json.origin(of: answer)
            let comma = json.bytes.count
            json.contents(of: answer)
            json.member("latest_receipt", latestReceipt)
            contents = comma + 1..<json.bytes.count
        }
        let written = json.bytes
        var repeated = JSONWriter(reservingCapacity: written.count + 64)
        repeated.object { json in
            json.origin(of: answer.again)
            json.members(written[contents])
        }
        now = written
        again = repeated.bytes
    }
}

extension JSONWriter {
    fileprivate mutating func origin(of answer: Answer) {
        member("verdict", answer.verdict.name)
        member("reason", answer.verdict.reason)
        member("explanation", answer.verdict.explanation)
        member("environment", answer.receipt?.environment.rawValue)
        key("provenance")
        provenance(answer.provenance)
    }

    fileprivate mutating func contents(of answer: Answer) {
        var transactions: Range<Int>?
        if let receipt = answer.receipt {
            key("receipt")
            transactions = self.receipt(receipt, answer)
        }
        key("transactions")
        if let transactions { value(writtenAt: transactions) } else { array { _ in } }
        key("subscriptions")
        array { json in
            for subscription in answer.subscriptions { json.subscription(subscription) }
        }
    }

    private mutating func provenance(_ provenance: Provenance) {
        object { json in
            json.member("source", provenance.source.rawValue)
            json.member("cache", provenance.cache.rawValue)
            json.member("verified_at", provenance.verifiedAt)
            json.member("degraded", provenance.isDegraded)
            json.key("degraded_reasons")
            json.array { json in
                for reason in provenance.degradedReasons { json.string(reason.rawValue) }
            }
        }
    }

    /// - Returns: the place of the transactions.
    private mutating func receipt(_ receipt: VerifiedReceipt, _ answer: Answer) -> Range<Int> {
        var transactions = 0..<0
        object { json in
            json.member("receipt_type", receipt.receiptType)
            json.member("bundle_id", receipt.bundleID)
            json.member("application_version", receipt.applicationVersion)
            json.member("original_application_version", receipt.originalApplicationVersion)
            json.identifier("adam_id", receipt.adamID)
            json.identifier("app_item_id", receipt.adamID)
            json.identifier("download_id", receipt.downloadID)
            json.identifier("version_external_identifier", receipt.versionExternalIdentifier)
            json.member("receipt_creation_date", receipt.creationDate)
            json.member("original_purchase_date", receipt.originalPurchaseDate)
            json.member("expiration_date", receipt.expirationDate)
            json.member("is_expired", answer.isAppExpired)
            json.member("preorder_date", receipt.preorderDate)
            json.key("in_app")
            let start = json.bytes.count
            json.array { json in
                for transaction in answer.transactions { json.purchase(transaction) }
            }
            transactions = start..<json.bytes.count
        }
        return transactions
    }

    private mutating func purchase(_ purchase: Transaction) {
        object { json in
            json.transaction(purchase)
            json.member("web_order_line_item_id", purchase.webOrderLineItemID)
            json.member("app_account_token", purchase.appAccountToken)
            if let quantity = purchase.quantity {
                json.key("quantity")
                json.integer(quantity)
            }
            json.member("product_type", purchase.productType?.name)
            json.member("cancellation_date", purchase.cancellationDate)
            json.identifier("cancellation_reason", purchase.cancellationReason)
        }
    }

    private mutating func subscription(_ subscription: Subscription) {
        object { json in
            json.member("state", subscription.state.rawValue)
            json.member("access_until", subscription.accessUntil)
            json.member("change", subscription.change?.rawValue)
            json.transaction(subscription.transaction, chain: subscription.originalTransactionID)
            json.member("cancellation_date", subscription.transaction.cancellationDate)
            json.identifier("cancellation_reason", subscription.transaction.cancellationReason)
            json.member("is_eligible_for_intro_offer", subscription.isEligibleForIntroOffer)
            if let renewal = subscription.renewal {
                json.key("renewal")
                json.renewal(renewal)
            }
        }
    }

    private mutating func renewal(_ renewal: Renewal) {
        object { json in
            json.member("will_renew", renewal.willRenew)
            json.member("auto_renew_product_id", renewal.renewalProductID)
            json.member("expiration_intent", renewal.expirationIntent?.name)
            json.member("is_in_billing_retry_period", renewal.isInBillingRetry)
            json.member("grace_period_expires_date", renewal.gracePeriodExpiresDate)
            json.member("price_consent", renewal.priceConsent?.name)
            json.member("promotional_offer_id", renewal.promotionalOfferID)
            json.member("offer_code_ref_name", renewal.offerCodeName)
        }
    }

    /// What a purchase and the transaction that decides about a subscription have in common.
    private mutating func transaction(_ purchase: Transaction, chain: String? = nil) {
        member("product_id", purchase.productID)
        member("transaction_reason", purchase.reason.rawValue)
        member("transaction_id", purchase.transactionID)
        member("original_transaction_id", chain ?? purchase.originalTransactionID)
        member("purchase_date", purchase.purchaseDate)
        member("original_purchase_date", purchase.originalPurchaseDate)
        member("expires_date", purchase.expiresDate)
        member("is_trial_period", purchase.isTrialPeriod)
        member("is_in_intro_offer_period", purchase.isInIntroOfferPeriod)
        member("is_upgraded", purchase.isUpgraded ? true : nil)
        member("in_app_ownership_type", purchase.ownership?.rawValue)
        member("revocation", purchase.revocation?.rawValue)
        member("subscription_group_identifier", purchase.subscriptionGroupID)
        member("promotional_offer_id", purchase.promotionalOfferID)
        member("offer_code_ref_name", purchase.offerCodeName)
    }
}

// MARK: - Members that may be absent

extension JSONWriter {
    private mutating func member(_ name: String, _ value: Bool?) {
        guard let value else { return }
        key(name)
        bool(value)
    }

    /// A number that names something: a string, because JSON readers round beyond 2^53.
    private mutating func identifier(_ name: String, _ value: Int64?) {
        guard let value else { return }
        key(name)
        string(String(value))
    }

    /// Writes a date and its twin in milliseconds, or nothing at all.
    mutating func member(_ name: String, _ value: Timestamp?) {
        guard let value else { return }
        key(name)
        string { value.appendRFC3339(to: &$0) }
        key(name, suffix: "_ms")
        integer(value.millisecondsSince1970)
    }
}

extension Verdict {
    /// The verdict's name in the API.
    var name: String {
        switch self {
        case .genuine: "genuine"
        case .rejected: "rejected"
        case .undecided: "undecided"
        }
    }

    /// The name of the broken rule, or of what was missing for a verdict.
    var reason: String? {
        switch self {
        case .genuine: nil
        case .rejected(let rejection): rejection.name
        case .undecided(let reason): reason.rawValue
        }
    }

    fileprivate var explanation: String? {
        switch self {
        case .rejected(let rejection): rejection.explanation
        case .genuine, .undecided: nil
        }
    }
}

extension Renewal.ExpirationIntent {
    /// The reason's name in the API.
    fileprivate var name: String {
        switch self {
        case .customerCancelled: "customer_cancelled"
        case .billingError: "billing_error"
        case .priceIncreaseDeclined: "price_increase_declined"
        case .productUnavailable: "product_unavailable"
        case .unknown: "unknown"
        }
    }
}

extension Renewal.PriceConsent {
    /// The consent's name in the API.
    fileprivate var name: String {
        switch self {
        case .pending: "pending"
        case .given: "given"
        }
    }
}

extension ProductType {
    /// The kind's name in the API.
    fileprivate var name: String {
        switch self {
        case .nonConsumable: "non_consumable"
        case .consumable: "consumable"
        case .nonRenewingSubscription: "non_renewing_subscription"
        case .autoRenewableSubscription: "auto_renewable_subscription"
        }
    }
}
