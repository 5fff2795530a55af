// SPDX-License-Identifier: Apache-2.0

/// A cache of what was used recently, up to a number of bytes. There are two generations. When the young generation
/// reaches half of the limit, it becomes the old generation, and unused entries of the previous old generation are
/// dropped.
struct RecentCache<Key: Hashable & Sendable, Value: Sendable>: Sendable {
    private let maximumBytes: Int
    private var young: [Key: Value] = [:]
    private var old: [Key: Value] = [:]
    private var youngBytes = 0

    init(maximumBytes: Int) {
        self.maximumBytes = maximumBytes
    }

    var count: Int { young.count + old.count }

    /// - Parameter byteCount: the memory that the value takes.
    mutating func value(_ key: Key, byteCount: Int) -> Value? {
        if let value = young[key] { return value }
        guard let value = old.removeValue(forKey: key) else { return nil }
        insert(value, key, byteCount: byteCount)
        return value
    }

    mutating func insert(_ value: Value, _ key: Key, byteCount: Int) {
        if youngBytes + byteCount > maximumBytes / 2 {
            (old, young, youngBytes) = (young, [:], 0)
        }
        young[key] = value
        youngBytes += byteCount
    }
}
