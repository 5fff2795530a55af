// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// A least recently used cache, bounded in bytes.
///
/// Public and inlinable, so that the code is specialised for its keys: `package` functions never are in other targets (Swift
/// 6.3). A look-up is a good part of a repeated answer.
///
/// Two generations approximate the order of use without a list. Values enter the young one, and return to it when they
/// are found in the old one. When the young one is full it becomes the old one, and the old one is dropped.
public struct Generations<Key: Hashable & Sendable, Value: Sendable>: Sendable {
    @usableFromInline typealias Entry = (value: Value, byteCount: Int)

    @usableFromInline struct Generation: Sendable {
        @usableFromInline var entries: [Key: Entry] = [:]
        @usableFromInline var byteCount = 0

        @usableFromInline init() {}

        @inlinable mutating func remove(_ key: Key) -> Entry? {
            guard let entry = entries.removeValue(forKey: key) else { return nil }
            byteCount -= entry.byteCount
            return entry
        }

        @inlinable mutating func insert(_ entry: Entry, for key: Key) {
            entries[key] = entry
            byteCount += entry.byteCount
        }
    }

    @usableFromInline var young = Generation()
    @usableFromInline var old = Generation()
    @usableFromInline let maximumYoungByteCount: Int

    /// - Parameter maximumBytes: the limit of both generations together; 0 keeps nothing.
    @inlinable public init(maximumBytes: Int) {
        maximumYoungByteCount = maximumBytes / 2
    }

    /// Returns a value, which counts as used now.
    @inlinable public mutating func find(_ key: Key) -> Value? {
        if let value = young.entries[key]?.value { return value }
        guard let entry = old.remove(key) else { return nil }
        insert(entry, for: key)
        return entry.value
    }

    /// Stores a value of this size, its key included. A value larger than a generation is not stored.
    @inlinable public mutating func insert(_ value: Value, for key: Key, byteCount: Int) {
        insert((value: value, byteCount: byteCount), for: key)
    }

    /// - Returns: true if there was one.
    @discardableResult @inlinable
    public mutating func remove(_ key: Key) -> Bool {
        let removed = (young.remove(key), old.remove(key))
        return removed.0 != nil || removed.1 != nil
    }

    @inlinable mutating func insert(_ entry: Entry, for key: Key) {
        guard entry.byteCount <= maximumYoungByteCount else { return }
        _ = young.remove(key)
        if young.byteCount + entry.byteCount > maximumYoungByteCount { age() }
        young.insert(entry, for: key)
    }

    @inlinable mutating func age() {
        old = young
        young = Generation()
    }

    @inlinable var byteCount: Int { young.byteCount + old.byteCount }
}

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

    /// Returns a value of an owner, which counts as used now.
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
