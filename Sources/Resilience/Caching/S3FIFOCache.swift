// SPDX-License-Identifier: Apache-2.0

/// A cache bounded in bytes, with the eviction of S3-FIFO (Yang, Zhang, Qiu, Yue and Rashmi, "FIFO Queues are All You
/// Need for Cache Eviction", SOSP 2023).
///
/// ```
/// new value ──▶ small queue ─used─▶ main queue ─used─▶ once more, up to three times
///                    └─▶ evicted         └─▶ evicted
/// ```
///
/// Keys that come once pass through the small queue, a tenth of the bytes, and evict little else. A key that returns soon
/// after its eviction from there enters the main queue. A hit changes one byte.
///
/// Values may have owners. Each owner has two queues, and may take all space that the other owners leave. Once the
/// cache is full, the largest owner loses a value, whichever owner adds a value. So many values of one owner do not
/// evict the small share of another.
///
/// Public and inlinable, so that the code is specialised for its keys: `package` functions never are in other targets (Swift
/// 6.3). A look-up is a good part of a repeated answer.
public struct S3FIFOCache<Key: Hashable & Sendable, Value: Sendable>: Sendable {
    @usableFromInline var table = SlotTable<Key, Value>()
    @usableFromInline var shares = OwnerShares()
    @usableFromInline var evictedKeys = RecentHashes()
    @usableFromInline let maximumBytes: Int
    /// The bytes of all values, with their bookkeeping.
    @usableFromInline var byteCount = 0

    /// - Parameter maximumBytes: the limit of all values together; 0 keeps nothing.
    @inlinable public init(maximumBytes: Int) {
        self.maximumBytes = maximumBytes
    }

    /// The bookkeeping of a value: a slot, and its part of the hash tables, which are up to half empty. While the array
    /// of slots grows, up to half of the array is empty, too.
    @inlinable public static var entryBytes: Int { MemoryLayout<Slot<Key, Value>>.stride + 16 }

    /// The uses that are counted, as in the paper.
    @inlinable static var maximumUses: UInt8 { 3 }

    /// The values that one eviction passes over. If all have been used, the next value is evicted nevertheless: an
    /// insertion must not take milliseconds.
    @inlinable static var maximumPasses: Int { 1000 }

    @inlinable var maximumValueBytes: Int { min(maximumBytes / 2, Int(Int32.max)) }
}

// MARK: - Values

extension S3FIFOCache {
    /// Returns a value, which counts as used now.
    @inlinable public mutating func find(_ key: Key) -> Value? {
        guard let index = table.index(of: key, hash: key.hashValue) else { return nil }
        if table.slots[index].uses < Self.maximumUses { table.slots[index].uses += 1 }
        return table.slots[index].value
    }

    /// Stores a value, in place of an earlier value. A value that is larger than half of all bytes is not stored.
    /// - Parameters:
    ///   - key: the key. No other owner has it.
    ///   - byteCount: the memory of the value, and of what the key refers to. `entryBytes` are added.
    @inlinable public mutating func insert(_ value: Value, for key: Key, of owner: String = "", byteCount: Int) {
        let hash = key.hashValue
        let isReturning = remove(key, hash: hash) || evictedKeys.contains(hash)
        let byteCount = byteCount + Self.entryBytes
        guard byteCount <= maximumValueBytes else { return }
        makeRoom(for: byteCount)
        let index = table.insert(value, for: key, hash: hash, byteCount: byteCount)
        self.byteCount += byteCount
        let share = shares.share(of: owner)
        append(index, to: isReturning ? share.main : share.small)
    }

    /// - Returns: true if the key had a value.
    @discardableResult @inlinable
    public mutating func remove(_ key: Key) -> Bool { remove(key, hash: key.hashValue) }

    @inlinable mutating func remove(_ key: Key, hash: Int) -> Bool {
        guard let index = table.index(of: key, hash: hash) else { return false }
        unlink(index)
        free(index)
        return true
    }

    /// Removes a value that is in no queue.
    @inlinable mutating func free(_ index: Int) {
        byteCount -= Int(table.slots[index].byteCount)
        table.remove(index)
    }
}

// MARK: - Eviction

extension S3FIFOCache {
    /// Evicts values of the largest share until so many bytes are free.
    @inlinable mutating func makeRoom(for bytes: Int) {
        while byteCount + bytes > maximumBytes, let largest = shares.largest { evict(from: largest) }
    }

    /// Evicts the first value that was not used. The values before it go to the end of the main queue.
    @inlinable mutating func evict(from share: OwnerShares.Share) {
        var passes = 0
        while true {
            let isSmall = shares.evictsFromSmallQueue(of: share)
            guard let index = shares.queues[isSmall ? share.small : share.main].first.index else { return }
            unlink(index)
            let uses = table.slots[index].uses
            guard uses > 0, passes < Self.maximumPasses else {
                if isSmall { evictedKeys.insert(table.hash(of: index), capacity: table.chains.count) }
                return free(index)
            }
            passes += 1
            table.slots[index].uses = isSmall ? 0 : uses - 1
            append(index, to: share.main)
        }
    }

    @inlinable mutating func append(_ index: Int, to queue: Int) {
        table.slots[index].queue = Int32(queue)
        table.append(index, to: &shares.queues[queue])
    }

    @inlinable mutating func unlink(_ index: Int) {
        table.unlink(index, from: &shares.queues[Int(table.slots[index].queue)])
    }
}

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
