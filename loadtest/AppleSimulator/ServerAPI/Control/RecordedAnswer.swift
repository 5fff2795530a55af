// SPDX-License-Identifier: Apache-2.0

internal import JSON
internal import ReceiptForge
internal import Receipts

/// An answer of verifyReceipt about a genuine receipt, which was recorded elsewhere: an account, and the receipt that was
/// sent. Members without a meaning here are ignored.
struct RecordedAnswer: Sendable {
    let receipt: IssuedReceipt
    let environment: Environment
    let account: RecordedAccount

    /// - Parameter path: the answer's place in the request.
    init(_ value: JSONValue, at path: String) throws(ControlError) {
        let answer = try ControlFields(value, at: path)
        let status = try answer.required("status") { name throws(ControlError) in try answer.integer(name) }
        guard [0, 21006].contains(status) else { throw .wrongValue(of: answer.path("status"), needed: "0 or 21006") }
        let receipt = try answer.required("receipt", answer.object)
        if receipt.has("bid") {
            try self.init(transactionReceipt: receipt, in: answer, isOver: status == 21006)
        } else {
            guard status == 0 else { throw .wrongValue(of: answer.path("status"), needed: "0 for an app receipt") }
            try self.init(appReceipt: receipt, in: answer)
        }
    }

    private init(appReceipt: ControlFields, in answer: ControlFields) throws(ControlError) {
        let name = try answer.required("environment", answer.text)
        guard let environment = Environment(rawValue: name), environment.isApples else {
            throw .wrongValue(of: answer.path("environment"), needed: "Production or Sandbox")
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
        let purchases = try appReceipt.required("in_app", appReceipt.list).map(SimulatedTransaction.init)
        inApp = Dictionary(purchases.map { ($0.purchase.transactionID, $0) }) { first, _ in first }
        latest = try answer.list("latest_receipt_info")?.map(SimulatedTransaction.init)
        renewals = try answer.list("pending_renewal_info")?.map(SimulatedRenewal.init)
        hasLatestReceipt = answer.has("latest_receipt")
        // Apple sends all or none; answers before 2017 have no renewals.
        guard hasLatestReceipt || (latest == nil && renewals == nil) else {
            throw .missing(answer.path("latest_receipt"))
        }
    }

    fileprivate init(
        _ sent: TransactionReceiptContents, in answer: ControlFields, isOver: Bool
    ) throws(ControlError) {
        let name = isOver ? "latest_expired_receipt_info" : "latest_receipt_info"
        var period = try answer.object(name).map(TransactionReceiptContents.init)
        guard !isOver || period != nil else { throw .missing(answer.path(name)) }
        period?.environment = sent.environment
        ios6 = IOS6(isOver: isOver, latest: period)
        inApp = [sent.purchase.transactionID: SimulatedTransaction(sent.purchase)]
        latest = period.map { [SimulatedTransaction($0.purchase)] }
        hasLatestReceipt = answer.has("latest_receipt")
        renewals = try period.flatMap { period throws(ControlError) in
            try SimulatedRenewal(of: period, in: answer).map { [$0] }
        }
    }
}

extension SimulatedRenewal {
    /// Reads an element of `pending_renewal_info`.
    fileprivate init(_ fields: ControlFields) throws(ControlError) {
        self.init(
            originalTransactionID: try fields.required("original_transaction_id", fields.text),
            productID: try fields.required("product_id", fields.text),
            nextProductID: try fields.required("auto_renew_product_id", fields.text))
        try readState(fields)
        gracePeriodExpires = try fields.date("grace_period_expires_date")
        priceConsentStatus = try fields.integer("price_consent_status", in: 0...1).map { Int($0) }
        priceIncreaseStatus = try fields.integer("price_increase_status", in: 0...1).map { Int($0) }
        offerCode = try fields.text("offer_code_ref_name")
        promotionalOfferID = try fields.text("promotional_offer_id")
    }

    /// Reads the renewal beside a transaction receipt; nil in an answer of 2012, which has none.
    fileprivate init?(of period: TransactionReceiptContents, in answer: ControlFields) throws(ControlError) {
        guard let next = try answer.text("auto_renew_product_id") else { return nil }
        self.init(of: period.purchase)
        nextProductID = next
        try readState(answer)
    }

    private mutating func readState(_ fields: ControlFields) throws(ControlError) {
        isOn =
            try fields.required("auto_renew_status") { name throws(ControlError) in
                try fields.integer(name, in: 0...1)
            } == 1
        expirationIntent = try fields.integer("expiration_intent", in: 1...5).map { Int($0) }
        isInBillingRetry = try fields.integer("is_in_billing_retry_period", in: 0...1).map { $0 == 1 }
    }
}

extension SimulatedTransaction {
    /// Reads an element of `latest_receipt_info` or `in_app`.
    fileprivate init(_ fields: ControlFields) throws(ControlError) {
        self.init(try PurchaseContents(fields))
        isUpgraded = try fields.flag("is_upgraded") ?? false
        offerCode = try fields.text("offer_code_ref_name")
        appAccountToken = try fields.text("app_account_token")
        recordedGroup = try fields.text("subscription_group_identifier")
        hasGroup = recordedGroup != nil
        let ownership = try fields.text("in_app_ownership_type")
        guard [nil, "PURCHASED", "FAMILY_SHARED"].contains(ownership) else {
            throw .wrongValue(of: fields.path("in_app_ownership_type"), needed: "PURCHASED or FAMILY_SHARED")
        }
        (hasOwnershipType, isFamilyShared) = (ownership != nil, ownership == "FAMILY_SHARED")
    }
}

extension PurchaseContents {
    fileprivate init(_ fields: ControlFields) throws(ControlError) {
        try self.init(fields, expires: fields.date("expires_date"))
    }

    fileprivate init(_ fields: ControlFields, expires: UTCDate?) throws(ControlError) {
        self.init(
            productID: try fields.required("product_id", fields.text),
            transactionID: try fields.required("transaction_id", fields.text),
            purchaseDate: try fields.required("purchase_date", fields.date))
        quantity = try fields.required("quantity") { name throws(ControlError) in try fields.integer(name) }
        originalTransactionID = try fields.required("original_transaction_id", fields.text)
        originalPurchaseDate = try fields.required("original_purchase_date", fields.date)
        expiresDate = expires
        cancellationDate = try fields.date("cancellation_date")
        cancellationReason = try fields.integer("cancellation_reason", in: 0...1).flatMap(CancellationReason.init)
        webOrderLineItemID = try fields.integer("web_order_line_item_id") ?? 0
        isTrialPeriod = try fields.flag("is_trial_period")
        isInIntroOfferPeriod = try fields.flag("is_in_intro_offer_period")
        promotionalOfferID = try fields.text("promotional_offer_id")
        // Answers do not name the type. Claims must: the claims of a product without an end say that it is no
        // consumable.
        productType = expiresDate == nil ? nil : .autoRenewableSubscription
    }
}

extension ReceiptContents {
    /// Reads `receipt` of an answer to an app receipt. `app_item_id` repeats `adam_id`.
    fileprivate init(_ fields: ControlFields) throws(ControlError) {
        self.init(
            bundleID: try fields.required("bundle_id", fields.text),
            creationDate: try fields.required("receipt_creation_date", fields.date))
        receiptType = try fields.required("receipt_type", fields.text)
        adamID = try fields.integer("adam_id") ?? 0
        applicationVersion = try fields.required("application_version", fields.text)
        downloadID = try fields.integer("download_id") ?? 0
        versionExternalIdentifier = try fields.integer("version_external_identifier") ?? 0
        originalPurchaseDate = try fields.required("original_purchase_date", fields.date)
        originalApplicationVersion = try fields.required("original_application_version", fields.text)
        expirationDate = try fields.date("expiration_date")
        preorderDate = try fields.date("preorder_date")
        purchases = try fields.required("in_app", fields.list).map(PurchaseContents.init)
    }
}

extension TransactionReceiptContents {
    /// Reads the fields of a transaction receipt. `expires_date` is in milliseconds.
    fileprivate init(_ fields: ControlFields) throws(ControlError) {
        self.init(
            bundleID: try fields.required("bid", fields.text),
            purchase: try PurchaseContents(fields, expires: fields.dateInMilliseconds("expires_date")))
        applicationVersion = try fields.text("bvrs")
        itemID = try fields.text("item_id")
        appItemID = try fields.text("app_item_id")
        versionExternalIdentifier = try fields.text("version_external_identifier")
        uniqueIdentifier = try fields.text("unique_identifier")
        uniqueVendorIdentifier = try fields.text("unique_vendor_identifier")
    }
}
