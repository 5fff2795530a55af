// SPDX-License-Identifier: Apache-2.0

internal import ReceiptForge
internal import Receipts

extension CustomerRegistry {
    /// Registers a genuine receipt. Returns the account for its answer, and true if the customer is kept.
    ///
    /// An older receipt is answered with what newer evidence shows, and a transaction receipt with its own chain only.
    func register(
        _ receipt: GenuineReceipt, at endpoint: Endpoint, _ call: CallContext
    ) -> (account: SimulatedAccount, isKept: Bool) {
        let app = AppInStore(bundleID: receipt.contents.bundleID, endpoint: endpoint)
        let isTransactionReceipt = receipt.transaction != nil
        let new =
            isTransactionReceipt
            ? Customer(app: app, contents: receipt.contents, hasAppTransaction: false)
            : Customer(app: app, receipt: receipt.contents)
        let ids = receipt.contents.ids
        let found = register(ids.isEmpty ? [new.appTransactionID] : ids, new) { known in
            if isTransactionReceipt {
                for purchase in receipt.contents.purchases { known.add(purchase, signedAt: nil) }
            } else {
                known.add(receipt.contents)
            }
        }
        guard let found else { return (new.account(call), false) }
        let told = isTransactionReceipt ? found.customer.limited(toChainsOf: receipt.contents) : found.customer
        let account = told.account(call)
        name(account, of: found)
        return (account, true)
    }

    /// Registers a signed transaction. Returns false beyond the limit of accounts.
    func register(_ transaction: VerifiedTransaction, _ call: CallContext) -> Bool {
        let app = AppInStore(bundleID: transaction.bundleID, endpoint: Endpoint(transaction.environment))
        let (purchase, date) = (PurchaseContents(transaction), UTCDate(transaction.signedDate))
        var contents = ReceiptContents(of: app, createdAt: date)
        contents.purchases = [purchase]
        let ids = [
            transaction.transactionID, transaction.originalTransactionID, transaction.signedFields.appTransactionID,
        ]
        var new = Customer(app: app, contents: contents, appTransactionID: transaction.signedFields.appTransactionID)
        new.changes.add(transaction)
        return keep(ids.compactMap(\.self), new, call) { known in
            known.add(purchase, signedAt: date)
            known.changes.add(transaction)
        }
    }

    /// Registers a signed app transaction: a customer without purchases, unless purchases are known. Returns false
    /// beyond the limit of accounts.
    func register(_ transaction: VerifiedAppTransaction, _ call: CallContext) -> Bool {
        let app = AppInStore(bundleID: transaction.bundleID, endpoint: Endpoint(transaction.environment))
        var contents = ReceiptContents(of: app, createdAt: UTCDate(transaction.receiptCreationDate))
        contents.adamID = transaction.appAppleID ?? 0
        contents.originalApplicationVersion = transaction.originalApplicationVersion ?? "1.0"
        contents.originalPurchaseDate =
            transaction.originalPurchaseDate.map(UTCDate.init) ?? contents.originalPurchaseDate
        let new = Customer(app: app, contents: contents, appTransactionID: transaction.appTransactionID)
        return keep([new.appTransactionID], new, call)
    }

    /// Registers the account in a recorded answer, in place of a known account that has some of its transactions.
    /// Returns false beyond the limit of accounts.
    ///
    /// - Parameter receipt: the receipt that was issued with the answer's `receipt`.
    func register(
        _ recorded: RecordedAccount, with receipt: GenuineReceipt, at endpoint: Endpoint, _ call: CallContext
    ) -> Bool {
        let app = AppInStore(bundleID: receipt.contents.bundleID, endpoint: endpoint)
        let new = Customer(app: app, receipt: receipt, recorded: recorded)
        let ids = receipt.contents.ids + recorded.ids + [new.appTransactionID]
        return keep(ids, new, call) { $0 = new }
    }

    private func keep(
        _ ids: [String], _ new: Customer, _ call: CallContext, add: (inout Customer) -> Void = { _ in }
    ) -> Bool {
        guard let found = register(ids, new, add: add) else { return false }
        name(found.customer.account(call), of: found)
        return true
    }
}

extension ReceiptContents {
    /// A receipt of an app in the App Store, without purchases.
    init(of app: AppInStore, createdAt date: UTCDate) {
        self.init(bundleID: app.bundleID, creationDate: date)
        receiptType = app.endpoint == .production ? "Production" : "ProductionSandbox"
    }

    /// The transaction IDs and original transaction IDs of all purchases, without missing IDs.
    fileprivate var ids: [String] {
        purchases.flatMap { [$0.originalTransactionID, $0.transactionID] }.filter { !$0.isEmpty }
    }
}

extension Customer {
    /// Returns the customer with the purchases of the chains that a receipt shows.
    fileprivate func limited(toChainsOf receipt: ReceiptContents) -> Customer {
        let originals = Set(receipt.purchases.map(\.originalTransactionID))
        return withPurchases { originals.contains($0.originalTransactionID) }
    }
}

extension CustomerChanges {
    fileprivate mutating func add(_ transaction: VerifiedTransaction) {
        if let token = transaction.appAccountToken { appAccountTokens[transaction.originalTransactionID] = token }
        if transaction.inAppOwnershipType == "FAMILY_SHARED" { familyShared.insert(transaction.originalTransactionID) }
    }
}

extension PurchaseContents {
    fileprivate init(_ transaction: VerifiedTransaction) {
        self.init(
            productID: transaction.productID, transactionID: transaction.transactionID,
            purchaseDate: transaction.purchaseDate.map(UTCDate.init) ?? UTCDate(transaction.signedDate))
        quantity = transaction.quantity ?? 1
        originalTransactionID = transaction.originalTransactionID
        originalPurchaseDate = transaction.originalPurchaseDate.map(UTCDate.init) ?? purchaseDate
        expiresDate = transaction.expiresDate.map(UTCDate.init)
        cancellationDate = transaction.revocationDate.map(UTCDate.init)
        cancellationReason = transaction.revocationReason.flatMap(CancellationReason.init(rawValue:))
        webOrderLineItemID = transaction.webOrderLineItemID.flatMap { Int64($0) } ?? 0
        let fields = transaction.signedFields
        isTrialPeriod = fields.offerDiscountType == "FREE_TRIAL"
        isInIntroOfferPeriod = expiresDate.map { _ in fields.offerType == 1 && isTrialPeriod != true }
        promotionalOfferID = fields.offerType == 2 ? fields.offerIdentifier : nil
        productType = ProductType.allCases.first { $0.names.claim == transaction.type }
    }
}
