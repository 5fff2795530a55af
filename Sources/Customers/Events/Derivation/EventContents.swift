// SPDX-License-Identifier: Apache-2.0

package import Gateway
internal import JSON
package import Receipts

/// The reason why a change was found.
package struct EventCause: Hashable, Sendable {
    /// The kind of the cause. The raw values appear in events.
    package enum Source: String, CaseIterable, Hashable, Sendable {
        case notification
        case verification
        /// Dates alone, such as the end of a period.
        case schedule
    }

    package var source: Source
    /// The notification's UUID; nil in version 1.
    package var notificationUUID: String?
    /// The notification's type in Apple's words, such as `DID_RENEW`.
    package var notificationType: String?
    package var subtype: String?
    /// The parts that together identify a notification without a UUID. They do not change between deliveries.
    package var notificationIdentity: [String] = []
    /// The signing time of the notification or of the newest verified item; for dates, the time of the schedule.
    package var signedDate: Timestamp
    /// The transaction that the notification is about; in version 1, the newest of the chain that it names.
    package var transaction: Transaction?
    /// Apple's report of an extension for all subscribers (`summary`): a JSON object without white space.
    package var summary: [UInt8]?
    /// Apple's token of an external purchase (`externalPurchaseToken`): a JSON object without white space.
    package var externalPurchaseToken: [UInt8]?
    /// The JWS of the transaction, as Apple sent it.
    package var signedTransaction: [UInt8]?
    package var signedRenewalInfo: [UInt8]?
    /// The span of the request that brought the notification (W3C Trace Context); nil if it has none.
    package var traceparent: String?
}

/// One change to announce, before its JSON is written.
struct EventContents: Sendable {
    /// The changes by which IDs are derived: several event types may report one change. The raw values are part of the
    /// IDs.
    enum Change: String, CaseIterable, Sendable {
        case period, refund, refundReversal = "refund_reversal", `extension`
        case renewal, nextProduct = "next_product", priceConsent = "price_consent"
        case gracePeriod = "grace_period", billingRetry = "billing_retry", expiry
        case consumption, notification
    }

    var type: EventType
    var change: Change
    /// The object of the change, such as a transaction ID and a date.
    var key: [String]
    var occurredAt: Timestamp
    var transaction: Transaction?
    var renewal: Renewal?
    /// The product that the new product replaced.
    var previousProductID: String?
    /// The time from which another product counts.
    var effectiveDate: Timestamp?
    /// The time until which Apple waits for an answer.
    var deadline: Timestamp?

    init(_ type: EventType, _ change: Change, of key: [String], at date: Timestamp, _ transaction: Transaction?) {
        (self.type, self.change, self.key) = (type, change, key)
        (occurredAt, self.transaction) = (date, transaction)
    }
}

/// The app and purchase chain that events are about.
struct EventScope: Sendable {
    let bundleID: String
    let environment: Environment
    /// Nil for an event about no chain.
    var originalTransactionID: String?
}

extension EventScope {
    init(_ chain: PurchaseChain) {
        self.init(
            bundleID: chain.bundleID, environment: chain.environment, originalTransactionID: chain.originalTransactionID
        )
    }

    func id(_ change: EventContents.Change, of key: [String]) -> String {
        Event.id(change.rawValue, bundleID: bundleID, environment, cause: key)
    }
}

extension Event {
    init(_ contents: EventContents, of scope: EventScope, _ cause: EventCause, keepsSignedData: Bool) {
        self.init(
            contents.type, id: scope.id(contents.change, of: contents.key), of: scope, at: contents.occurredAt, cause
        ) { json in
            json.data(contents)
            json.member("summary", object: cause.summary)
            json.member("external_purchase_token", object: cause.externalPurchaseToken)
        }
        if keepsSignedData { signedData = cause.signedData }
    }

    /// Creates an event and its JSON. Members have the names of `POST /v1/verify` if it has them.
    /// - Parameter data: writes the members of `data` that not every event has.
    init(
        _ type: EventType, id: String, of scope: EventScope, at date: Timestamp, _ cause: EventCause,
        data: (inout JSONWriter) -> Void
    ) {
        let json = JSONWriter.object(reservingCapacity: 1536) { json in
            json.member("id", id)
            json.member("type", type.rawValue)
            json.member("timestamp", date.description)
            json.object("data") { json in
                json.member("schema_version", Event.schemaVersion)
                json.member("bundle_id", scope.bundleID)
                json.member("environment", scope.environment.rawValue)
                json.member("original_transaction_id", scope.originalTransactionID)
                data(&json)
                json.member("occurred_at", date)
                json.member(cause)
            }
            json.member("traceparent", cause.traceparent)
        }
        self.init(
            id: id, type: type, bundleID: scope.bundleID, environment: scope.environment,
            originalTransactionID: scope.originalTransactionID, occurredAt: date, json: json)
    }

    /// The version of the JSON's schema (docs/events.yaml). New members and types do not change it.
    static let schemaVersion: Int64 = 1
}

extension EventCause {
    fileprivate var signedData: [UInt8] {
        guard signedTransaction != nil || signedRenewalInfo != nil else { return [] }
        return JSONWriter.object(reservingCapacity: 12_288) { json in
            json.member("signed_transaction", signedTransaction.map { String(decoding: $0, as: UTF8.self) })
            json.member("signed_renewal_info", signedRenewalInfo.map { String(decoding: $0, as: UTF8.self) })
        }
    }
}

// MARK: - JSON

extension JSONWriter {
    fileprivate mutating func data(_ contents: EventContents) {
        if let transaction = contents.transaction { purchase(transaction) }
        member("previous_product_id", contents.previousProductID)
        if let renewal = contents.renewal { plan(renewal) }
        member("effective_date", contents.effectiveDate)
        member("deadline", contents.deadline)
    }

    private mutating func purchase(_ transaction: Transaction) {
        member("transaction_id", transaction.transactionID)
        member("product_id", transaction.productID)
        member("product_type", transaction.productType?.apiName)
        member("transaction_reason", transaction.reason.rawValue)
        member("purchase_date", transaction.purchaseDate)
        member("original_purchase_date", transaction.originalPurchaseDate)
        member("expires_date", transaction.expiresDate)
        member("cancellation_date", transaction.cancellationDate)
        identifier("cancellation_reason", transaction.cancellationReason)
        member("revocation", transaction.revocation?.rawValue)
        member("web_order_line_item_id", transaction.webOrderLineItemID)
        member("subscription_group_identifier", transaction.subscriptionGroupID)
        member("quantity", transaction.quantity)
        member("is_trial_period", transaction.isTrialPeriod)
        member("is_in_intro_offer_period", transaction.isInIntroOfferPeriod)
        member("in_app_ownership_type", transaction.ownership?.rawValue)
        member("app_account_token", transaction.appAccountToken)
        if let fields = transaction.signedFields?.value { sale(fields) }
    }

    private mutating func sale(_ fields: SignedTransactionFields) {
        member("revocation_percentage", fields.revocationPercentage)
        member("storefront", fields.storefront)
        member("price", fields.price)
        member("currency", fields.currency)
        identifier("offer_type", fields.offerType)
        member("offer_identifier", fields.offerIdentifier)
        member("offer_discount_type", fields.offerDiscountType)
        member("offer_period", fields.offerPeriod)
        member("advanced_commerce_info", object: fields.advancedCommerceInfo)
    }

    private mutating func plan(_ renewal: Renewal) {
        member("will_renew", renewal.willRenew)
        member("auto_renew_product_id", renewal.renewalProductID)
        member("commitment_auto_renew_status", renewal.signedFields?.value.commitmentAutoRenewStatus)
        member("commitment_auto_renew_product_id", renewal.signedFields?.value.commitmentAutoRenewProductID)
        member("expiration_intent", renewal.expirationIntent?.rawValue)
        member("grace_period_expires_date", renewal.gracePeriodExpiresDate)
        member("price_consent", renewal.priceConsent?.rawValue)
        member("renewal_price", renewal.signedFields?.value.renewalPrice)
    }

    fileprivate mutating func member(_ cause: EventCause) {
        object("cause") { json in
            json.member("source", cause.source.rawValue)
            json.member("notification_uuid", cause.notificationUUID)
            json.member("notification_type", cause.notificationType)
            json.member("notification_subtype", cause.subtype)
        }
    }
}
