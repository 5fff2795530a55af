// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// The future events of a simulation, earliest first: a binary heap. Events of one time come in the order of adding.
struct EventQueue<Time: Comparable, Event> {
    private struct Entry {
        let time: Time
        let number: Int
        let event: Event

        func precedes(_ other: Entry) -> Bool {
            time == other.time ? number < other.number : time < other.time
        }
    }

    private var entries: [Entry] = []
    private var added = 0

    mutating func add(_ event: Event, at time: Time) {
        entries.append(Entry(time: time, number: added, event: event))
        added += 1
        var child = entries.count - 1
        while child > 0, entries[child].precedes(entries[(child - 1) / 2]) {
            entries.swapAt(child, (child - 1) / 2)
            child = (child - 1) / 2
        }
    }

    /// Removes the next event, unless it is later than `limit`.
    mutating func popFirst(upTo limit: Time) -> (time: Time, event: Event)? {
        guard let first = entries.first, first.time <= limit else { return nil }
        entries.swapAt(0, entries.count - 1)
        entries.removeLast()
        sink()
        return (first.time, first.event)
    }

    private mutating func sink() {
        var parent = 0
        while 2 * parent + 1 < entries.count {
            let (left, right) = (2 * parent + 1, 2 * parent + 2)
            let least = right < entries.count && entries[right].precedes(entries[left]) ? right : left
            guard entries[least].precedes(entries[parent]) else { return }
            entries.swapAt(parent, least)
            parent = least
        }
    }
}
