// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// Values bounded in bytes, the least recently used of which are forgotten.
///
/// Two generations approximate "least recently used" without a list: values enter the young one and are moved back to it
/// when they are found in the old one; when the young one is full it becomes the old one, and the old one is gone.
struct Generations<Key: Hashable & Sendable, Value: Sendable>: Sendable {
    private struct Entry: Sendable {
        let value: Value
        let byteCount: Int
    }

    private var young: [Key: Entry] = [:]
    private var old: [Key: Entry] = [:]
    private var youngByteCount = 0
    private let maximumYoungByteCount: Int

    /// - Parameter maximumBytes: what both generations together may take; 0 keeps nothing.
    init(maximumBytes: Int) {
        maximumYoungByteCount = maximumBytes / 2
    }

    /// The value for a key.
    mutating func find(_ key: Key) -> Value? {
        if let entry = young[key] { return entry.value }
        guard let entry = old.removeValue(forKey: key) else { return nil }
        insert(entry, for: key)
        return entry.value
    }

    /// Keeps a value that takes so many bytes, its key included. One larger than a generation is not kept.
    mutating func insert(_ value: Value, for key: Key, byteCount: Int) {
        insert(Entry(value: value, byteCount: byteCount), for: key)
    }

    private mutating func insert(_ entry: Entry, for key: Key) {
        guard entry.byteCount <= maximumYoungByteCount else { return }
        if let replaced = young.removeValue(forKey: key) { youngByteCount -= replaced.byteCount }
        if youngByteCount + entry.byteCount > maximumYoungByteCount {
            old = young
            young = [:]
            youngByteCount = 0
        }
        young[key] = entry
        youngByteCount += entry.byteCount
    }
}
