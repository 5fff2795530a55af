// SPDX-License-Identifier: Apache-2.0

internal import ReceiptForge
internal import Receipts

/// One app on one of the two servers.
struct AppInStore: Hashable, Sendable {
    var bundleID: String
    var endpoint: Endpoint

    /// The environment as answers and claims name it.
    var environment: String { endpoint.environment.rawValue }
}

/// One customer of an app, as the evidence shows.
struct Customer: Hashable, Sendable {
    var app: AppInStore
    let appTransactionID: String
    /// The contents of the newest receipt, and purchases that only other evidence shows.
    private(set) var contents: ReceiptContents
    /// The creation date of the newest app receipt; nil without an app receipt.
    private var receiptDate: UTCDate?
    /// The transaction IDs of purchases that no app receipt shows.
    private var signedLater: Set<String> = []
    /// False if all evidence is of the time before app receipts (iOS 6).
    private(set) var hasAppTransaction: Bool
    var changes = CustomerChanges()
    /// The account in a recorded answer, or after the event of a notification: it is complete, and other evidence changes
    /// nothing. Nil before.
    private(set) var recorded: RecordedAccount?

    /// Creates a customer with the contents of an app receipt.
    init(app: AppInStore, receipt: ReceiptContents) {
        self.app = app
        contents = receipt
        appTransactionID = CustomerIDs.appTransactionID(of: receipt)
        hasAppTransaction = true
        receiptDate = receipt.creationDate
    }

    /// Creates a customer from evidence that is no app receipt.
    /// - Parameter contents: what an app receipt would have.
    init(
        app: AppInStore, contents: ReceiptContents, appTransactionID: String? = nil, hasAppTransaction: Bool = true
    ) {
        self.app = app
        self.contents = contents
        self.appTransactionID = appTransactionID ?? CustomerIDs.appTransactionID(of: contents)
        self.hasAppTransaction = hasAppTransaction
        signedLater = Set(contents.purchases.map(\.transactionID))
    }

    /// Creates a customer whose account is exactly as a recorded answer has it.
    /// - Parameter receipt: the receipt that was issued with the answer's `receipt`.
    init(app: AppInStore, receipt: GenuineReceipt, recorded: RecordedAccount) {
        self.init(app: app, contents: receipt.contents, hasAppTransaction: receipt.transaction == nil)
        self.recorded = recorded
    }

    func withPurchases(_ isIncluded: (PurchaseContents) -> Bool) -> Customer {
        var customer = self
        customer.contents.purchases.removeAll { !isIncluded($0) }
        customer.recorded = recorded?.withPurchases(isIncluded)
        return customer
    }

    /// Replaces the account by a complete account, with all extensions so far.
    mutating func keep(_ account: RecordedAccount) {
        recorded = account
        changes.extensions = [:]
    }

    /// Returns the customer's purchases and subscriptions as Apple knows them.
    func account(_ call: CallContext) -> SimulatedAccount {
        if let recorded {
            return SimulatedAccount(recorded, receipt: contents, changes: changes, now: UTCDate(call.now))
        }
        return SimulatedAccount(
            contents, changes: changes, stories: call.scenario.stories, start: call.start, now: UTCDate(call.now))
    }
}

extension Customer {
    /// Adds an app receipt. Of receipts of one date, the last receipt counts.
    mutating func add(_ receipt: ReceiptContents) {
        guard recorded == nil else { return }
        hasAppTransaction = true
        defer { contents.creationDate = max(contents.creationDate, receipt.creationDate) }
        guard receiptDate.map({ receipt.creationDate >= $0 }) ?? true else { return addPurchases(ofOlder: receipt) }
        let (known, isReplaced) = (contents, receiptDate == receipt.creationDate)
        let present = Set(receipt.purchases.map(\.transactionID))
        let others = known.purchases.filter { !present.contains($0.transactionID) }
        let signed = others.filter { signedLater.contains($0.transactionID) }
        contents = receipt
        contents.creationDate = known.creationDate
        contents.purchases += isReplaced ? signed : others
        receiptDate = receipt.creationDate
        guard !isReplaced else { return }
        // A receipt has no consumable that the app finished.
        changes.finished.formUnion(
            others.filter { $0.productType == .consumable && !signed.contains($0) }.map(\.transactionID))
    }

    /// Adds the purchases that a newer receipt does not have: its consumables were finished in between.
    private mutating func addPurchases(ofOlder receipt: ReceiptContents) {
        let present = Set(contents.purchases.map(\.transactionID))
        let missing = receipt.purchases.filter { !present.contains($0.transactionID) }
        contents.purchases += missing
        changes.finished.formUnion(missing.filter { $0.productType == .consumable }.map(\.transactionID))
    }

    /// Adds a purchase from other evidence than an app receipt.
    /// - Parameter date: the time of signing; nil for a transaction receipt, which has none. Of several, the last
    ///   evidence counts, unless an app receipt shows the purchase.
    mutating func add(_ purchase: PurchaseContents, signedAt date: UTCDate?) {
        guard recorded == nil else { return }
        let known = contents.purchases.firstIndex { $0.transactionID == purchase.transactionID }
        if let known {
            let isNewest = date.map { $0 >= contents.creationDate } ?? signedLater.contains(purchase.transactionID)
            if isNewest { contents.purchases[known] = purchase }
        } else {
            contents.purchases.append(purchase)
            signedLater.insert(purchase.transactionID)
        }
        if let date { contents.creationDate = max(contents.creationDate, date) }
    }
}

/// The identifiers that follow from other identifiers, so that they are equal in every run.
enum CustomerIDs {
    /// The room for the digits after the 7.
    private static let digits: Int64 = 100_000_000_000_000_000

    /// Returns 7 and the lowest original transaction ID in 17 digits; without a number, 17 digits that follow from the
    /// bundle ID and the dates.
    static func appTransactionID(of receipt: ReceiptContents) -> String {
        let originals = receipt.purchases.compactMap { Int64($0.originalTransactionID) }
        if let lowest = originals.min(), (0..<digits).contains(lowest) {
            return TransactionContents.appTransactionID(of: lowest)
        }
        let purpose = "\(receipt.bundleID) \(receipt.originalPurchaseDate.secondsSince1970) \(receipt.downloadID)"
        var generator = SplitMix64(seed: 0, purpose: purpose)
        return TransactionContents.appTransactionID(of: Int64(generator.next() % UInt64(digits)))
    }

    /// Returns the original transaction ID of an app transaction ID.
    static func originalTransactionID(ofAppTransactionID number: Int64) -> Int64? {
        let original = number - TransactionContents.firstAppTransactionID
        return (0..<digits).contains(original) ? original : nil
    }

    /// - Parameter orderID: M and the transaction ID to the base 36.
    static func transactionID(ofOrder orderID: String) -> String? {
        guard orderID.hasPrefix("M") else { return nil }
        return Int64(orderID.dropFirst(), radix: 36).map { String($0) }
    }

    /// Returns an app's number in the App Store that follows from its bundle ID.
    static func appAppleID(of bundleID: String) -> Int64 {
        var generator = SplitMix64(seed: 0, purpose: "app " + bundleID)
        return 1_000_000_000 + Int64(generator.next() % 5_000_000_000)
    }
}
