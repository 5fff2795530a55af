// SPDX-License-Identifier: Apache-2.0

internal import Receipts

/// The names of chains that have several: Apple may replace an original transaction ID, and then names the previous ID
/// (`previousOriginalTransactionId`); and copies of one period may have chains of their own.
struct InternedChainNames: Sendable {
    private enum Limits {
        /// The names of one chain that are followed. Apple renames chains rarely.
        static let names = 64
    }

    private var renamed: [InternedText: InternedText] = [:]
    /// The chains of copies, each with the chain that gives the name.
    private var joined: [InternedText: InternedText] = [:]

    init(_ facts: EntitlementFacts) {
        for plan in facts.plans {
            if let previous = plan.previousChain { renamed[previous] = plan.chain }
        }
        for transaction in facts.transactions {
            if let previous = transaction.previousChain { renamed[previous] = transaction.chain }
        }
        joinCopies(in: facts)
    }

    /// Names the chains of a period's copies after the chain that began first.
    private mutating func joinCopies(in facts: EntitlementFacts) {
        guard facts.transactions.contains(where: { $0.chain != facts.transactions[0].chain }) else { return }
        let transactions = facts.transactions
        var firsts: [PeriodFacts: Int] = [:]
        for index in transactions.indices {
            guard let period = PeriodFacts(transactions[index]) else { continue }
            guard let known = firsts[period] else {
                firsts[period] = index
                continue
            }
            let isFirst = transactions[index].namesCopies(before: transactions[known], facts.texts)
            let (first, other) = isFirst ? (index, known) : (known, index)
            let (name, previous) = (current(transactions[first].chain), current(transactions[other].chain))
            if previous != name { joined[previous] = name }
            firsts[period] = first
        }
    }

    /// Returns true if both are names of one chain that Apple renamed. Copies have plans of their own.
    func isSameChain(_ one: InternedText, _ other: InternedText) -> Bool {
        one == other || followed(one, false) == followed(other, false)
    }

    /// Returns the chain's present name: Apple may have renamed it more than once.
    func current(_ chain: InternedText) -> InternedText { followed(chain, true) }

    private func followed(_ chain: InternedText, _ followsCopies: Bool) -> InternedText {
        var chain = chain
        // Bounded, as two chains may name each other.
        for _ in 0..<min(renamed.count + joined.count, Limits.names) {
            guard let next = renamed[chain] ?? (followsCopies ? joined[chain] : nil) else { break }
            chain = next
        }
        return chain
    }
}

extension TransactionFacts {
    /// Returns true for the copy of the chain that began first. If both began together, the smaller ID decides.
    fileprivate func namesCopies(before other: Self, _ texts: InternedTexts) -> Bool {
        let (begin, otherBegin) = (originalPurchaseDate ?? .latest, other.originalPurchaseDate ?? .latest)
        return begin == otherBegin ? texts[chain] < texts[other.chain] : begin < otherBegin
    }
}

/// The present names of chains, by their IDs.
package struct ChainNames: Sendable {
    private let names: InternedChainNames
    private let texts: InternedTexts

    package init(_ transactions: [Transaction], _ renewals: [Renewal] = []) {
        let facts = EntitlementFacts(TransactionList(transactions), renewals)
        (names, texts) = (InternedChainNames(facts), facts.texts)
    }

    /// Returns the chain's present name; the ID itself for an unknown chain.
    package func current(_ id: String) -> String { texts.find(id).map { texts[names.current($0)] } ?? id }
}
