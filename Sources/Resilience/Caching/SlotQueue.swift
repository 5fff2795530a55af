// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

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
