// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// Values bounded in bytes, the least recently used of which are forgotten.
///
/// Inlinable, so that who uses it gets code made for its keys: a look-up is most of what a repeated answer costs.
///
/// Two generations approximate "least recently used" without a list: values enter the young one and are moved back to it
/// when they are found in the old one; when the young one is full it becomes the old one, and the old one is gone.
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

    /// - Parameter maximumBytes: what both generations together may take; 0 keeps nothing.
    @inlinable public init(maximumBytes: Int) {
        maximumYoungByteCount = maximumBytes / 2
    }

    /// The value for a key.
    @inlinable public mutating func find(_ key: Key) -> Value? {
        if let value = young.entries[key]?.value { return value }
        guard let entry = old.remove(key) else { return nil }
        insert(entry, for: key)
        return entry.value
    }

    /// Keeps a value that takes so many bytes, its key included. One larger than a generation is not kept.
    @inlinable public mutating func insert(_ value: Value, for key: Key, byteCount: Int) {
        insert(Entry(value: value, byteCount: byteCount), for: key)
    }

    /// Forgets the value for a key.
    /// - Returns: whether there was one.
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

    /// Forgets the old generation; the young one takes its place.
    @inlinable mutating func age() {
        old = young
        young = Generation()
    }

    /// What both generations take.
    @inlinable var byteCount: Int { young.byteCount + old.byteCount }
}
