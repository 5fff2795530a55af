// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

package import Receipts

/// Visits the fields of a transaction or plan in order, to write or to read them.
///
/// `visitFields` names each field once, for the stored form and all forms of JSON. A field without a value is nil.
package protocol FieldVisitor {
    /// The error for a form that cannot be read; `Never` for a writer.
    associatedtype Failure: Error

    mutating func text(_ name: StaticString, _ value: inout String?) throws(Failure)
    /// Visits a number that counts.
    mutating func count(_ name: StaticString, _ value: inout Int64?) throws(Failure)
    /// Visits a number that is a code.
    mutating func code(_ name: StaticString, _ value: inout Int64?) throws(Failure)
    mutating func flag(_ name: StaticString, _ value: inout Bool?) throws(Failure)
    mutating func date(_ name: StaticString, _ value: inout Timestamp?) throws(Failure)
    mutating func texts(_ name: StaticString, _ value: inout [String]?) throws(Failure)
    /// Visits a JSON object without white space.
    mutating func object(_ name: StaticString, _ value: inout [UInt8]?) throws(Failure)
    /// Returns the fields to visit among the fields that only signed items have.
    /// - Parameter extent: the fields that the value has.
    mutating func visitedFields(_ extent: SignedExtent) throws(Failure) -> SignedExtent
    /// Called for a required value that was not read, and for an unknown value.
    func invalid(_ name: StaticString) throws(Failure)
}

/// The fields that only signed transactions and plans have. The stored form contains the raw values.
package enum SignedExtent: UInt8, Sendable {
    case none, usual
    /// And `advanced_commerce_info`, which few apps use.
    case withCommerce
}

extension FieldVisitor {
    /// Returns those that the value has.
    package mutating func visitedFields(_ extent: SignedExtent) throws(Failure) -> SignedExtent { extent }

    package mutating func required(_ name: StaticString, _ value: inout String) throws(Failure) {
        var text: String? = value
        try self.text(name, &text)
        if let text { value = text } else { try invalid(name) }
    }

    /// Visits a flag that is written only if it is set.
    package mutating func mark(_ name: StaticString, _ value: inout Bool) throws(Failure) {
        var flag: Bool? = value ? true : nil
        try self.flag(name, &flag)
        value = flag ?? false
    }

    /// Visits one of a closed set of values.
    package mutating func word<Word: RawRepresentable<String>>(_ name: StaticString, _ value: inout Word?)
        throws(Failure)
    {
        var text = value?.rawValue
        try self.text(name, &text)
        value = text.flatMap { Word(rawValue: $0) }
        if text != nil, value == nil { try invalid(name) }
    }
}

extension Transaction {
    /// Visits all fields in Apple's order and by Apple's names. To add a field, add a property and a line here. It
    /// changes the stored forms (`StoredForm`): cached results get another version. Signed states live for a year, so
    /// they must stay readable: a field of signed items follows the others, under a `SignedExtent` of its own.
    package mutating func visitFields<Visitor: FieldVisitor>(with visitor: inout Visitor) throws(Visitor.Failure) {
        try visitor.count("quantity", &quantity)
        try visitor.required("product_id", &productID)
        try visitor.required("transaction_id", &transactionID)
        try visitor.text("original_transaction_id", &originalTransactionID)
        try visitor.date("purchase_date", &purchaseDate)
        try visitor.date("original_purchase_date", &originalPurchaseDate)
        try visitor.date("expires_date", &expiresDate)
        try visitor.date("cancellation_date", &cancellationDate)
        try visitor.code("cancellation_reason", &cancellationReason)
        try visitor.mark("is_upgraded", &isUpgraded)
        try visitor.text("web_order_line_item_id", &webOrderLineItemID)
        try visitor.flag("is_trial_period", &isTrialPeriod)
        try visitor.flag("is_in_intro_offer_period", &isInIntroOfferPeriod)
        try visitor.word("in_app_ownership_type", &ownership)
        try visitor.text("subscription_group_identifier", &subscriptionGroupID)
        try visitor.text("promotional_offer_id", &promotionalOfferID)
        try visitor.text("offer_code_ref_name", &offerCodeName)
        try visitor.text("app_account_token", &appAccountToken)
        let extent = try visitor.visitedFields(signedFields?.value.extent ?? .none)
        guard extent != .none else { return }
        var fields = signedFields?.value ?? SignedTransactionFields()
        try fields.visit(with: &visitor)
        if extent == .withCommerce { try visitor.object("advanced_commerce_info", &fields.advancedCommerceInfo) }
        signedFields = .value(fields)
    }
}

extension SignedTransactionFields {
    fileprivate var extent: SignedExtent { advancedCommerceInfo == nil ? .usual : .withCommerce }

    mutating func visit<Visitor: FieldVisitor>(with visitor: inout Visitor) throws(Visitor.Failure) {
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
    }
}

extension Renewal {
    /// Visits all fields except the IDs of the plan's subscription and product.
    package mutating func visitFields<Visitor: FieldVisitor>(with visitor: inout Visitor) throws(Visitor.Failure) {
        try visitor.flag("will_renew", &willRenew)
        try visitor.text("auto_renew_product_id", &renewalProductID)
        try visitor.word("expiration_intent", &expirationIntent)
        try visitor.flag("is_in_billing_retry_period", &isInBillingRetry)
        try visitor.date("grace_period_expires_date", &gracePeriodExpiresDate)
        try visitor.word("price_consent", &priceConsent)
        try visitor.text("promotional_offer_id", &promotionalOfferID)
        try visitor.text("offer_code_ref_name", &offerCodeName)
        let extent = try visitor.visitedFields(signedFields?.value.extent ?? .none)
        guard extent != .none else { return }
        var fields = signedFields?.value ?? SignedRenewalFields()
        try fields.visit(with: &visitor)
        if extent == .withCommerce { try visitor.object("advanced_commerce_info", &fields.advancedCommerceInfo) }
        signedFields = .value(fields)
    }

    /// Visits the state that Apple reported.
    package mutating func visitStatus<Visitor: FieldVisitor>(with visitor: inout Visitor) throws(Visitor.Failure) {
        var state = status?.state, date = status?.date
        try visitor.word("status", &state)
        try visitor.date("status_date", &date)
        status = state.flatMap { state in date.map { ReportedStatus(state, at: $0) } }
    }
}

extension SignedRenewalFields {
    fileprivate var extent: SignedExtent { advancedCommerceInfo == nil ? .usual : .withCommerce }

    mutating func visit<Visitor: FieldVisitor>(with visitor: inout Visitor) throws(Visitor.Failure) {
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
    }
}
