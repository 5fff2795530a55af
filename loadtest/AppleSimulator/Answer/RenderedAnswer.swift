// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import NIOCore
internal import Receipts

/// An answer that is complete but for the dates of the request, so that it can be given many times.
struct RenderedAnswer: Sendable {
    let status: Int
    private let head: [UInt8]
    private let tail: [UInt8]

    /// - Parameter placeOfRequestDate: where the dates of the request belong; nil if the answer has none.
    init(status: Int, _ json: JSONText, placeOfRequestDate: Int?) {
        self.status = status
        head = Array(json.bytes.prefix(placeOfRequestDate ?? json.bytes.count))
        tail = Array(json.bytes.dropFirst(head.count))
    }

    /// What it takes in memory.
    var byteCount: Int { head.count + tail.count }

    /// The answer to a request made now.
    func body(requestedAt now: Timestamp) -> ByteBuffer {
        var body = ByteBuffer()
        body.reserveCapacity(byteCount + 256)
        body.writeBytes(head)
        if !tail.isEmpty {
            let date = AppleDate(now)
            body.writeString(
                ",\"request_date\":\"\(date.plain)\",\"request_date_ms\":\"\(date.milliseconds)\""
                    + ",\"request_date_pst\":\"\(date.losAngeles)\"")
            body.writeBytes(tail)
        }
        return body
    }
}
