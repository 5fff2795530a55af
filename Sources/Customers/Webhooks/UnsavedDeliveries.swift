// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import Receipts

/// The parts of a queue's state that differ from the store.
struct UnsavedDeliveries: Sendable {
    private(set) var hasPosition = false
    private(set) var isDisabled = false
    /// The events that were held, changed or removed, and their chains.
    private(set) var events: [EventPosition: String] = [:]
    private(set) var gaps: Set<String> = []
    private(set) var dead: [DeadDelivery] = []
    /// The time of the oldest change; nil if there is none.
    private(set) var since: Timestamp?

    mutating func recordPosition(at now: Timestamp) { record(at: now) { $0.hasPosition = true } }

    mutating func recordDisabled(at now: Timestamp) { record(at: now) { $0.isDisabled = true } }

    mutating func record(_ position: EventPosition, of chain: String, at now: Timestamp) {
        record(at: now) { $0.events[position] = chain }
    }

    mutating func recordGap(of chain: String, at now: Timestamp) { record(at: now) { $0.gaps.insert(chain) } }

    mutating func record(_ dead: DeadDelivery, at now: Timestamp) { record(at: now) { $0.dead.append(dead) } }

    /// Adds earlier changes, whose writing failed.
    mutating func merge(_ earlier: UnsavedDeliveries) {
        hasPosition = hasPosition || earlier.hasPosition
        isDisabled = isDisabled || earlier.isDisabled
        events.merge(earlier.events) { later, _ in later }
        gaps.formUnion(earlier.gaps)
        dead = earlier.dead + dead
        since = earlier.since ?? since
    }

    private mutating func record(at now: Timestamp, _ change: (inout UnsavedDeliveries) -> Void) {
        since = since ?? now
        change(&self)
    }
}
