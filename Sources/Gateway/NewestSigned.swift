// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import Entitlements
internal import Receipts

/// Apple's answer, completed by evidence that was signed later.
struct NewestSigned: Sendable {
    private(set) var transactions: [Transaction]
    private(set) var renewals: [Renewal]

    init(_ answer: UpstreamAnswer) { (transactions, renewals) = (answer.transactions, answer.renewals) }

    /// Returns true if one of these transactions is missing, or has another state.
    func differs(from sent: [Transaction]) -> Bool {
        sent.contains { sent in transactions.index(of: sent).map { !transactions[$0].isSameState(as: sent) } ?? true }
    }

    /// Takes over those of the evidence's transactions that have another state and were signed later, and those that are
    /// missing, of this customer and signed too late for Apple's index; and their plans.
    /// - Parameters:
    ///   - signedAt: the time of the signature over transactions that have none of their own.
    ///   - indexed: the answer has all purchases that were signed before this time.
    ///   - isOneCustomer: true if the answer is about the customer of all transactions that were sent.
    mutating func complete(
        with sent: [Transaction], _ plans: [Renewal], signedAt: Timestamp?, indexed: Timestamp,
        isOneCustomer: Bool = false
    ) {
        var added: Set<String> = []
        lazy var customer = KnownCustomer(transactions, and: sent)
        // A receipt may have thousands.
        var indices =
            sent.count < 8
            ? nil : Dictionary(transactions.indices.map { (transactions[$0].transactionID, $0) }) { first, _ in first }
        for sent in sent {
            guard let date = sent.signedDate ?? signedAt else { continue }
            let found = indices.map { $0[sent.transactionID] } ?? transactions.index(of: sent)
            guard let index = found else {
                guard indexed < date, isOneCustomer || customer.has(sent) else { continue }
                indices?[sent.transactionID] = transactions.count
                transactions.append(sent)
                added.insert(sent.chainID)
                continue
            }
            guard let known = transactions[index].signedDate, known < date else { continue }
            if !transactions[index].isSameState(as: sent) { transactions[index] = sent }
        }
        for plan in plans { complete(with: plan, isOfAdded: added.contains(plan.originalTransactionID)) }
    }

    private mutating func complete(with plan: Renewal, isOfAdded: Bool) {
        guard let index = renewals.firstIndex(where: { $0.originalTransactionID == plan.originalTransactionID }) else {
            if isOfAdded { renewals.append(plan) }
            return
        }
        if let known = renewals[index].signedDate, let date = plan.signedDate, known < date { renewals[index] = plan }
    }
}

extension [Transaction] {
    fileprivate func index(of transaction: Transaction) -> Int? {
        firstIndex { $0.transactionID == transaction.transactionID }
    }
}

/// The chains and downloads by which the customer of an answer is known.
private struct KnownCustomer {
    private let names: ChainNames
    private let chains: Set<String>
    private let downloads: Set<String>

    /// - Parameter others: those from which other names of the chains are known.
    init(_ transactions: [Transaction], and others: [Transaction]) {
        let names = ChainNames(transactions + others)
        self.names = names
        chains = Set(transactions.map { names.current($0.chainID) })
        downloads = Set(transactions.compactMap { $0.signedFields?.value.appTransactionID })
    }

    /// Returns true if a transaction belongs to one of the chains, under any name, or to the same download of the app.
    func has(_ transaction: Transaction) -> Bool {
        chains.contains(names.current(transaction.chainID))
            || transaction.signedFields?.value.appTransactionID.map(downloads.contains) ?? false
    }
}

extension Transaction {
    /// Returns true if both give the same entitlement. App receipts have no milliseconds.
    fileprivate func isSameState(as other: Transaction) -> Bool {
        (cancellationDate == nil) == (other.cancellationDate == nil) && isUpgraded == other.isUpgraded
            && expiresDate.map { $0.millisecondsSince1970 / 1000 }
                == other.expiresDate.map { $0.millisecondsSince1970 / 1000 }
    }
}
