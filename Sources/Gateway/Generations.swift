// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// Values bounded in bytes, the least recently used of which are forgotten.
///
/// Two generations approximate "least recently used" without a list: values enter the young one and are moved back to it
/// when they are found in the old one; when the young one is full it becomes the old one, and the old one is gone.
package struct Generations<Key: Hashable & Sendable, Value: Sendable>: Sendable {
    private struct Entry: Sendable {
        let value: Value
        let byteCount: Int
        let tags: [String]
    }

    private struct Generation: Sendable {
        var entries: [Key: Entry] = [:]
        var byteCount = 0
        /// The keys of the entries with a tag.
        var tagged: [String: Set<Key>] = [:]

        mutating func remove(_ key: Key) -> Entry? {
            guard let entry = entries.removeValue(forKey: key) else { return nil }
            byteCount -= entry.byteCount
            for tag in entry.tags where tagged[tag]?.remove(key) != nil && tagged[tag]?.isEmpty == true {
                tagged[tag] = nil
            }
            return entry
        }

        mutating func insert(_ entry: Entry, for key: Key) {
            entries[key] = entry
            byteCount += entry.byteCount
            for tag in entry.tags { tagged[tag, default: []].insert(key) }
        }
    }

    private var young = Generation()
    private var old = Generation()
    private let maximumYoungByteCount: Int

    /// - Parameter maximumBytes: what both generations together may take; 0 keeps nothing.
    package init(maximumBytes: Int) {
        maximumYoungByteCount = maximumBytes / 2
    }

    /// The value for a key.
    package mutating func find(_ key: Key) -> Value? {
        if let entry = young.entries[key] { return entry.value }
        guard let entry = old.remove(key) else { return nil }
        insert(entry, for: key)
        return entry.value
    }

    /// Keeps a value that takes so many bytes, its key and tags included. One larger than a generation is not kept.
    /// - Parameter tags: what it can be forgotten by.
    package mutating func insert(_ value: Value, for key: Key, byteCount: Int, tags: [String] = []) {
        insert(Entry(value: value, byteCount: byteCount, tags: tags), for: key)
    }

    /// Forgets the value for a key.
    /// - Returns: whether there was one.
    @discardableResult
    package mutating func remove(_ key: Key) -> Bool {
        let removed = (young.remove(key), old.remove(key))
        return removed.0 != nil || removed.1 != nil
    }

    /// Forgets all values with a tag.
    /// - Returns: their keys.
    package mutating func removeAll(tagged tag: String) -> [Key] {
        (young.tagged[tag] ?? []).union(old.tagged[tag] ?? []).filter { remove($0) }
    }

    private mutating func insert(_ entry: Entry, for key: Key) {
        guard entry.byteCount <= maximumYoungByteCount else { return }
        _ = young.remove(key)
        if young.byteCount + entry.byteCount > maximumYoungByteCount {
            old = young
            young = Generation()
        }
        young.insert(entry, for: key)
    }
}
