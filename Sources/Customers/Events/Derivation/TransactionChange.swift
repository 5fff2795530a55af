// SPDX-License-Identifier: Apache-2.0

internal import Gateway
internal import Receipts

/// One transaction of a chain before and after.
///
/// That its period began, or that Apple refunded it, happens once. So a late notification announces it even if the
/// transaction's state is newer already, and another source does not announce it again.
struct TransactionChange: Sendable {
    /// Nil if the transaction was unknown.
    let before: Transaction?
    let after: Transaction
    /// The transaction as the notification about it has it; nil for another cause.
    let notified: Transaction?
    let named: NotifiedChange?
    let chain: ChainChange

    var contents: [EventContents] { [period, refund, refundReversal, `extension`].compactMap(\.self) }

    var isNews: Bool { before != after || notified != nil }

    private var transactionID: String { after.transactionID }

    /// Returns true if the change was announced for this transaction, or for another copy of the purchase.
    private func isAnnounced(_ change: EventContents.Change, _ key: [String] = []) -> Bool {
        ([after] + chain.copies(of: after)).contains { chain.isAnnounced(change, of: [$0.transactionID] + key) }
    }

    private func event(
        _ type: EventType, _ change: EventContents.Change, of key: [String] = [], shownBy shown: Transaction
    ) -> EventContents {
        let date = shown.signedDate ?? chain.signedDate
        var contents = EventContents(type, change, of: [transactionID] + key, at: date, shown)
        contents.renewal = shown.isSubscription ? chain.renewal : nil
        return contents
    }

    // MARK: - Periods and purchases

    private var period: EventContents? {
        let isNotified = named?.beginsPeriod == true
        guard isNotified || (before == nil && after.isRecent(after.purchaseDate) && after.reason != .restore) else {
            return nil
        }
        guard !isAnnounced(.period), !chain.announcesCopy(of: after) else { return nil }
        let previous = chain.predecessor(of: after)
        let type = after.isSubscription ? periodType(previous) : .purchaseCompleted
        var contents = event(type, .period, shownBy: isNotified ? notified ?? after : after)
        // The newest state: a late event must not hide a refund.
        contents.transaction = after
        if let previous, previous.productID != after.productID { contents.previousProductID = previous.productID }
        if type == .subscriptionPlanChanged { contents.effectiveDate = after.purchaseDate ?? contents.occurredAt }
        return contents
    }

    private func periodType(_ previous: Transaction?) -> EventType {
        switch named {
        case .recovery: return .subscriptionRecovered
        case .upgrade: return .subscriptionPlanChanged
        case .renewal: return chain.wasUnpaid(before: after) ? .subscriptionRecovered : .subscriptionRenewed
        default: break
        }
        if let previous, after.replaces(previous) { return .subscriptionPlanChanged }
        guard named != .purchase, after.reason == .renewal else { return .subscriptionStarted }
        return chain.wasUnpaid(before: after) ? .subscriptionRecovered : .subscriptionRenewed
    }

    // MARK: - Refunds and extensions

    private enum Limits {
        static let reversals = 8
        /// The difference of two dates of one refund: Apple's copies of a transaction do not always agree.
        static let refundDates: Duration = .seconds(7 * 86_400)
    }

    private var refund: EventContents? {
        let isNotified = named?.revokes == true
        let shown = isNotified ? notified ?? after : after
        guard chain.isRevoked(shown), let date = shown.cancellationDate else { return nil }
        if !isNotified {
            guard before.map({ !chain.isRevoked($0) }) ?? after.isRecent(date) else { return nil }
        }
        return isAnnounced(refundOf: date) ? nil : event(refundType(shown), .refund, of: [date.key], shownBy: shown)
    }

    /// Returns true if the refund was announced with the date that a known copy of the purchase has. Without a reversal
    /// in between, a date that differs by days belongs to the same refund.
    private func isAnnounced(refundOf date: Timestamp) -> Bool {
        ([before].compactMap(\.self) + chain.copies(of: after)).contains { copy in
            guard let known = copy.cancellationDate else { return false }
            return known.duration(to: date).magnitude <= Limits.refundDates
                && chain.isAnnounced(.refund, of: [copy.transactionID, known.key])
        }
    }

    private func refundType(_ shown: Transaction) -> EventType {
        if shown.revocation == .familySharingEnded || named == .familyRevocation { return .familyRevoked }
        return shown.isSubscription ? .subscriptionRefunded : .purchaseRefunded
    }

    /// The event for a reversed refund. Apple gives a reversal no date, so the reversals of a transaction are numbered.
    private var refundReversal: EventContents? {
        let isSeen = before.map(chain.isRevoked) == true && !chain.isRevoked(after)
        guard isSeen || named == .refundReversal else { return nil }
        let number = (1...Limits.reversals).first { number in
            !isSeen || !chain.isAnnounced(.refundReversal, of: [transactionID, String(number)])
        }
        guard let number else { return nil }
        let isOfCopy = chain.copies(of: after).contains {
            chain.isAnnounced(.refundReversal, of: [$0.transactionID, String(number)])
        }
        guard !isOfCopy else { return nil }
        let type = after.isSubscription ? EventType.subscriptionRefundReversed : .purchaseRefundReversed
        return event(type, .refundReversal, of: [String(number)], shownBy: notified ?? after)
    }

    private var `extension`: EventContents? {
        let shown = named == .extension ? notified ?? after : after
        guard let end = shown.expiresDate else { return nil }
        guard named == .extension || before?.expiresDate.map({ $0 < end }) == true else { return nil }
        return event(.subscriptionExtended, .extension, of: [end.key], shownBy: shown)
    }
}

extension Timestamp {
    var key: String { String(millisecondsSince1970) }
}

extension Transaction {
    /// Returns true if a date was no history when the transaction was signed.
    func isRecent(_ date: Timestamp?) -> Bool {
        guard let date, let signedDate else { return false }
        return date >= signedDate.advanced(by: .zero - StateTransition.Limits.window)
    }

    /// Returns true if this period, bought by the customer, ended a period of another product.
    fileprivate func replaces(_ previous: Transaction) -> Bool {
        guard signedFields?.value.transactionReason != "RENEWAL", previous.productID != productID,
            let purchaseDate, let end = previous.expiresDate
        else { return false }
        return purchaseDate < end && (previous.isUpgraded || previous.revocation == nil)
    }
}
