// SPDX-License-Identifier: Apache-2.0

internal import Receipts

/// Transactions and plans, and the facts of each by its index. An object, because every rule looks into it.
final class EntitlementFacts: Sendable {
    let list: TransactionList
    let renewals: [Renewal]
    let transactions: [TransactionFacts]
    let plans: [PlanFacts]
    let texts: InternedTexts

    init(_ list: TransactionList, _ renewals: [Renewal] = []) {
        var texts = InternedTexts()
        transactions = list.facts(&texts)
        plans = renewals.map { PlanFacts($0, &texts) }
        (self.list, self.renewals, self.texts) = (list, renewals, texts)
    }

    /// The IDs of the chains, the chain with the newest transaction first, in any order of the list.
    var chainsByAge: [String] { newestOfChains.map { texts[transactions[$0].chain] } }

    /// The same with the chains of consumables last: few states of theirs matter.
    var lastingChainsFirst: [String] {
        let newest = newestOfChains, lasting = newest.filter { !transactions[$0].isConsumable }
        return (lasting + newest.filter { transactions[$0].isConsumable }).map { texts[transactions[$0].chain] }
    }

    /// The index of each chain's newest transaction, the newest of all first.
    private var newestOfChains: [Int] {
        let newest = Dictionary(transactions.indices.map { (transactions[$0].chain, $0) }) {
            begins($0, before: $1) ? $1 : $0
        }
        return newest.values.sorted { begins($1, before: $0) }
    }
}

/// Transactions as values, or the purchases of a receipt, which become transactions on access. Most receipts are evaluated
/// and written once, and need no values.
package struct TransactionList: RandomAccessCollection, Sendable {
    private enum Storage: Sendable {
        case values([Transaction])
        case purchases(InAppPurchases)
    }

    private let storage: Storage

    package init(_ transactions: [Transaction]) { storage = .values(transactions) }

    init(_ purchases: InAppPurchases) { storage = .purchases(purchases) }

    package var startIndex: Int { 0 }

    package var endIndex: Int {
        switch storage {
        case .values(let transactions): transactions.count
        case .purchases(let purchases): purchases.count
        }
    }

    package subscript(index: Int) -> Transaction {
        switch storage {
        case .values(let transactions): transactions[index]
        case .purchases(let purchases): Transaction(purchases[index])
        }
    }

    /// The purchases of a receipt; nil for values.
    var purchases: InAppPurchases? { if case .purchases(let purchases) = storage { purchases } else { nil } }

    package var values: [Transaction] {
        switch storage {
        case .values(let transactions): transactions
        case .purchases(let purchases): purchases.map { Transaction($0) }
        }
    }

    /// Returns a transaction's ID without the transaction.
    func transactionID(at index: Int) -> String {
        switch storage {
        case .values(let transactions): transactions[index].transactionID
        case .purchases(let purchases): purchases[index].transactionID
        }
    }

    fileprivate func facts(_ texts: inout InternedTexts) -> [TransactionFacts] {
        var facts: [TransactionFacts] = []
        facts.reserveCapacity(count)
        guard let purchases else {
            let values = values
            // By index, so that no transaction is copied.
            for index in values.indices { facts.append(TransactionFacts(values[index], &texts)) }
            return facts
        }
        var previous: InAppPurchase?
        for index in purchases.indices {
            let purchase = purchases[index]
            facts.append(TransactionFacts(purchase, after: previous, facts.last, &texts))
            previous = purchase
        }
        return facts
    }
}

/// A text by its number in `InternedTexts`: a rule compares and copies numbers.
struct InternedText: Hashable, Comparable, Sendable {
    fileprivate let number: UInt32

    /// The order in which the texts were found.
    static func < (one: Self, other: Self) -> Bool { one.number < other.number }
}

/// The distinct texts of one list of facts: equal texts have equal numbers.
struct InternedTexts: Sendable {
    private enum Limits {
        /// The texts that are searched one by one: most lists have a product and a chain.
        static let searched = 8
    }

    private var texts: [String] = []
    /// The numbers of all texts; empty while they are few.
    private var numbers: [String: InternedText] = [:]

    subscript(text: InternedText) -> String { texts[Int(text.number)] }

    func find(_ text: String) -> InternedText? {
        guard texts.count <= Limits.searched else { return numbers[text] }
        return texts.firstIndex(of: text).map(Self.number)
    }

    mutating func intern(_ text: String) -> InternedText {
        if let known = find(text) { return known }
        texts.append(text)
        let new = Self.number(texts.count - 1)
        if texts.count == Limits.searched + 1 {
            for index in texts.indices { numbers[texts[index]] = Self.number(index) }
        } else if texts.count > Limits.searched {
            numbers[text] = new
        }
        return new
    }

    mutating func intern(_ text: String?) -> InternedText? { text.map { intern($0) } }

    /// A list has far fewer texts than 2^32.
    private static func number(_ index: Int) -> InternedText {
        InternedText(number: UInt32(truncatingIfNeeded: index))
    }
}
