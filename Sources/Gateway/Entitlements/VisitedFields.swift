// SPDX-License-Identifier: Apache-2.0

public import JSON
public import Receipts

extension FieldVisitor {
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
        try fields.visit(extent, with: &visitor)
        signedFields = .value(fields)
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
        try fields.visit(extent, with: &visitor)
        signedFields = .value(fields)
    }

    package mutating func visitStatus<Visitor: FieldVisitor>(with visitor: inout Visitor) throws(Visitor.Failure) {
        var state = status?.state, date = status?.date
        try visitor.word("status", &state)
        try visitor.date("status_date", &date)
        status = state.flatMap { state in date.map { ReportedStatus(state, at: $0) } }
    }
}

/// In the target of the fields, so that the compiler specialises `visitFields` for this writer.
extension JSONWriter {
    /// Writes Apple's fields of a transaction, and those derived from them. The transaction does not change.
    package mutating func members(of transaction: inout Transaction) {
        transaction.visitFields(with: &self)
        member("product_type", transaction.productType?.apiName)
        member("transaction_reason", transaction.reason.rawValue)
        member("revocation", transaction.revocation?.rawValue)
    }

    /// Writes the fields of a plan, except the IDs of its subscription and product. The plan does not change.
    package mutating func members(of renewal: inout Renewal) {
        renewal.visitFields(with: &self)
        renewal.visitStatus(with: &self)
    }
}

extension JSONWriter: FieldVisitor {
    /// Writes a string.
    public mutating func text(_ name: StaticString, _ value: inout String?) { member(name, value) }
    /// Writes a flag.
    public mutating func flag(_ name: StaticString, _ value: inout Bool?) { member(name, value) }
    /// Writes a date and its twin in milliseconds.
    public mutating func date(_ name: StaticString, _ value: inout Timestamp?) { member(name, value) }
    /// Writes a number.
    public mutating func count(_ name: StaticString, _ value: inout Int64?) { member(name, value) }
    /// Writes a code as a string.
    public mutating func code(_ name: StaticString, _ value: inout Int64?) { identifier(name, value) }

    /// Writes a list of strings.
    public mutating func texts(_ name: StaticString, _ value: inout [String]?) {
        guard let texts = value else { return }
        strings(name, texts)
    }

    /// Writes an object as it stands.
    public mutating func object(_ name: StaticString, _ value: inout [UInt8]?) { member(name, object: value) }

    /// Does nothing: this visitor only writes.
    public func invalid(_ name: StaticString) {}
}
