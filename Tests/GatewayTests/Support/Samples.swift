// SPDX-License-Identifier: Apache-2.0

import ReceiptForge
import Receipts

@testable import Gateway

/// Values for many tests. Each key is made once, because generating it takes time.
enum Samples {
    static let pki = ForgedPKI(seed: 1)
    static let forge = FaultForge(pki: pki)
    static let app = "com.example.forge"
    /// The creation time of the forge's sample receipt, whose second period began a day before and lasts thirty.
    static let created = Timestamp(forge.contents.creationDate)
    static let receipt = forge.wellFormed

    static let verifier: ReceiptVerifier = {
        var store = TrustStore.apple
        guard (try? store.add(pem: pki.rootPEM, environments: [.sandbox])) != nil else {
            preconditionFailure("the forge's root is no trust anchor")
        }
        guard (try? store.add(intermediatesPEM: pki.intermediate.pem)) != nil else {
            preconditionFailure("the forge's intermediate is no certificate")
        }
        return ReceiptVerifier(trustStore: store)
    }()

    /// Returns the time in seconds after the sample receipt was created.
    static func time(_ seconds: Int64) -> Timestamp { created.advanced(by: .seconds(seconds)) }

    static func receipt(with periods: [Period], _ edit: (inout ReceiptContents) -> Void = { _ in }) -> [UInt8] {
        var contents = forge.contents
        contents.purchases = periods.map(\.contents)
        edit(&contents)
        return pki.sign(contents)
    }

    /// Returns a transaction receipt about this period.
    static func transactionReceipt(
        _ period: Period, ofApp bundleID: String = app, environment: String = "Sandbox",
        signedBy pki: ForgedPKI = pki
    ) -> [UInt8] {
        let purchase = period.contents
        var contents = TransactionReceiptContents(
            bundleID: bundleID, productID: purchase.productID, transactionID: purchase.transactionID,
            purchaseDate: purchase.purchaseDate)
        contents.originalTransactionID = purchase.originalTransactionID
        contents.expiresDate = purchase.expiresDate
        contents.environment = environment
        return pki.sign(contents)
    }

    static func verified(_ receipt: [UInt8]) throws -> VerifiedReceipt {
        try verifier.verify(receipt, at: Timestamp(millisecondsSince1970: 4_000_000_000_000))
    }

    /// Returns the contents of a receipt with these periods.
    static func transactions(_ periods: [Period]) throws -> [Transaction] {
        try verified(receipt(with: periods)).purchases.map { Transaction($0) }
    }

    /// The sample receipt of an app with this bundle ID.
    static func receipt(ofApp bundleID: String) -> [UInt8] {
        receipt(with: [Period("1", 0..<100)]) { $0.bundleID = bundleID }
    }
}

extension Timestamp {
    init(_ date: UTCDate) {
        self.init(millisecondsSince1970: date.secondsSince1970 * 1000)
    }
}

/// One transaction, in seconds from the creation of the sample receipt.
struct Period: Sendable {
    var transactionID: String
    var originalTransactionID: String
    var start: Int64
    /// Nil for other products.
    var end: Int64?
    var product = "monthly"
    var isCancelled = false
    var isTrial: Bool? = false
    var isIntroductory: Bool? = false

    init(_ transactionID: String, _ time: Range<Int64>, of originalTransactionID: String = "1") {
        self.transactionID = transactionID
        self.originalTransactionID = originalTransactionID
        start = time.lowerBound
        end = time.upperBound
    }

    /// Returns a transaction without a subscription.
    init(item transactionID: String, at start: Int64) {
        self.transactionID = transactionID
        self.start = start
        originalTransactionID = transactionID
        product = "item"
    }

    func with<Value>(_ property: WritableKeyPath<Period, Value>, _ value: Value) -> Period {
        var changed = self
        changed[keyPath: property] = value
        return changed
    }

    var cancelled: Period { with(\.isCancelled, true) }
    var trial: Period { with(\.isTrial, true) }
    var introductory: Period { with(\.isIntroductory, true) }

    var contents: PurchaseContents {
        let created = Samples.forge.contents.creationDate
        var purchase = PurchaseContents(
            productID: product, transactionID: transactionID, purchaseDate: created.advanced(bySeconds: start))
        purchase.originalTransactionID = originalTransactionID
        purchase.expiresDate = end.map { created.advanced(bySeconds: $0) }
        if end == nil { purchase.productType = .nonConsumable }
        purchase.cancellationDate = isCancelled ? created.advanced(bySeconds: start + 1) : nil
        purchase.isTrialPeriod = isTrial
        purchase.isInIntroOfferPeriod = isIntroductory
        return purchase
    }
}

extension LocalVerifier {
    static var ofTests: LocalVerifier { LocalVerifier(Samples.verifier, items: SignedItemCache(maximumBytes: 0)) }
}

extension EvaluationRules {
    static var ofTests: EvaluationRules {
        EvaluationRules(freshness: FreshnessPolicy(), clockSkew: .zero, lateRenewal: .seconds(3600))
    }
}
