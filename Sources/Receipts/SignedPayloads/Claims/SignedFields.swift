// SPDX-License-Identifier: Apache-2.0

/// The fields that only signed transactions have; unknown fields are nil. To add a claim, add a property and a line in
/// `visit`: the claim is read by this name in camel case, and written by it in all answers. The line also changes stored
/// forms, and states are stored for a year: it goes under a `SignedExtent` of its own (docs/architecture.md).
public struct SignedTransactionFields: Hashable, Sendable {
    /// The time Apple signed the transaction.
    public var signedDate: Timestamp?
    /// The App Store's country, three letters (ISO 3166-1).
    public var storefront: String?
    /// Apple's number of the App Store's country.
    public var storefrontID: String?
    /// The price in thousandths of the currency's unit, after offers and times the quantity.
    public var price: Int64?
    /// The price's currency, three letters (ISO 4217).
    public var currency: String?
    /// The kind of offer: 1 introductory, 2 promotional, 3 offer code, 4 win-back.
    public var offerType: Int64?
    /// The identifier of the offer; absent for introductory offers.
    public var offerIdentifier: String?
    /// `FREE_TRIAL`, `PAY_AS_YOU_GO`, `PAY_UP_FRONT` or `ONE_TIME`.
    public var offerDiscountType: String?
    /// The duration of the offer (ISO 8601).
    public var offerPeriod: String?
    /// `PURCHASE` or `RENEWAL`.
    public var transactionReason: String?
    /// `REFUND_FULL`, `REFUND_PRORATED` or `FAMILY_REVOKE`.
    public var revocationType: String?
    /// The revoked share in thousandths of a percent: 100000 for all.
    public var revocationPercentage: Int64?
    /// The number of the customer's download of the app.
    public var appTransactionID: String?
    /// The chain's identifier before Apple replaced it.
    public var previousOriginalTransactionID: String?
    /// `BILLED_UPFRONT` or `MONTHLY`.
    public var billingPlanType: String?
    /// The current billing period of the customer's commitment, from 1.
    public var commitmentBillingPeriodNumber: Int64?
    /// The number of billing periods of the commitment.
    public var commitmentTotalBillingPeriods: Int64?
    /// The end of the commitment.
    public var commitmentExpiresDate: Timestamp?
    /// The price of all periods of the commitment in thousandths of the currency's unit.
    public var commitmentPrice: Int64?
    /// A JSON object without white space.
    public var advancedCommerceInfo: [UInt8]?

    package init() {}

    init(_ claims: inout Claims) throws(ReceiptError) {
        try claims.openCommitment()
        try visit(.withCommerce, with: &claims)
        transactionReason = try claims.text("transactionReason")
    }

    /// Visits all fields but `transactionReason`, which answers derive.
    /// - Parameters:
    ///   - extent: the fields to visit, at least `usual`.
    ///   - visitor: reads or writes each field.
    public mutating func visit<Visitor: FieldVisitor>(
        _ extent: SignedExtent, with visitor: inout Visitor
    ) throws(Visitor.Failure) {
        try visitor.date("signed_date", &signedDate)
        try visitor.text("storefront", &storefront)
        try visitor.text("storefront_id", &storefrontID)
        try visitor.count("price", &price)
        try visitor.text("currency", &currency)
        try visitor.code("offer_type", &offerType)
        try visitor.text("offer_identifier", &offerIdentifier)
        try visitor.text("offer_discount_type", &offerDiscountType)
        try visitor.text("offer_period", &offerPeriod)
        try visitor.text("revocation_type", &revocationType)
        try visitor.count("revocation_percentage", &revocationPercentage)
        try visitor.text("app_transaction_id", &appTransactionID)
        try visitor.text("previous_original_transaction_id", &previousOriginalTransactionID)
        try visitor.text("billing_plan_type", &billingPlanType)
        try visitor.count("commitment_billing_period_number", &commitmentBillingPeriodNumber)
        try visitor.count("commitment_total_billing_periods", &commitmentTotalBillingPeriods)
        try visitor.date("commitment_expires_date", &commitmentExpiresDate)
        try visitor.count("commitment_price", &commitmentPrice)
        if extent == .withCommerce { try visitor.object("advanced_commerce_info", &advancedCommerceInfo) }
    }

    /// The fields that have values.
    package var extent: SignedExtent { advancedCommerceInfo == nil ? .usual : .withCommerce }
}

/// The fields that only signed renewal infos have; unknown fields are nil. To add a claim, add a property and a line in
/// `visit`, as for transactions.
public struct SignedRenewalFields: Hashable, Sendable {
    /// The time Apple signed the renewal info.
    public var signedDate: Timestamp?
    /// The time of the next renewal.
    public var renewalDate: Timestamp?
    /// The price of the next period in thousandths of the currency's unit.
    public var renewalPrice: Int64?
    /// The price's currency, three letters (ISO 4217).
    public var currency: String?
    /// The kind of the next period's offer, as in transactions.
    public var offerType: Int64?
    /// The identifier of the next period's offer.
    public var offerIdentifier: String?
    /// The payment of the next period's offer, as in transactions.
    public var offerDiscountType: String?
    /// The duration of the next period's offer (ISO 8601).
    public var offerPeriod: String?
    /// The start of the subscription's latest run of periods; gaps below 60 days do not count.
    public var recentSubscriptionStartDate: Timestamp?
    /// The win-back offers the customer may redeem, the best first.
    public var eligibleWinBackOfferIDs: [String]?
    /// The UUID that the app assigned to the next period.
    public var appAccountToken: String?
    /// The number of the customer's download of the app.
    public var appTransactionID: String?
    /// The chain's identifier before Apple replaced it.
    public var previousOriginalTransactionID: String?
    /// The billing plan of the next period.
    public var renewalBillingPlanType: String?
    /// The identifier of the next commitment's product.
    public var commitmentAutoRenewProductID: String?
    /// 1 if the commitment renews, 0 if not.
    public var commitmentAutoRenewStatus: Int64?
    /// The time of the next commitment.
    public var commitmentRenewalDate: Timestamp?
    /// The price of the next commitment in thousandths of the currency's unit.
    public var commitmentRenewalPrice: Int64?
    /// The billing plan of the next commitment.
    public var commitmentRenewalBillingPlanType: String?
    /// A JSON object without white space.
    public var advancedCommerceInfo: [UInt8]?

    package init() {}

    init(_ claims: inout Claims) throws(ReceiptError) {
        try claims.openCommitment()
        try visit(.withCommerce, with: &claims)
    }

    /// Visits all fields.
    /// - Parameters:
    ///   - extent: the fields to visit, at least `usual`.
    ///   - visitor: reads or writes each field.
    public mutating func visit<Visitor: FieldVisitor>(
        _ extent: SignedExtent, with visitor: inout Visitor
    ) throws(Visitor.Failure) {
        try visitor.date("signed_date", &signedDate)
        try visitor.date("renewal_date", &renewalDate)
        try visitor.count("renewal_price", &renewalPrice)
        try visitor.text("currency", &currency)
        try visitor.code("offer_type", &offerType)
        try visitor.text("offer_identifier", &offerIdentifier)
        try visitor.text("offer_discount_type", &offerDiscountType)
        try visitor.text("offer_period", &offerPeriod)
        try visitor.date("recent_subscription_start_date", &recentSubscriptionStartDate)
        try visitor.texts("eligible_win_back_offer_ids", &eligibleWinBackOfferIDs)
        try visitor.text("app_account_token", &appAccountToken)
        try visitor.text("app_transaction_id", &appTransactionID)
        try visitor.text("previous_original_transaction_id", &previousOriginalTransactionID)
        try visitor.text("renewal_billing_plan_type", &renewalBillingPlanType)
        try visitor.text("commitment_auto_renew_product_id", &commitmentAutoRenewProductID)
        try visitor.code("commitment_auto_renew_status", &commitmentAutoRenewStatus)
        try visitor.date("commitment_renewal_date", &commitmentRenewalDate)
        try visitor.count("commitment_renewal_price", &commitmentRenewalPrice)
        try visitor.text("commitment_renewal_billing_plan_type", &commitmentRenewalBillingPlanType)
        if extent == .withCommerce { try visitor.object("advanced_commerce_info", &advancedCommerceInfo) }
    }

    /// The fields that have values.
    package var extent: SignedExtent { advancedCommerceInfo == nil ? .usual : .withCommerce }
}

/// The fields that only signed transactions and plans have. The raw values are in stored forms.
public enum SignedExtent: UInt8, Sendable {
    /// None of them.
    case none
    /// All but `advanced_commerce_info`.
    case usual
    /// And `advanced_commerce_info`, which few apps use.
    case withCommerce
}

/// Visits the fields of a transaction or plan in order, to write or to read them. A field without a value is nil.
///
/// A function that visits names each field once, in a line for all its forms. For the fields that only signed items have,
/// the same line reads the claim.
public protocol FieldVisitor {
    /// The error for a form that cannot be read; `Never` for a writer.
    associatedtype Failure: Error

    /// Visits a string.
    mutating func text(_ name: StaticString, _ value: inout String?) throws(Failure)
    /// Visits a number that counts.
    mutating func count(_ name: StaticString, _ value: inout Int64?) throws(Failure)
    /// Visits a number that is a code.
    mutating func code(_ name: StaticString, _ value: inout Int64?) throws(Failure)
    /// Visits a flag.
    mutating func flag(_ name: StaticString, _ value: inout Bool?) throws(Failure)
    /// Visits a time.
    mutating func date(_ name: StaticString, _ value: inout Timestamp?) throws(Failure)
    /// Visits a list of strings.
    mutating func texts(_ name: StaticString, _ value: inout [String]?) throws(Failure)
    /// Visits a JSON object without white space.
    mutating func object(_ name: StaticString, _ value: inout [UInt8]?) throws(Failure)
    /// Returns the fields to visit among the fields that only signed items have.
    /// - Parameter extent: the fields that the value has.
    mutating func visitedFields(_ extent: SignedExtent) throws(Failure) -> SignedExtent
    /// Called for a required value that was not read, and for an unknown value.
    func invalid(_ name: StaticString) throws(Failure)
}

extension FieldVisitor {
    /// Returns the fields that the value has.
    public mutating func visitedFields(_ extent: SignedExtent) throws(Failure) -> SignedExtent { extent }
}
