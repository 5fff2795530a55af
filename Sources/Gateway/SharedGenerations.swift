// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// Values of several owners, bounded in bytes for all of them together.
///
/// An owner may take everything that the others leave. Once all is taken, the owner that takes the most loses its old
/// values, whoever adds one. So an owner with a small share keeps it, however many values another adds.
public struct SharedGenerations<Owner: Hashable & Sendable, Key: Hashable & Sendable, Value: Sendable>: Sendable {
    @usableFromInline var shares: [Owner: Generations<Key, Value>] = [:]
    @usableFromInline let maximumBytes: Int
    /// What all shares take, or more: what a share forgets by itself is subtracted when it matters.
    @usableFromInline var estimatedByteCount = 0

    /// - Parameter maximumBytes: what all values together may take; 0 keeps nothing.
    @inlinable public init(maximumBytes: Int) {
        self.maximumBytes = maximumBytes
    }

    /// An owner's value for a key.
    @inlinable public mutating func find(_ key: Key, of owner: Owner) -> Value? {
        shares[owner]?.find(key)
    }

    /// Keeps a value that takes so many bytes, its key included. One larger than half of all bytes is not kept.
    @inlinable public mutating func insert(_ value: Value, for key: Key, of owner: Owner, byteCount: Int) {
        guard byteCount <= maximumBytes / 2 else { return }
        shares[owner, default: Generations(maximumBytes: maximumBytes)].insertAgeing(
            value, for: key, byteCount: byteCount)
        estimatedByteCount += byteCount
        if estimatedByteCount > maximumBytes { makeRoom() }
    }

    @usableFromInline mutating func makeRoom() {
        estimatedByteCount = shares.values.reduce(0) { $0 + $1.byteCount }
        while estimatedByteCount > maximumBytes,
            let largest = shares.max(by: { $0.value.byteCount < $1.value.byteCount })
        {
            var share = largest.value
            share.age()
            estimatedByteCount -= largest.value.byteCount - share.byteCount
            shares[largest.key] = share.byteCount > 0 ? share : nil
        }
    }
}

extension Generations {
    /// Keeps a value, and has an old generation early: without one, making room would take everything.
    @inlinable mutating func insertAgeing(_ value: Value, for key: Key, byteCount: Int) {
        insert(value, for: key, byteCount: byteCount)
        if old.byteCount == 0, young.byteCount > maximumYoungByteCount / 4 { age() }
    }
}
