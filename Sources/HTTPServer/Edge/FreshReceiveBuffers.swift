// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import NIOCore

/// Read buffers sized by recent reads, a new buffer for each read.
///
/// Otherwise each idle connection keeps the buffers of its last request: with ten thousand of them, more buffers than
/// there are ever requests at one time. Only the first buffer is kept, which is small. A connection must read once per
/// cycle (`maxMessagesPerRead`).
struct FreshReceiveBuffers: RecvByteBufferAllocator {
    /// The size for the first read, which brings a header. Most of an ordinary body comes with the second.
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
