// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import NIOCore

/// The requests that workers choose from.
struct ReceiptPools: Sendable {
    /// Sent again and again.
    var repeated: [PooledRequest]
    /// Sent once each, as long as there are some.
    var fresh: [PooledRequest] = []
    var nearExpiry: [PooledRequest] = []

    /// Bytes of all requests together.
    var byteCount: Int { (repeated + fresh + nearExpiry).reduce(0) { $0 + $1.bytes.readableBytes } }
}

/// A whole request, and where its receipt stands in it.
struct PooledRequest: Sendable {
    let bytes: ByteBuffer
    /// In base64.
    let receipt: Range<Int>
}

extension PooledRequest {
    init(_ receipt: String, _ form: RequestForm) {
        bytes = form.request(receipt)
        self.receipt = form.receiptRange(in: bytes, receiptBytes: receipt.utf8.count)
    }
}
