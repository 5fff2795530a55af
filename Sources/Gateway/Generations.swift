// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// A least recently used cache, bounded in bytes.
///
/// Inlinable, so that the code is specialised for its keys: a look-up is most of the cost of a repeated answer.
///
/// Two generations approximate the order of use without a list. Values enter the young one, and return to it when they
/// are found in the old one. When the young one is full it becomes the old one, and the old one is dropped.
public struct Generations<Key: Hashable & Sendable, Value: Sendable>: Sendable {
    @usableFromInline struct Entry: Sendable {
        @usableFromInline let value: Value
        @usableFromInline let byteCount: Int

        @usableFromInline init(value: Value, byteCount: Int) {
            (self.value, self.byteCount) = (value, byteCount)
        }
    }

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

    /// Returns the value for a key.
    @inlinable public mutating func find(_ key: Key) -> Value? {
        if let value = young.entries[key]?.value { return value }
        guard let entry = old.remove(key) else { return nil }
        insert(entry, for: key)
        return entry.value
    }

    /// Stores a value of this size, its key included. A value larger than a generation is not stored.
    @inlinable public mutating func insert(_ value: Value, for key: Key, byteCount: Int) {
        insert(Entry(value: value, byteCount: byteCount), for: key)
    }

    /// Removes the value for a key.
    /// - Returns: true if there was one.
    @discardableResult @inlinable
    package mutating func remove(_ key: Key) -> Bool {
        let removed = (young.remove(key), old.remove(key))
        return removed.0 != nil || removed.1 != nil
    }

    @inlinable mutating func insert(_ entry: Entry, for key: Key) {
        guard entry.byteCount <= maximumYoungByteCount else { return }
        _ = young.remove(key)
        if young.byteCount + entry.byteCount > maximumYoungByteCount { age() }
        young.insert(entry, for: key)
    }

    /// Drops the old generation; the young one replaces it.
    @inlinable mutating func age() {
        old = young
        young = Generation()
    }

    /// The bytes of both generations.
    @inlinable var byteCount: Int { young.byteCount + old.byteCount }
}
