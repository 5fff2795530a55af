// SPDX-License-Identifier: Apache-2.0

/// The entries of a cache in one array, with a hash table over them. Links are indices, so an entry is no object.
@usableFromInline struct SlotTable<Key: Hashable & Sendable, Value: Sendable>: Sendable {
    @usableFromInline var slots: [Slot<Key, Value>] = []
    /// The first slot of each chain. The count is a power of two, and at least the count of the slots.
    @usableFromInline var chains: [SlotLink] = [SlotLink(nil)]
    /// The first of the free slots, which are linked by `next`.
    @usableFromInline var firstFree = SlotLink(nil)

    @inlinable init() {}

    @inlinable func index(of key: Key, hash: Int) -> Int? {
        var index = chains[chain(of: hash)].index
        while let found = index, slots[found].key != key { index = slots[found].nextInChain.index }
        return index
    }

    @inlinable func hash(of index: Int) -> Int { slots[index].key.hashValue }

    /// Adds a key that is not in the table.
    /// - Returns: the index of its slot, which is in no queue.
    @inlinable mutating func insert(_ value: Value, for key: Key, hash: Int, byteCount: Int) -> Int {
        let index = takeSlot(Slot(key: key, value: value, byteCount: Int32(byteCount)))
        link(index, hash: hash)
        return index
    }

    /// Removes the value of a slot that is in no queue, and frees the slot. The key stays until the slot is used again.
    @inlinable mutating func remove(_ index: Int) {
        unlink(index, hash: hash(of: index))
        slots[index].value = nil
        slots[index].next = firstFree
        firstFree = SlotLink(index)
    }

    /// Puts an entry in a free slot, or else in a new slot.
    @inlinable mutating func takeSlot(_ entry: Slot<Key, Value>) -> Int {
        guard let index = firstFree.index else {
            if slots.count == chains.count { growChains() }
            slots.append(entry)
            return slots.count - 1
        }
        firstFree = slots[index].next
        slots[index] = entry
        return index
    }
}

// MARK: - Chains

extension SlotTable {
    @inlinable func chain(of hash: Int) -> Int { hash & (chains.count - 1) }

    @inlinable mutating func link(_ index: Int, hash: Int) {
        let chain = chain(of: hash)
        slots[index].nextInChain = chains[chain]
        chains[chain] = SlotLink(index)
    }

    @inlinable mutating func unlink(_ index: Int, hash: Int) {
        let chain = chain(of: hash)
        guard var before = chains[chain].index, before != index else {
            return chains[chain] = slots[index].nextInChain
        }
        while let next = slots[before].nextInChain.index, next != index { before = next }
        slots[before].nextInChain = slots[index].nextInChain
    }

    /// Doubles the chains. All slots are in use.
    @inlinable mutating func growChains() {
        chains = Array(repeating: SlotLink(nil), count: 2 * chains.count)
        for index in slots.indices { link(index, hash: hash(of: index)) }
    }
}

// MARK: - Slots

/// An entry, and its position in a queue and in a chain of the hash table.
@usableFromInline struct Slot<Key: Sendable, Value: Sendable>: Sendable {
    // No optional, and not one pair with the value: the compiler would copy it to compare it.
    @usableFromInline let key: Key
    /// Nil if the slot is free.
    @usableFromInline var value: Value?
    /// The uses since the entry was last at the end of its queue, counted up to three.
    @usableFromInline var uses: UInt8 = 0
    /// The number of the queue.
    @usableFromInline var queue: Int32 = 0
    @usableFromInline var previous = SlotLink(nil)
    @usableFromInline var next = SlotLink(nil)
    @usableFromInline var nextInChain = SlotLink(nil)
    @usableFromInline let byteCount: Int32

    @inlinable init(key: Key, value: Value, byteCount: Int32) {
        (self.key, self.value, self.byteCount) = (key, value, byteCount)
    }
}

/// An optional index in four bytes.
@usableFromInline struct SlotLink: Sendable {
    @usableFromInline let number: Int32

    @inlinable init(_ index: Int?) { number = index.map { Int32($0) } ?? -1 }

    @inlinable var index: Int? { number < 0 ? nil : Int(number) }
}

/// A queue of the slots of a table, linked through them.
@usableFromInline struct SlotQueue: Sendable {
    @usableFromInline var first = SlotLink(nil)
    @usableFromInline var last = SlotLink(nil)
    @usableFromInline var byteCount = 0

    @inlinable init() {}
}

extension SlotTable {
    /// Adds a slot that is in no queue at the end of one.
    @inlinable mutating func append(_ index: Int, to queue: inout SlotQueue) {
        slots[index].previous = queue.last
        slots[index].next = SlotLink(nil)
        if let last = queue.last.index {
            slots[last].next = SlotLink(index)
        } else {
            queue.first = SlotLink(index)
        }
        queue.last = SlotLink(index)
        queue.byteCount += Int(slots[index].byteCount)
    }

    @inlinable mutating func unlink(_ index: Int, from queue: inout SlotQueue) {
        let (previous, next) = (slots[index].previous, slots[index].next)
        if let before = previous.index { slots[before].next = next } else { queue.first = next }
        if let after = next.index { slots[after].previous = previous } else { queue.last = previous }
        queue.byteCount -= Int(slots[index].byteCount)
    }
}
