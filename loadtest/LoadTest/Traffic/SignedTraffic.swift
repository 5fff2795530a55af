// SPDX-License-Identifier: Apache-2.0

internal import AppleSimulator
internal import FoundationEssentials
internal import NIOCore
internal import ReceiptForge
internal import Receipts

/// Requests of one customer's signed transactions, some in no earlier request. They are made as they are sent: signing
/// takes less time than verifying, and a stock for minutes would take gigabytes.
struct SignedTraffic: LoadTraffic {
    let pki: TransactionPKI
    let target: LoadTarget
    /// The transactions that all requests have, as texts of JSON.
    let known: [String]
    let newTransactions: Int
    var generator: SplitMix64

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

/// Makes the notifications of a run as whole requests, in parallel.
struct NotificationFactory: Sendable {
    let pki: TransactionPKI
    let form: RequestForm
    /// The number of customers that they are about.
    var customers = 1000
    var bundleID = SimulatedCustomers.bundleID
    var seed: UInt64 = 1

    /// Makes notifications in the order of signing; the last is signed at `end`.
    func requests(_ count: Int, until end: Timestamp, made: (Int) -> Void = { _ in }) async -> [ByteBuffer] {
        let series = NotificationSeries(
            customers: customers, bundleID: bundleID, from: end.advanced(by: .milliseconds(1 - count)), seed: seed)
        return await .madeInParallel(count, progress: made) { [pki, form] number in
            form.request(String(decoding: series.notification(number, signedBy: pki), as: UTF8.self))
        }
    }
}

extension Timestamp {
    static var now: Timestamp { Timestamp(millisecondsSince1970: Int64(Date().timeIntervalSince1970 * 1000)) }
}
