// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import NIOCore

/// Buffers to read into, sized by what arrived lately, and a new one for each read.
///
/// A connection would otherwise keep the buffers its last request came in, for its next: ten thousand idle connections
/// more of them than there are ever requests at one time. It still keeps the first, which is small. For this a connection
/// must read once each time (`maxMessagesPerRead`).
struct FreshReceiveBuffers: RecvByteBufferAllocator {
    /// The first read brings a header, and most of an ordinary body behind it comes with the second.
    private static let firstBytes = 1024
    private var sizes = AdaptiveRecvByteBufferAllocator(minimum: 1024, initial: 16_384, maximum: 65_536)
    private var isFirst = true

    func buffer(allocator: ByteBufferAllocator) -> ByteBuffer {
        isFirst ? allocator.buffer(capacity: Self.firstBytes) : sizes.buffer(allocator: allocator)
    }

    /// - Returns: true, because only a buffer that may grow is replaced.
    mutating func record(actualReadBytes: Int) -> Bool {
        if !isFirst { _ = sizes.record(actualReadBytes: actualReadBytes) }
        isFirst = false
        return true
    }
}
