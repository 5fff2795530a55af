// SPDX-License-Identifier: Apache-2.0

public import Synchronization

/// Parts of a value, each with a lock of its own, so that threads that use different keys seldom wait for each other.
public struct Sharded<Part: Sendable>: ~Copyable, Sendable {
    @usableFromInline let parts: InlineArray<16, Mutex<Part>>
    @usableFromInline let mask: Int

    /// - Parameters:
    ///   - count: the number of parts wanted. There are 1, 2, 4, 8 or 16, and no more than this unless it is below 1.
    ///   - part: returns one of so many parts.
    public init(upTo count: Int, part: (_ count: Int) -> Part) {
        let powers = [16, 8, 4, 2]
        let count = powers.first { $0 <= count } ?? 1
        mask = count - 1
        parts = InlineArray { _ in Mutex(part(count)) }
    }

    /// Calls a function with one part, alone.
    /// - Parameter hash: the number that decides which part. Its lower bits must be evenly distributed.
    @inlinable public func withLock<Result: Sendable>(at hash: Int, _ body: (inout Part) -> Result) -> Result {
        parts[hash & mask].withLock { body(&$0) }
    }
}
