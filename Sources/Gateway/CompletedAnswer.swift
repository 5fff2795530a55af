// SPDX-License-Identifier: Apache-2.0

internal import Receipts

/// Apple's answer, completed by evidence that was signed later.
struct CompletedAnswer: Sendable {
    private(set) var transactions: [Transaction]
    private(set) var renewals: [Renewal]

    init(_ answer: UpstreamAnswer) { (transactions, renewals) = (answer.transactions, answer.renewals) }

    /// Returns true if one of these transactions is missing, or has another state.
    func differs(from sent: [Transaction]) -> Bool {
        let indices = indices(toFind: sent)
        return sent.contains { sent in
            index(of: sent, indices).map { !transactions[$0].isSameState(as: sent) } ?? true
        }
    }

    /// Takes over transactions of the evidence that have another state and were signed later. Adds missing transactions
    /// of this customer that were signed too late for Apple's index. Adds the plans of added chains, and replaces older
    /// plans.
    /// - Parameters:
    ///   - signedAt: the time of the signature over transactions that have none of their own.
    ///   - indexed: the answer has all purchases that were signed before this time.
    ///   - isOneCustomer: true if the answer is about the customer of all transactions that were sent.
    mutating func complete(
        with sent: [Transaction], _ plans: [Renewal], signedAt: Timestamp?, indexed: Timestamp,
        isOneCustomer: Bool = false
    ) {
        var added: Set<String> = []
        let answered = transactions
        lazy var chains = NamedChains(of: answered, and: sent)
        lazy var ties = PurchaseTies(answered)
        var indices = indices(toFind: sent)
        for sent in sent {
            guard let date = sent.signedDate ?? signedAt else { continue }
            guard let index = index(of: sent, indices) else {
                guard indexed < date, isOneCustomer || chains.contains(sent.chainID) || ties.connects(to: sent) else {
                    continue
                }
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

    /// Returns the indices by ID, or nil if a search for each transaction takes less. A receipt may have thousands.
    private func indices(toFind sent: [Transaction]) -> [String: Int]? {
        sent.count < 8 ? nil : transactions.indicesByID
    }

    private func index(of sent: Transaction, _ indices: [String: Int]?) -> Int? {
        guard let indices else { return transactions.firstIndex { $0.transactionID == sent.transactionID } }
        return indices[sent.transactionID]
    }

    private mutating func complete(with plan: Renewal, isOfAdded: Bool) {
        guard let index = renewals.firstIndex(where: { $0.originalTransactionID == plan.originalTransactionID }) else {
            if isOfAdded { renewals.append(plan) }
            return
        }
        if let known = renewals[index].signedDate, let date = plan.signedDate, known < date { renewals[index] = plan }
    }
}

/// The chains of an answer, under all names that the answer and the evidence show.
struct NamedChains {
    private let names: ChainNames
    private let known: Set<String>

    /// - Parameters:
    ///   - answer: the transactions of the answer.
    ///   - others: the transactions of the evidence.
    ///   - renewals: the plans of both.
    init(of answer: [Transaction], and others: [Transaction], _ renewals: [Renewal] = []) {
        let names = ChainNames(answer + others, renewals)
        self.names = names
        known = Set(answer.map { names.current($0.chainID) })
    }

    func contains(_ chain: String) -> Bool { known.contains(names.current(chain)) }
}

extension Transaction {
    /// Returns true if both give the same entitlement.
    fileprivate func isSameState(as other: Transaction) -> Bool {
        (cancellationDate == nil) == (other.cancellationDate == nil) && isUpgraded == other.isUpgraded
            && endsWith(other)
    }
}
