// SPDX-License-Identifier: Apache-2.0

internal import Receipts

/// The transactions and plans of evidence, each in the newest signed state that the evidence or a notification has.
struct EvidenceWithNotifications: Sendable {
    enum Limits {
        /// The chains of the evidence whose state is looked up.
        static let chains = 16
    }

    /// The transactions of the evidence, as long as no notification has added something.
    private let evidence: TransactionList
    private var newest: [Transaction] = []
    private var indices: [String: Int] = [:]
    private(set) var renewals: [Renewal]
    /// True if a notification has added something.
    private(set) var isNotified = false
    /// The time of the signature over transactions that have none of their own.
    private let signingTime: Timestamp?
    /// The time up to which the state of each chain is known.
    private var known: [String: Timestamp] = [:]

    /// - Parameter states: the states from notifications; only states that were signed later count.
    init(_ evidence: VerifiedEvidence?, _ states: [CustomerState]) {
        self.evidence = evidence?.transactions ?? TransactionList([])
        renewals = evidence?.renewals ?? []
        signingTime = evidence?.signingTime
        guard !states.isEmpty else { return }
        newest = self.evidence.values
        indices = newest.indicesByID
        for state in states { add(state) }
    }

    var transactions: TransactionList { isNotified ? TransactionList(newest) : evidence }

    /// The time up to which the state of all chains is known; nil if no notification has reported any.
    var knownUntil: Timestamp? {
        guard isNotified, let signingTime else { return nil }
        let periods = Dictionary(grouping: newest.filter(\.isSubscription), by: \.chainID)
        return Set(newest.map(\.chainID)).map { chain in
            // The notification of a refund has the refunded period alone, and a later period may go on.
            let endsWithRefund = periods[chain].map { $0.latest.cancellationDate != nil } ?? false
            return endsWithRefund ? signingTime : max(known[chain] ?? signingTime, signingTime)
        }.min()
    }

    private mutating func add(_ state: CustomerState) {
        guard let signedDate = state.signedDate else { return }
        for transaction in state.transactions { add(transaction) }
        for renewal in state.renewals { add(renewal) }
        // A receipt, as in version 1, says nothing about the plan. Apple's earlier answer did.
        for id in Set(state.transactions.map(\.chainID)) where !state.lacksPlan(of: id) {
            known[id] = max(known[id] ?? signedDate, signedDate)
        }
    }

    private mutating func add(_ new: Transaction) {
        let isLatest = indices[new.transactionID].map { isSignedLater(new.signedDate, than: newest[$0].signedDate) }
        guard isLatest ?? true else { return }
        newest.add(new, &indices) { $0 = new }
        isNotified = true
    }

    private mutating func add(_ new: Renewal) {
        if let index = renewals.firstIndex(where: { $0.originalTransactionID == new.originalTransactionID }) {
            let known = renewals[index]
            var newest = isSignedLater(new.signedDate, than: known.signedDate) ? new : known
            // A client may have a newer plan, but not what only notifications say.
            newest.status = [known.status, new.status].compactMap(\.self).max { $0.date < $1.date }
            newest.adoptChange(of: new)
            guard newest != known else { return }
            renewals[index] = newest
        } else {
            renewals.append(new)
        }
        isNotified = true
    }

    /// Evidence without a signing time is older than what Apple reports about it.
    private func isSignedLater(_ new: Timestamp?, than known: Timestamp?) -> Bool {
        guard let new else { return false }
        return (known ?? signingTime).map { $0 < new } ?? true
    }
}

extension CustomerState {
    /// True for a subscription whose periods are known, and not its plan.
    fileprivate func lacksPlan(of chain: String) -> Bool {
        renewals.isEmpty && transactions.contains { $0.isSubscription && $0.chainID == chain }
    }
}
