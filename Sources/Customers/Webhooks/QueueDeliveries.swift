// SPDX-License-Identifier: Apache-2.0

internal import Receipts

/// The deliveries of one queue whose lease this node has: the events that may be sent, and the state to save.
///
/// ```
/// log ──▶ loaded ──▶ attempt ──▶ delivered: the position advances
///                       └──────▶ held with its chain's later events ──▶ attempts by the schedule ──▶ delivered or dead
/// ```
struct QueueDeliveries: Sendable {
    enum Limits {
        /// The events that are read at once, when fewer are loaded.
        static let batch = 16
        /// The held events. When as many wait, nothing more is read: the rest stays in the log.
        static let held = 1000
        /// The chains that are marked with a gap. A further chain takes the place of another chain.
        static let gaps = 10_000
        /// The time after which another node may take the queue.
        static let lease: Duration = .seconds(15)
        static let renewal: Duration = .seconds(5)
        /// The longest delay before changes are saved while deliveries go on.
        static let saveDelay: Duration = .milliseconds(100)
        /// The delay before another access to a store that was unreachable.
        static let storeRetry: Duration = .seconds(1)
        /// The delay before a further attempt of an event that failed as a probe.
        static let probedEventDelay: Duration = .seconds(5)
    }

    /// An event that was read, and is not held.
    private struct LoadedEvent: Sendable {
        let logged: LoggedEvent
        let chain: String
        /// True if the position may advance over it.
        var isSettled = false
    }

    let queue: DeliveryQueue
    /// The number that distinguishes the lease from earlier leases of this queue.
    let lease: Int
    private(set) var disabledAt: Timestamp?
    private var position: EventPosition
    private var lastRead: EventPosition
    private var loaded: [LoadedEvent] = []
    private var held: HeldEvents
    /// The events after the position that were held when the lease was taken, and are not yet read again.
    private var heldBefore: Set<EventPosition>
    private var gaps: Set<String>
    /// The chains with an event that is being sent.
    private var sending: Set<String> = []
    private var unsaved = UnsavedDeliveries()
    private var saving: UnsavedDeliveries?
    /// True if the log may have further events.
    private var hasNews = true
    private var nextRead = Timestamp.earliest
    private var nextSave = Timestamp.earliest
    private var renewal: Timestamp
    private var leaseEnd: Timestamp

    init(
        _ queue: DeliveryQueue, lease: Int, _ state: DeliveryState, beginningAt position: EventPosition,
        at now: Timestamp
    ) {
        (self.queue, self.lease) = (queue, lease)
        let position = state.position ?? position
        (self.position, lastRead) = (position, position)
        heldBefore = Set(state.held.map(\.position).filter { $0 > position })
        (held, gaps, disabledAt) = (HeldEvents(state.held), state.gaps, state.disabledAt)
        (renewal, leaseEnd) = (now.advanced(by: Limits.renewal), now.advanced(by: Limits.lease))
        if state.position == nil { unsaved.record(at: now) { $0.hasPosition = true } }
    }

    var loadedCount: Int { loaded.count }

    // MARK: - Reading

    mutating func announceNews() { hasNews = true }

    /// Begins to read, if there is news and room for it.
    mutating func beginRead(at now: Timestamp) -> EventQuery? {
        let room = Limits.held - held.count - loaded.count
        guard hasNews, now >= nextRead, disabledAt == nil, loaded.count < Limits.batch, room > 0 else { return nil }
        hasNews = false
        return EventQuery(queue.partition, queue.stream, after: lastRead, maximum: min(Limits.batch, room))
    }

    /// Takes the events that were read; nil if the store is unreachable.
    mutating func endRead(_ batch: EventBatch?, for endpoint: WebhookEndpoint, at now: Timestamp) {
        guard let batch else {
            hasNews = true
            nextRead = now.advanced(by: Limits.storeRetry)
            return
        }
        guard batch.last != lastRead else { return }
        (hasNews, lastRead) = (true, batch.last)
        for logged in batch.events where endpoint.receives(logged.event) { load(logged, at: now) }
        advance(at: now)
    }

    private mutating func load(_ logged: LoggedEvent, at now: Timestamp) {
        if heldBefore.remove(logged.position) != nil { return }
        let chain = logged.event.chain
        // After a loss of the log's end, the events before it are read again.
        let isKnown = loaded.contains { $0.logged.position == logged.position }
        if isKnown || held.event(at: logged.position, of: chain) != nil { return }
        if held.contains(chain: chain) {
            hold(HeldEvent(logged.position, chain: chain), at: now)
        } else {
            loaded.append(LoadedEvent(logged: logged, chain: chain))
        }
    }

    private mutating func hold(_ event: HeldEvent, at now: Timestamp) {
        held.append(event)
        unsaved.record(at: now) { $0.events[event.position] = event.chain }
    }

    /// Advances the position over the events that are settled.
    private mutating func advance(at now: Timestamp) {
        let settled = loaded.prefix { $0.isSettled }
        let reached = settled.count == loaded.count ? lastRead : settled.last?.logged.position
        loaded.removeFirst(settled.count)
        guard let reached, reached != position else { return }
        position = reached
        unsaved.record(at: now) { $0.hasPosition = true }
    }

    // MARK: - Attempts

    func dueRetry(at now: Timestamp) -> DeliveryAttempt? {
        disabledAt == nil ? held.due(at: now).map { attempt($0.position, $0.chain, at: now) } : nil
    }

    /// Returns an attempt of the first loaded event whose chain waits for no other.
    func firstLoaded(at now: Timestamp) -> DeliveryAttempt? {
        guard disabledAt == nil else { return nil }
        let first = loaded.first { !$0.isSettled && !sending.contains($0.chain) }
        return first.map { attempt($0.logged.position, $0.chain, $0.logged.event, at: now) }
    }

    func probes(at now: Timestamp) -> [DeliveryAttempt] {
        guard disabledAt == nil else { return [] }
        return held.firsts.map { attempt($0.position, $0.chain, at: now) } + [firstLoaded(at: now)].compactMap(\.self)
    }

    private func attempt(
        _ position: EventPosition, _ chain: String, _ event: Event? = nil, at now: Timestamp
    ) -> DeliveryAttempt {
        DeliveryAttempt(
            queue: queue, lease: lease, position: position, chain: chain, event: event,
            followsGap: gaps.contains(chain), startedAt: now)
    }

    mutating func begin(_ attempt: DeliveryAttempt) {
        sending.insert(attempt.chain)
        if attempt.isRetry { held.begin(attempt.chain) }
    }

    /// Ends an attempt whose event needs no further attempt.
    mutating func settle(_ attempt: DeliveryAttempt, isDelivered: Bool, at now: Timestamp) {
        sending.remove(attempt.chain)
        remove(attempt, at: now)
        if isDelivered, gaps.remove(attempt.chain) != nil {
            unsaved.record(at: now) { $0.gaps.insert(attempt.chain) }
        }
    }

    /// Ends an attempt whose event is no longer in the log, or is given up: the next event of its chain follows a gap.
    mutating func giveUp(_ attempt: DeliveryAttempt, at now: Timestamp) {
        sending.remove(attempt.chain)
        remove(attempt, at: now)
        let replaced = gaps.count >= Limits.gaps ? gaps.popFirst() : nil
        gaps.insert(attempt.chain)
        unsaved.record(at: now) { $0.gaps.formUnion([attempt.chain, replaced].compactMap(\.self)) }
    }

    /// Ends an attempt that does not count.
    mutating func abandon(_ attempt: DeliveryAttempt, delay: Duration = .zero, at now: Timestamp) {
        sending.remove(attempt.chain)
        guard attempt.isRetry, var event = held.event(at: attempt.position, of: attempt.chain) else { return }
        // Not saved: the time in the store is past, or later than a probe.
        if delay > .zero { event.nextAttempt = now.advanced(by: delay) }
        held.retry(event)
    }

    /// Ends a failed probe that does not count. The event is held, so that the next probe sends another event.
    mutating func hold(_ attempt: DeliveryAttempt, at now: Timestamp) {
        guard !attempt.isRetry, held.count < Limits.held else { return abandon(attempt, at: now) }
        var event = HeldEvent(attempt.position, chain: attempt.chain)
        event.nextAttempt = now.advanced(by: Limits.probedEventDelay)
        retryLater(event, after: attempt, at: now)
    }

    /// Ends a failed attempt: the event is held until the next attempt, or given up.
    /// - Returns: the dead delivery; nil if there are further attempts.
    mutating func fail(
        _ attempt: DeliveryAttempt, _ fault: DeliveryFault, eventID: String, retryAfter: Duration?, at now: Timestamp,
        using generator: inout some RandomNumberGenerator
    ) -> DeadDelivery? {
        var event =
            held.event(at: attempt.position, of: attempt.chain)
            ?? HeldEvent(attempt.position, chain: attempt.chain)
        event.attempts += 1
        event.firstAttempt = event.firstAttempt ?? attempt.startedAt
        let delay = DeliverySchedule.delay(afterAttempts: event.attempts, retryAfter: retryAfter, using: &generator)
        guard let delay else {
            let dead = DeadDelivery(
                position: event.position, eventID: eventID, chain: event.chain, attempts: event.attempts,
                reason: fault.rawValue, time: now)
            unsaved.record(at: now) { $0.dead.append(dead) }
            giveUp(attempt, at: now)
            return dead
        }
        event.nextAttempt = now.advanced(by: delay)
        retryLater(event, after: attempt, at: now)
        return nil
    }

    private mutating func retryLater(_ event: HeldEvent, after attempt: DeliveryAttempt, at now: Timestamp) {
        sending.remove(attempt.chain)
        if attempt.isRetry {
            held.retry(event)
            unsaved.record(at: now) { $0.events[event.position] = event.chain }
        } else {
            hold(event, at: now)
            holdLoaded(behind: event, at: now)
        }
    }

    /// Holds the loaded events of a chain whose first event is held.
    private mutating func holdLoaded(behind first: HeldEvent, at now: Timestamp) {
        for index in loaded.indices where loaded[index].chain == first.chain && !loaded[index].isSettled {
            loaded[index].isSettled = true
            let position = loaded[index].logged.position
            if position != first.position { hold(HeldEvent(position, chain: first.chain), at: now) }
        }
        advance(at: now)
    }

    private mutating func remove(_ attempt: DeliveryAttempt, at now: Timestamp) {
        if attempt.isRetry {
            held.removeFirst(of: attempt.chain)
            unsaved.record(at: now) { $0.events[attempt.position] = attempt.chain }
        } else if let index = loaded.firstIndex(where: { $0.logged.position == attempt.position }) {
            loaded[index].isSettled = true
            advance(at: now)
        }
    }

    /// Stops all deliveries, until an operator enables the endpoint.
    mutating func disable(at now: Timestamp) {
        guard disabledAt == nil else { return }
        disabledAt = now
        unsaved.record(at: now) { $0.isDisabled = true }
    }

    // MARK: - Saving

    /// Returns true if the lease has ended, because it could not be renewed.
    func isExpired(at now: Timestamp) -> Bool { leaseEnd <= now }

    /// Begins to save, if there are changes to be saved or the lease is to be renewed.
    mutating func beginSave(at now: Timestamp) -> DeliveryChanges? {
        guard saving == nil, now >= nextSave, renewal <= now || isChangeDue(at: now) else { return nil }
        defer {
            saving = unsaved
            unsaved = UnsavedDeliveries()
        }
        return unsavedChanges
    }

    private func isChangeDue(at now: Timestamp) -> Bool {
        guard let since = unsaved.since else { return false }
        return loaded.isEmpty && sending.isEmpty || since.advanced(by: Limits.saveDelay) <= now
    }

    /// - Parameter start: the time before the lease was renewed.
    mutating func endSave(startedAt start: Timestamp) {
        saving = nil
        (renewal, leaseEnd) = (start.advanced(by: Limits.renewal), start.advanced(by: Limits.lease))
    }

    /// Ends a save that did not reach the store, to be repeated.
    mutating func abandonSave(at now: Timestamp) {
        if let saving { unsaved.merge(saving) }
        saving = nil
        nextSave = now.advanced(by: Limits.storeRetry)
    }

    /// The changes that are not saved, those that are being saved included.
    var allUnsavedChanges: DeliveryChanges {
        var copy = self
        copy.abandonSave(at: .earliest)
        return copy.unsavedChanges
    }

    private var unsavedChanges: DeliveryChanges {
        var changes = DeliveryChanges()
        changes.position = unsaved.hasPosition ? position : nil
        changes.disabledAt = unsaved.isDisabled ? disabledAt : nil
        changes.dead = unsaved.dead
        changes.gapsAdded = unsaved.gaps.intersection(gaps)
        changes.gapsRemoved = unsaved.gaps.subtracting(gaps)
        for (position, chain) in unsaved.events {
            if let event = held.event(at: position, of: chain) {
                changes.held.append(event)
            } else {
                changes.removed.append(position)
            }
        }
        return changes
    }
}

/// The parts of a queue's state that differ from the store.
struct UnsavedDeliveries: Sendable {
    var hasPosition = false
    var isDisabled = false
    /// The events that were held, changed or removed, and their chains.
    var events: [EventPosition: String] = [:]
    var gaps: Set<String> = []
    var dead: [DeadDelivery] = []
    /// The time of the oldest change; nil if there is none.
    private(set) var since: Timestamp?

    /// Adds earlier changes, whose writing failed.
    mutating func merge(_ earlier: UnsavedDeliveries) {
        hasPosition = hasPosition || earlier.hasPosition
        isDisabled = isDisabled || earlier.isDisabled
        events.merge(earlier.events) { later, _ in later }
        gaps.formUnion(earlier.gaps)
        dead = earlier.dead + dead
        since = earlier.since ?? since
    }

    mutating func record(at now: Timestamp, _ change: (inout UnsavedDeliveries) -> Void) {
        since = since ?? now
        change(&self)
    }
}
