// SPDX-License-Identifier: Apache-2.0

import Gateway
import ReceiptForge
import Receipts

@testable import Customers

/// A subscription of 30-day periods that begins on day 0, as Apple would sign it.
enum EventSamples {
    static let pki = TransactionPKI(seed: 1)
    static let chainID = "2000000900000001"
    static let monthly = "com.example.forge.monthly"
    static let yearly = "com.example.forge.yearly"
    static let chain = PurchaseChain(
        bundleID: "com.example.forge", environment: .sandbox, originalTransactionID: chainID)

    /// Trusts the forge's root.
    static let verifier: ReceiptVerifier = {
        var store = TrustStore.apple
        guard (try? store.add(pem: pki.root.pem, environments: [.production, .sandbox])) != nil else {
            preconditionFailure("the forge's root is no trust anchor")
        }
        return ReceiptVerifier(trustStore: store)
    }()

    static func day(_ number: Int, hour: Int = 0) -> Timestamp {
        TransactionContents.signedByDefault.advanced(by: .seconds(number * 86_400 + hour * 3600))
    }

    /// Returns a period of the subscription, from 1.
    static func period(_ number: Int, _ edit: (inout TransactionContents) -> Void = { _ in }) -> TransactionContents {
        var period = TransactionContents()
        period.transactionID = "200000090000000\(number)"
        (period.productID, period.originalTransactionID) = (monthly, chainID)
        (period.purchaseDate, period.expiresDate) = (day(30 * (number - 1)), day(30 * number))
        period.originalPurchaseDate = day(0)
        period.webOrderLineItemID = "200000009000000\(number + 1)"
        period.transactionReason = number == 1 ? "PURCHASE" : "RENEWAL"
        edit(&period)
        return period
    }

    /// Returns a purchase that is no subscription, of day 0.
    static func item(_ edit: (inout TransactionContents) -> Void = { _ in }) -> TransactionContents {
        period(1) { item in
            (item.productID, item.type, item.expiresDate) = ("com.example.forge.coins", "Consumable", nil)
            (item.webOrderLineItemID, item.subscriptionGroupIdentifier) = (nil, nil)
            edit(&item)
        }
    }

    static func plan(_ edit: (inout RenewalInfoContents) -> Void = { _ in }) -> RenewalInfoContents {
        var plan = RenewalInfoContents()
        (plan.productID, plan.autoRenewProductID, plan.renewalDate) = (monthly, monthly, nil)
        edit(&plan)
        return plan
    }

    /// Returns a notification that was signed on a day.
    static func notice(
        _ type: String, _ subtype: String? = nil, day number: Int, hour: Int = 0, _ transaction: TransactionContents,
        _ plan: RenewalInfoContents? = nil
    ) -> NotifiedEvent {
        var event = NotifiedEvent(type, subtype, about: transaction, renewalInfo: plan)
        event.signedDate = day(number, hour: hour)
        let digits = String(number * 24 + hour)
        event.notificationUUID =
            "0f2b7a52-8c14-4b8e-8a5e-" + String(repeating: "0", count: 12 - digits.utf8.count) + digits
        return event
    }

    /// The first purchase, on day 0.
    static let subscribed = notice("SUBSCRIBED", "INITIAL_BUY", day: 0, period(1), plan())
}

extension TransactionContents {
    mutating func refund(onDay number: Int) {
        (revocationDate, revocationReason) = (EventSamples.day(number), 0)
        (revocationType, revocationPercentage) = ("REFUND_FULL", 100_000)
    }
}

/// A verified notification.
struct SignedNotice: Sendable {
    let cause: EventCause
    let chain: PurchaseChain
    let transaction: Transaction
    let renewal: Renewal?

    init(_ event: NotifiedEvent) throws {
        let jws = EventSamples.pki.jws(event.signedTransaction)
        let renewalJWS = event.signedRenewalInfo.map { EventSamples.pki.jws($0) }
        let signed = try EventSamples.verifier.verifyTransaction(jws, at: event.signedDate)
        let transaction = Transaction(signed)
        self.transaction = transaction
        renewal = try renewalJWS.map {
            Renewal(try EventSamples.verifier.verifyRenewalInfo($0, at: event.signedDate))
        }
        chain = PurchaseChain(
            bundleID: signed.bundleID, environment: signed.environment ?? .sandbox,
            originalTransactionID: transaction.chainID)
        var cause = EventCause(source: .notification, signedDate: event.signedDate)
        (cause.notificationType, cause.subtype) = (event.notificationType, event.subtype)
        (cause.notificationUUID, cause.transaction) = (event.notificationUUID, transaction)
        (cause.signedTransaction, cause.signedRenewalInfo) = (jws, renewalJWS)
        self.cause = cause
    }

    /// Creates a notification of version 1 about the newest of a receipt's transactions.
    init(version1 type: String, _ transaction: Transaction, signedAt date: Timestamp) {
        self.transaction = transaction.signed(at: date)
        renewal = nil
        chain = EventSamples.chain
        var cause = EventCause(source: .notification, signedDate: date)
        (cause.notificationType, cause.transaction) = (type, self.transaction)
        cause.notificationIdentity = ["v1", type, transaction.transactionID]
        self.cause = cause
    }
}

extension Transaction {
    /// Returns the transaction as a receipt has it: without the fields of signed transactions.
    static func inReceipt(_ contents: TransactionContents) -> Transaction {
        var transaction = Transaction(
            productID: contents.productID ?? "", transactionID: contents.transactionID ?? "")
        transaction.originalTransactionID = contents.originalTransactionID
        (transaction.purchaseDate, transaction.expiresDate) = (contents.purchaseDate, contents.expiresDate)
        transaction.originalPurchaseDate = contents.originalPurchaseDate
        transaction.cancellationDate = contents.revocationDate
        return transaction
    }

    fileprivate func signed(at date: Timestamp) -> Transaction {
        var transaction = self
        var fields = SignedTransactionFields()
        fields.signedDate = date
        transaction.signedFields = .value(fields)
        return transaction
    }
}
