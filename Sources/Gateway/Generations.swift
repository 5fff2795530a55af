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
        @usableFromInline let tags: [String]

        @usableFromInline init(value: Value, byteCount: Int, tags: [String]) {
            (self.value, self.byteCount, self.tags) = (value, byteCount, tags)
        }
    }

    @usableFromInline struct Generation: Sendable {
        @usableFromInline var entries: [Key: Entry] = [:]
        @usableFromInline var byteCount = 0
        /// The keys of the entries with a tag.
        @usableFromInline var tagged: [String: Set<Key>] = [:]

        @usableFromInline init() {}

        @inlinable mutating func remove(_ key: Key) -> Entry? {
            guard let entry = entries.removeValue(forKey: key) else { return nil }
            byteCount -= entry.byteCount
            for tag in entry.tags where tagged[tag]?.remove(key) != nil && tagged[tag]?.isEmpty == true {
                tagged[tag] = nil
            }
            return entry
        }

        @inlinable mutating func insert(_ entry: Entry, for key: Key) {
            entries[key] = entry
            byteCount += entry.byteCount
            for tag in entry.tags { tagged[tag, default: []].insert(key) }
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

    /// Keeps a value that takes so many bytes, its key and tags included. One larger than a generation is not kept.
    /// - Parameter tags: what it can be forgotten by.
    @inlinable public mutating func insert(_ value: Value, for key: Key, byteCount: Int, tags: [String] = []) {
        insert(Entry(value: value, byteCount: byteCount, tags: tags), for: key)
    }

    /// Forgets the value for a key.
    /// - Returns: whether there was one.
    @discardableResult @inlinable
    package mutating func remove(_ key: Key) -> Bool {
        let removed = (young.remove(key), old.remove(key))
        return removed.0 != nil || removed.1 != nil
    }

    /// Forgets all values with a tag.
    /// - Returns: their keys.
    @inlinable public mutating func removeAll(tagged tag: String) -> [Key] {
        (young.tagged[tag] ?? []).union(old.tagged[tag] ?? []).filter { remove($0) }
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
