// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import AppleSimulator
internal import FoundationEssentials
internal import NIOCore
internal import ReceiptForge
internal import Receipts

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
