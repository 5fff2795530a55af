// SPDX-License-Identifier: Apache-2.0

internal import ReceiptForge
internal import Receipts

/// An answer of verifyReceipt about a genuine receipt, which was recorded elsewhere: an account, and the receipt that was
/// sent. Members without a meaning here are ignored.
struct RecordedAnswer: Sendable {
    let receipt: IssuedReceipt
    let environment: Environment
    let account: RecordedAccount

    init(_ value: ControlValue) throws(ControlError) {
        let answer = try ControlFields(value)
        let status = try answer.required("status"), code: Int = try status.integer()
        guard [0, 21006].contains(code) else { throw status.wrong(needed: "0 or 21006") }
        let receipt = try ControlFields(answer.required("receipt"))
        if receipt["bid"] != nil {
            try self.init(transactionReceipt: receipt, in: answer, isOver: code == 21006)
        } else {
            guard code == 0 else { throw status.wrong(needed: "0 for an app receipt") }
            try self.init(appReceipt: receipt, in: answer)
        }
    }

    private init(appReceipt: ControlFields, in answer: ControlFields) throws(ControlError) {
        let name = try answer.required("environment")
        guard let environment = Environment(rawValue: try name.textOrEmpty()), environment.isApples else {
            throw name.wrong(needed: "Production or Sandbox")
        }
        self.environment = environment
        receipt = .app(try ReceiptContents(appReceipt))
        account = try RecordedAccount(appReceipt: appReceipt, in: answer)
    }

    private init(
        transactionReceipt fields: ControlFields, in answer: ControlFields, isOver: Bool
    ) throws(ControlError) {
        var sent = try TransactionReceiptContents(fields)
        // These answers do not name the environment. Transaction IDs of the sandbox begin with 1000000 or 2000000.
        let isSandbox = ["1000000", "2000000"].contains { sent.purchase.transactionID.hasPrefix($0) }
        environment = isSandbox ? .sandbox : .production
        sent.environment = environment.rawValue
        receipt = .transaction(sent)
        account = try RecordedAccount(sent, in: answer, isOver: isOver)
    }
}

extension RecordedAccount {
    fileprivate init(appReceipt: ControlFields, in answer: ControlFields) throws(ControlError) {
        let purchases = try appReceipt.required("in_app").objects().map(SimulatedTransaction.init)
        inApp = Dictionary(purchases.map { ($0.purchase.transactionID, $0) }) { first, _ in first }
        latest = try answer["latest_receipt_info"]?.objects().map(SimulatedTransaction.init)
        renewals = try answer["pending_renewal_info"]?.objects().map(SimulatedRenewal.init)
        hasLatestReceipt = answer["latest_receipt"] != nil
        // Apple sends all or none; answers before 2017 have no renewals.
        guard hasLatestReceipt || (latest == nil && renewals == nil) else {
            throw .missing(answer.path("latest_receipt"))
        }
    }

    fileprivate init(
        _ sent: TransactionReceiptContents, in answer: ControlFields, isOver: Bool
    ) throws(ControlError) {
        let name = isOver ? "latest_expired_receipt_info" : "latest_receipt_info"
        var period = try answer[name].map(ControlFields.init).map(TransactionReceiptContents.init)
        guard !isOver || period != nil else { throw .missing(answer.path(name)) }
        period?.environment = sent.environment
        ios6 = IOS6(isOver: isOver, latest: period)
        inApp = [sent.purchase.transactionID: SimulatedTransaction(sent.purchase)]
        latest = period.map { [SimulatedTransaction($0.purchase)] }
        hasLatestReceipt = answer["latest_receipt"] != nil
        renewals = try period.flatMap { period throws(ControlError) in
            try SimulatedRenewal(of: period, in: answer).map { [$0] }
        }
    }
}

extension SimulatedRenewal {
    /// Reads an element of `pending_renewal_info`.
    fileprivate init(_ fields: ControlFields) throws(ControlError) {
        self.init(
            originalTransactionID: try fields.required("original_transaction_id").textOrEmpty(),
            productID: try fields.required("product_id").textOrEmpty(),
            nextProductID: try fields.required("auto_renew_product_id").textOrEmpty())
        try readState(fields)
        gracePeriodExpires = try fields.date("grace_period_expires_date")
        priceConsentStatus = try fields["price_consent_status"]?.integer(in: 0...1)
        priceIncreaseStatus = try fields["price_increase_status"]?.integer(in: 0...1)
        offerCode = try fields["offer_code_ref_name"]?.textOrEmpty()
        promotionalOfferID = try fields["promotional_offer_id"]?.textOrEmpty()
    }

    /// Reads the renewal beside a transaction receipt; nil in an answer of 2012, which has none.
    fileprivate init?(of period: TransactionReceiptContents, in answer: ControlFields) throws(ControlError) {
        guard let next = try answer["auto_renew_product_id"]?.textOrEmpty() else { return nil }
        self.init(of: period.purchase)
        nextProductID = next
        try readState(answer)
    }

    private mutating func readState(_ fields: ControlFields) throws(ControlError) {
        isOn = try fields.required("auto_renew_status").integer(in: 0...1) == 1
        expirationIntent = try fields["expiration_intent"]?.integer(in: 1...5)
        isInBillingRetry = try (fields["is_in_billing_retry_period"]?.integer(in: 0...1)).map { $0 == 1 }
    }
}

extension SimulatedTransaction {
    /// Reads an element of `latest_receipt_info` or `in_app`.
    fileprivate init(_ fields: ControlFields) throws(ControlError) {
        self.init(try PurchaseContents(fields))
        isUpgraded = try fields["is_upgraded"]?.flag() ?? false
        offerCode = try fields["offer_code_ref_name"]?.textOrEmpty()
        appAccountToken = try fields["app_account_token"]?.textOrEmpty()
        recordedGroup = try fields["subscription_group_identifier"]?.textOrEmpty()
        hasGroup = recordedGroup != nil
        guard let ownership = fields["in_app_ownership_type"] else {
            hasOwnershipType = false
            return
        }
        guard let type = ownership.string, ["PURCHASED", "FAMILY_SHARED"].contains(type) else {
            throw ownership.wrong(needed: "PURCHASED or FAMILY_SHARED")
        }
        isFamilyShared = type == "FAMILY_SHARED"
    }
}

extension PurchaseContents {
    fileprivate init(_ fields: ControlFields) throws(ControlError) {
        try self.init(fields, expires: fields.date("expires_date"))
    }

    fileprivate init(_ fields: ControlFields, expires: UTCDate?) throws(ControlError) {
        self.init(
            productID: try fields.required("product_id").textOrEmpty(),
            transactionID: try fields.required("transaction_id").textOrEmpty(),
            purchaseDate: try fields.requiredDate("purchase_date"))
        quantity = try fields.required("quantity").integer()
        originalTransactionID = try fields.required("original_transaction_id").textOrEmpty()
        originalPurchaseDate = try fields.requiredDate("original_purchase_date")
        expiresDate = expires
        cancellationDate = try fields.date("cancellation_date")
        cancellationReason = try (fields["cancellation_reason"]?.integer(in: 0...1)).flatMap(CancellationReason.init)
        webOrderLineItemID = try fields["web_order_line_item_id"]?.integer() ?? 0
        isTrialPeriod = try fields["is_trial_period"]?.flag()
        isInIntroOfferPeriod = try fields["is_in_intro_offer_period"]?.flag()
        promotionalOfferID = try fields["promotional_offer_id"]?.textOrEmpty()
        // Answers do not name the type. Claims must: the claims of a product without an end say that it is no
        // consumable.
        productType = expiresDate == nil ? nil : .autoRenewableSubscription
    }
}

extension ReceiptContents {
    /// Reads `receipt` of an answer to an app receipt. `app_item_id` repeats `adam_id`.
    fileprivate init(_ fields: ControlFields) throws(ControlError) {
        self.init(
            bundleID: try fields.required("bundle_id").textOrEmpty(),
            creationDate: try fields.requiredDate("receipt_creation_date"))
        receiptType = try fields.required("receipt_type").textOrEmpty()
        adamID = try fields["adam_id"]?.integer() ?? 0
        applicationVersion = try fields.required("application_version").textOrEmpty()
        downloadID = try fields["download_id"]?.integer() ?? 0
        versionExternalIdentifier = try fields["version_external_identifier"]?.integer() ?? 0
        originalPurchaseDate = try fields.requiredDate("original_purchase_date")
        originalApplicationVersion = try fields.required("original_application_version").textOrEmpty()
        expirationDate = try fields.date("expiration_date")
        preorderDate = try fields.date("preorder_date")
        purchases = try fields.required("in_app").objects().map(PurchaseContents.init)
    }
}

extension TransactionReceiptContents {
    /// Reads the fields of a transaction receipt. `expires_date` is in milliseconds.
    fileprivate init(_ fields: ControlFields) throws(ControlError) {
        self.init(
            bundleID: try fields.required("bid").textOrEmpty(),
            purchase: try PurchaseContents(fields, expires: fields["expires_date"]?.date()))
        applicationVersion = try fields["bvrs"]?.textOrEmpty()
        itemID = try fields["item_id"]?.textOrEmpty()
        appItemID = try fields["app_item_id"]?.textOrEmpty()
        versionExternalIdentifier = try fields["version_external_identifier"]?.textOrEmpty()
        uniqueIdentifier = try fields["unique_identifier"]?.textOrEmpty()
        uniqueVendorIdentifier = try fields["unique_vendor_identifier"]?.textOrEmpty()
    }
}
