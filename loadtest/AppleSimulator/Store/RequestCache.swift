// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import Receipts

/// A cache of recent requests, up to a number of bytes. Two generations: when the young one reaches half of the limit,
/// it becomes the old one, and unused entries of the old one are dropped.
struct RequestCache: Sendable {
    private let maximumBytes: Int
    private var young: [Fingerprint: ReceiptRequest] = [:]
    private var old: [Fingerprint: ReceiptRequest] = [:]
    private var youngBytes = 0

    init(maximumBytes: Int) {
        self.maximumBytes = maximumBytes
    }

    var count: Int { young.count + old.count }

    mutating func request(_ body: Fingerprint, byteCount: Int) -> ReceiptRequest? {
        if let request = young[body] { return request }
        guard let request = old.removeValue(forKey: body) else { return nil }
        insert(request, body, byteCount: byteCount)
        return request
    }

    /// Stores a request. Its fields and its last answer take a few times the size of its body.
    mutating func insert(_ request: ReceiptRequest, _ body: Fingerprint, byteCount: Int) {
        let cost = 4 * byteCount + 1024
        if youngBytes + cost > maximumBytes / 2 {
            (old, young, youngBytes) = (young, [:], 0)
        }
        young[body] = request
        youngBytes += cost
    }
}
