// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import NIOCore
internal import Receipts

/// An answer without the dates of the request, for sending it many times.
struct RenderedAnswer: Sendable {
    let status: Int
    private let head: [UInt8]
    private let tail: [UInt8]

    /// - Parameter placeOfRequestDate: the position for the dates of the request; nil if the answer has none.
    init(status: Int, _ json: JSONText, placeOfRequestDate: Int?) {
        self.status = status
        head = Array(json.bytes.prefix(placeOfRequestDate ?? json.bytes.count))
        tail = Array(json.bytes.dropFirst(head.count))
    }

    var byteCount: Int { head.count + tail.count }

    /// Returns the answer to a request made now.
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
