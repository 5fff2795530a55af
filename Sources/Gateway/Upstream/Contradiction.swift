// SPDX-License-Identifier: Apache-2.0

internal import Receipts

/// A contradiction between Apple's answer and data that Apple signed, for which the answer is rejected. The raw values
/// appear in metrics.
package enum Contradiction: String, CaseIterable, Hashable, Sendable {
    /// The answer is about another app than the evidence.
    case otherApp = "other_app"
    case otherEnvironment = "other_environment"
    case latestReceiptOfOtherApp = "latest_receipt_of_other_app"
    /// Its receipt is older than the evidence, although Apple makes a new receipt for each answer.
    case latestReceiptOlder = "latest_receipt_older"
    /// A transaction has another product than in the evidence, or another end than in the answer's receipt.
    case transactionDiffers = "transaction_differs"
    /// The last period of a subscription is not in the answer's receipt.
    case periodNotSigned = "period_not_signed"
    /// A JWS in an answer of the App Store Server API is not signed by Apple.
    case itemNotSigned = "item_not_signed"
    /// The answer does not contain the transaction that was asked for.
    case otherTransaction = "other_transaction"

    /// True if another server may have answered: a signature fails, or the answer is about another app or environment.
    /// Apple's own faults may cause the other contradictions.
    package var showsInterception: Bool {
        switch self {
        case .otherApp, .otherEnvironment, .latestReceiptOfOtherApp, .itemNotSigned: true
        case .latestReceiptOlder, .transactionDiffers, .periodNotSigned, .otherTransaction: false
        }
    }
}

extension UpstreamAnswer {
    /// Returns the first contradiction to the evidence, or to the receipt in the answer.
    /// - Parameter answerReceipt: the answer's `latest_receipt`; nil unless it verifies.
    func contradiction(to subject: VerificationSubject, answerReceipt: VerifiedEvidence?) -> Contradiction? {
        guard case .signed(let sent) = subject else {
            return bundleID == subject.bundleID ? nil : .otherApp
        }
        if let signed = sent.bundleID, bundleID != signed { return .otherApp }
        if let signed = sent.environment, environment != signed { return .otherEnvironment }
        // Only products: a developer may have extended a period since the evidence was signed.
        if contradicts(sent.transactions.values, { $0.productID == $1.productID }) { return .transactionDiffers }
        guard let answerReceipt else { return nil }
        if answerReceipt.bundleID != bundleID { return .latestReceiptOfOtherApp }
        if answerReceipt.isOlder(than: sent) { return .latestReceiptOlder }
        let signed = answerReceipt.transactions.values
        if contradicts(signed, { $0.productID == $1.productID && $0.endsWith($1) }) { return .transactionDiffers }
        return hasPeriods(beyond: answerReceipt, and: sent.transactions.values) ? .periodNotSigned : nil
    }

    /// True if the answer has subscriptions but no receipt to prove them, such as an answer with status 21006.
    func isUnproven(answerReceipt: VerifiedEvidence?) -> Bool {
        answerReceipt == nil && transactions.contains(where: \.isSubscription)
    }

    /// The transactions that Apple's answer shows as they are.
    private var readable: [Transaction] {
        let revoked = Set(unreadable.compactMap(\.transactionID))
        return revoked.isEmpty ? transactions : transactions.filter { !revoked.contains($0.transactionID) }
    }

    private func contradicts(
        _ transactions: [Transaction], _ agrees: (_ claim: Transaction, _ signed: Transaction) -> Bool
    ) -> Bool {
        let claims = Dictionary(readable.map { ($0.transactionID, $0) }) { first, _ in first }
        return transactions.contains { signed in
            claims[signed.transactionID].map { !agrees($0, signed) } ?? false
        }
    }

    /// The last period of each subscription decides the entitlement; if it ended early, an earlier period that may go on:
    /// Apple must have signed them, in the answer's receipt or, with the same end, in the evidence. A restored period has
    /// another ID in each transaction receipt.
    private func hasPeriods(beyond receipt: VerifiedEvidence, and sent: [Transaction]) -> Bool {
        let signed = receipt.transactions.values, signedIDs = Set(signed.map(\.transactionID))
        let made = receipt.signingTime ?? .earliest
        return Dictionary(grouping: readable.filter(\.isSubscription), by: \.chainID).values.contains { periods in
            let open = periods.filter { !$0.isEndedEarly && made < $0.expiryOrder }
            return [periods.latest, open.isEmpty ? periods.latest : open.latest].contains { last in
                !signedIDs.contains(last.transactionID) && !(signed + sent).contains { last.isSamePeriod(as: $0) }
                    && !receipt.mayLack(last)
            }
        }
    }
}

extension VerifiedEvidence {
    /// The assumed maximum difference between the clocks of two of Apple's servers.
    private static let clockSkew: Duration = .seconds(300)

    /// Returns true if this evidence was certainly signed before the other evidence.
    fileprivate func isOlder(than other: VerifiedEvidence) -> Bool {
        guard let newest = newestSigningTime, let otherNewest = other.newestSigningTime else { return false }
        return newest.advanced(by: Self.clockSkew) < otherNewest
    }

    /// Returns true for a period that had ended when the receipt was made in the sandbox, where Apple leaves old
    /// periods out.
    fileprivate func mayLack(_ period: Transaction) -> Bool {
        guard environment == .sandbox, let signed = signingTime, let end = period.expiresDate else { return false }
        return end < signed
    }
}

extension Transaction {
    fileprivate func isSamePeriod(as other: Transaction) -> Bool {
        chainID == other.chainID && productID == other.productID && endsWith(other)
    }

    /// Returns true if both periods end in the same second: app receipts have no milliseconds.
    func endsWith(_ purchase: Transaction) -> Bool {
        expiresDate.map { $0.millisecondsSince1970 / 1000 }
            == purchase.expiresDate.map { $0.millisecondsSince1970 / 1000 }
    }
}
