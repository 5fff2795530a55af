// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
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
    var chainsByAge: [String] {
        let newest = Dictionary(transactions.indices.map { (transactions[$0].chain, $0) }) {
            begins($0, before: $1) ? $1 : $0
        }
        return newest.sorted { begins($1.value, before: $0.value) }.map { texts[$0.key] }
    }
}

extension TransactionList {
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
