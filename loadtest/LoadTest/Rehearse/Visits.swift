// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import ReceiptForge

/// Which customer asks when: new ones come from the first to the last moment, the others come again.
struct Visits: Hashable, Sendable {
    /// Requests in all.
    let requests: Int
    /// Distinct receipts; of more than there are requests, the first ones come.
    let receipts: Int

    /// The number of the receipt, from 0, that a request is about.
    func receipt(ofRequest number: Int) -> Int {
        let known = customers(before: number)
        let isNew = customers(before: number + 1) > known
        if isNew || known == 0 { return known }
        var generator = SplitMix64(seed: RehearsalPlan.seed, purpose: "visit \(number)")
        return Int(generator.next() % UInt64(known))
    }

    /// How many came before a request; the first comes with the first request.
    private func customers(before number: Int) -> Int {
        let all = min(receipts, requests)
        return (number * all + requests - 1) / requests
    }
}
