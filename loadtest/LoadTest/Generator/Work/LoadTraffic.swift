// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import NIOCore

/// What one worker sends: an endless sequence of requests, whole as they go over the wire. The same seed and number of a
/// worker give the same sequence.
protocol LoadTraffic: Sendable {
    /// The next request.
    mutating func next() -> ByteBuffer
}

/// One request, again and again.
struct SameRequest: LoadTraffic {
    let request: ByteBuffer

    func next() -> ByteBuffer { request }
}
