// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import NIOCore
internal import ReceiptForge

/// Requests of one customer's signed transactions, some in no earlier request. They are made as they are sent: signing
/// takes less time than verifying, and a stock for minutes would take gigabytes.
struct SignedTraffic: LoadTraffic {
    private let pki: TransactionPKI
    private let target: LoadTarget
    /// The transactions that all requests have, as texts of JSON.
    private let known: [String]
    /// The number of new transactions in each request.
    private let newTransactions: Int
    private var generator: SplitMix64

    /// - Parameter purpose: the name of the random stream; another name gives other new transactions.
    init(
        _ pki: TransactionPKI, known: [String], new newTransactions: Int, target: LoadTarget, purpose: String
    ) {
        self.pki = pki
        self.known = known
        self.newTransactions = newTransactions
        self.target = target
        generator = SplitMix64(seed: 1, purpose: purpose)
    }

    mutating func next() -> ByteBuffer {
        let transactions = known + (0..<newTransactions).map { _ in pki.transaction(using: &generator) }
        let body = #"{"signed_transactions":["# + transactions.joined(separator: ",") + "]}"
        return RequestForm.request("POST", target, [], body: Array(body.utf8))
    }
}

extension TransactionPKI {
    /// Returns a random signed transaction as a JSON text.
    func transaction(using generator: inout SplitMix64) -> String {
        "\"" + String(decoding: jws(TransactionContents.random(using: &generator)), as: UTF8.self) + "\""
    }
}
