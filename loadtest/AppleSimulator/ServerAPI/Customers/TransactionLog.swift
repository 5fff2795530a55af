// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import Receipts

/// The order in which a customer's transactions changed. A revision names a place in it.
struct TransactionLog: Hashable, Sendable {
    private struct Entry: Hashable, Sendable {
        let claims: Fingerprint
        let number: Int64
    }

    private var entries: [String: Entry] = [:]
    /// The number of the last change.
    private(set) var last: Int64 = 0

    /// Gives a new number to each transaction whose claims are new or other than before, in the order of the list.
    mutating func note(_ transactions: [(id: String, claims: Fingerprint)]) {
        for (id, claims) in transactions where entries[id]?.claims != claims {
            last += 1
            entries[id] = Entry(claims: claims, number: last)
        }
    }

    /// Returns the number of a transaction's last change.
    func number(of id: String) -> Int64 { entries[id]?.number ?? 0 }
}
