// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import Receipts

/// How an answer of Apple's contradicts what Apple signed: somebody between Apple and us wrote it. The raw values are
/// those of metrics.
public enum Contradiction: String, CaseIterable, Hashable, Sendable {
    /// It is about another app than the evidence that was sent.
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
    /// Where the answer contradicts what Apple signed: the evidence that was sent, and the receipt the answer carries.
    ///
    /// - Parameters:
    ///   - subject: the purchase that Apple was asked about.
    ///   - carried: the answer's `latest_receipt`, verified; nil if there is none that verifies.
    func contradiction(to subject: VerificationSubject, carried: VerifiedEvidence?) -> Contradiction? {
        guard case .signed(let sent) = subject else {
            return bundleID == subject.bundleID ? nil : .otherApp
        }
        if let signed = sent.bundleID, bundleID != signed { return .otherApp }
        if let signed = sent.environment, environment != signed { return .otherEnvironment }
        // Only products: a developer may have extended a period since the evidence was signed.
        if contradicts(sent.transactions, { $0.productID == $1.productID }) { return .transactionDiffers }
        guard let carried else { return nil }
        if carried.bundleID != bundleID { return .latestReceiptOfOtherApp }
        if carried.isOlder(than: sent) { return .latestReceiptOlder }
        let signed = carried.transactions
        if contradicts(signed, { $0.productID == $1.productID && $0.endsWith($1) }) { return .transactionDiffers }
        return hasPeriodsBeyond(signed) ? .periodNotSigned : nil
    }

    /// Whether Apple's signature should stand behind the answer and does not: where there are subscriptions, Apple sends a
    /// receipt along. The style of iOS 6 has one that cannot be verified here.
    func isUnproven(carried: VerifiedEvidence?) -> Bool {
        carried == nil && transactions.contains(where: \.isSubscription)
    }

    private func contradicts(
        _ transactions: [Transaction], _ agrees: (_ claim: Transaction, _ signed: Transaction) -> Bool
    ) -> Bool {
        let claims = Dictionary(self.transactions.map { ($0.transactionID, $0) }) { first, _ in first }
        return transactions.contains { signed in
            claims[signed.transactionID].map { !agrees($0, signed) } ?? false
        }
    }

    /// What entitles the customer is the last period of each subscription: it must be among what Apple signed.
    private func hasPeriodsBeyond(_ known: [Transaction]) -> Bool {
        let signed = Set(known.map(\.transactionID))
        return Dictionary(grouping: self.transactions.filter(\.isSubscription), by: \.chainID)
            .values.contains { !signed.contains($0.latest.transactionID) }
    }
}

extension VerifiedEvidence {
    /// Two of Apple's servers may disagree by so much about the time.
    private static let clockSkew: Duration = .seconds(300)

    /// Whether it was surely signed before the other.
    fileprivate func isOlder(than other: VerifiedEvidence) -> Bool {
        guard let newest = newestSigningTime, let otherNewest = other.newestSigningTime else { return false }
        return newest.advanced(by: Self.clockSkew) < otherNewest
    }

    private var newestSigningTime: Timestamp? { items.compactMap(\.signingTime).max() }
}

extension Transaction {
    /// Whether both periods end in the same second: receipts do not tell milliseconds.
    fileprivate func endsWith(_ purchase: Transaction) -> Bool {
        expiresDate.map { $0.millisecondsSince1970 / 1000 }
            == purchase.expiresDate.map { $0.millisecondsSince1970 / 1000 }
    }
}
