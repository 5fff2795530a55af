// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// The hashes of recently evicted keys. A later hash overwrites an earlier hash with the same position, so there is no
/// order to keep. One of 2^32 unknown hashes is taken for known.
@usableFromInline struct RecentHashes: Sendable {
    /// The upper halves of the hashes. The lower bits are the position.
    @usableFromInline var upperHalves: [UInt32] = []

    @inlinable init() {}

    @inlinable func contains(_ hash: Int) -> Bool {
        !upperHalves.isEmpty && upperHalves[hash & (upperHalves.count - 1)] == Self.upperHalf(of: hash)
    }

    /// - Parameter capacity: the number of positions, a power of two. A changed capacity loses earlier hashes.
    @inlinable mutating func insert(_ hash: Int, capacity: Int) {
        if upperHalves.count != capacity { upperHalves = Array(repeating: 0, count: capacity) }
        upperHalves[hash & (capacity - 1)] = Self.upperHalf(of: hash)
    }

    @inlinable static func upperHalf(of hash: Int) -> UInt32 { UInt32(truncatingIfNeeded: hash >> 32) }
}
