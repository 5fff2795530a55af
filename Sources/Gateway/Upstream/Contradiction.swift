// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import Receipts

/// How an answer of Apple's contradicts what Apple signed: somebody between Apple and us wrote it. The raw values are
/// those of metrics.
public enum Contradiction: String, CaseIterable, Hashable, Sendable {
    /// It is about another app than the receipt that was sent.
    case otherApp = "other_app"
    /// It is about another environment.
    case otherEnvironment = "other_environment"
    /// The receipt it carries was signed for another app.
    case latestReceiptOfOtherApp = "latest_receipt_of_other_app"
    /// The receipt it carries was made before the one that was sent: Apple makes a new one for each answer.
    case latestReceiptOlder = "latest_receipt_older"
    /// A transaction has another product than in the receipt that was sent, or another end than in the one it carries.
    case transactionDiffers = "transaction_differs"
    /// The last period of a subscription is not in the receipt it carries.
    case periodNotSigned = "period_not_signed"
}

extension UpstreamAnswer {
    /// Where the answer contradicts what Apple signed: the receipt that was sent, and the one the answer carries.
    ///
    /// - Parameters:
    ///   - sent: the receipt that was sent.
    ///   - carried: the answer's `latest_receipt`, verified; nil if there is none that verifies.
    func contradiction(sent: VerifiedReceipt, carried: VerifiedReceipt?) -> Contradiction? {
        if bundleID != sent.bundleID { return .otherApp }
        if environment != sent.environment { return .otherEnvironment }
        // Only products: a developer may have extended a period since the receipt was made.
        if contradicts(sent, { $0.productID == $1.productID }) { return .transactionDiffers }
        guard let carried else { return nil }
        if carried.bundleID != sent.bundleID { return .latestReceiptOfOtherApp }
        if carried.creationDate.advanced(by: Self.clockSkew) < sent.creationDate { return .latestReceiptOlder }
        if contradicts(carried, { $0.productID == $1.productID && $0.endsWith($1) }) { return .transactionDiffers }
        return hasPeriodsBeyond(carried) ? .periodNotSigned : nil
    }

    /// Two of Apple's servers may disagree by so much about the time.
    private static let clockSkew: Duration = .seconds(300)

    /// Whether Apple's signature should stand behind the answer and does not: where there are subscriptions, Apple sends a
    /// receipt along. The style of iOS 6 has one that cannot be verified here.
    func isUnproven(carried: VerifiedReceipt?) -> Bool {
        carried == nil && transactions.contains(where: \.isSubscription)
    }

    private func contradicts(
        _ receipt: VerifiedReceipt, _ agrees: (_ claim: Transaction, _ signed: InAppPurchase) -> Bool
    ) -> Bool {
        let claims = Dictionary(transactions.map { ($0.transactionID, $0) }) { first, _ in first }
        return receipt.purchases.contains { signed in
            claims[signed.transactionID].map { !agrees($0, signed) } ?? false
        }
    }

    /// What entitles the customer is the last period of each subscription: it must be among what Apple signed.
    private func hasPeriodsBeyond(_ receipt: VerifiedReceipt) -> Bool {
        let signed = Set(receipt.purchases.map(\.transactionID))
        return Dictionary(grouping: transactions.filter(\.isSubscription), by: \.chainID)
            .values.contains { !signed.contains($0.latest.transactionID) }
    }
}

extension Transaction {
    /// Whether both periods end in the same second: receipts do not tell milliseconds.
    fileprivate func endsWith(_ purchase: InAppPurchase) -> Bool {
        expiresDate.map { $0.millisecondsSince1970 / 1000 }
            == purchase.expiresDate.map { $0.millisecondsSince1970 / 1000 }
    }
}
