// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// A least recently used cache for several owners, bounded in bytes for all of them together.
///
/// An owner may take all space that the others leave. Once it is full, the largest owner loses its old values,
/// whichever owner adds one. So many values of one owner do not push out the small share of another.
public struct SharedGenerations<Owner: Hashable & Sendable, Key: Hashable & Sendable, Value: Sendable>: Sendable {
    @usableFromInline var shares: [Owner: Generations<Key, Value>] = [:]
    @usableFromInline let maximumBytes: Int
    /// The bytes of all shares, or more: values that a share drops by itself are subtracted when needed.
    @usableFromInline var estimatedByteCount = 0

    /// - Parameter maximumBytes: the limit of all values together; 0 keeps nothing.
    @inlinable public init(maximumBytes: Int) {
        self.maximumBytes = maximumBytes
    }

    /// Returns an owner's value for a key.
    @inlinable public mutating func find(_ key: Key, of owner: Owner) -> Value? {
        shares[owner]?.find(key)
    }

    /// Stores a value of this size, its key included. A value larger than half of all bytes is not stored.
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
    /// Stores a value and ages early: without an old generation, making room would drop everything.
    @inlinable mutating func insertAgeing(_ value: Value, for key: Key, byteCount: Int) {
        insert(value, for: key, byteCount: byteCount)
        if old.byteCount == 0, young.byteCount > maximumYoungByteCount / 4 { age() }
    }
}
