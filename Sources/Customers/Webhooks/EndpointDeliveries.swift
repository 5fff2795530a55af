// SPDX-License-Identifier: Apache-2.0

internal import Gateway
internal import Receipts

enum DeliveryAction: Sendable {
    case read([EventRead])
    case send(DeliveryAttempt)
    /// Saves changes, and renews the lease.
    case save(DeliveryChanges, DeliveryQueue, lease: Int)
    /// Takes the lease again, which ended.
    case acquire(DeliveryQueue)
}

struct EventRead: Sendable {
    let queue: DeliveryQueue
    let lease: Int
    let query: EventQuery
}

/// The deliveries to one endpoint by this node: the rules, without a clock, a lock or input and output. Nothing is
/// shared with other endpoints, so that a slow endpoint delays only itself.
struct EndpointDeliveries: Sendable {
    enum Limits {
        static let loaded = 256
    }

    /// The endpoint's configuration. A change takes effect with the next delivery.
    var endpoint: WebhookEndpoint
    private let concurrency: Int
    private var queues: [DeliveryQueue: QueueDeliveries] = [:]
    /// The queues in the order of their turns.
    private var rotation: [DeliveryQueue] = []
    private var health = EndpointHealth()
    private var inFlight = 0
    private var retriesInFlight = 0
    private var isReading = false
    private var lastLease = 0

    init(to endpoint: WebhookEndpoint, concurrency: Int) {
        self.endpoint = endpoint
        self.concurrency = max(1, concurrency)
    }

    /// The queues whose lease this node has.
    var owned: [DeliveryQueue] { rotation }

    /// Adds a queue whose lease was taken.
    /// - Parameters:
    ///   - position: the position to begin at, if the state has none.
    ///   - now: the time before the lease was taken.
    mutating func add(
        _ queue: DeliveryQueue, _ state: DeliveryState, beginningAt position: EventPosition, at now: Timestamp
    ) {
        lastLease += 1
        rotation.removeAll { $0 == queue }
        rotation.append(queue)
        queues[queue] = QueueDeliveries(queue, lease: lastLease, state, beginningAt: position, at: now)
    }

    /// Removes a queue; returns the changes that are not saved, nil if this node does not have the queue.
    mutating func remove(_ queue: DeliveryQueue) -> DeliveryChanges? {
        rotation.removeAll { $0 == queue }
        return queues.removeValue(forKey: queue)?.allUnsavedChanges
    }

    mutating func announceNews(in partition: AppPartition, _ stream: EventStream) {
        queues[DeliveryQueue(endpoint: endpoint.name, partition: partition, stream: stream)]?.announceNews()
    }

    /// Begins all that can be done now.
    mutating func begin(at now: Timestamp, using generator: inout some RandomNumberGenerator) -> [DeliveryAction] {
        let expired = rotation.filter { queues[$0]?.isExpired(at: now) ?? true }
        for queue in expired { _ = remove(queue) }
        let attempts = beginAttempts(at: now, using: &generator)
        let reads = beginReads(at: now)
        return expired.map(DeliveryAction.acquire) + attempts.map(DeliveryAction.send)
            + (reads.isEmpty ? [] : [.read(reads)]) + beginSaves(at: now)
    }

    // MARK: - Reading and saving

    private mutating func beginReads(at now: Timestamp) -> [EventRead] {
        guard !isReading else { return [] }
        var reads: [EventRead] = []
        var room = Limits.loaded - queues.values.reduce(0) { $0 + $1.loadedCount }
        for queue in rotation where room >= QueueDeliveries.Limits.batch {
            guard let query = queues[queue]?.beginRead(at: now), let lease = queues[queue]?.lease else { continue }
            reads.append(EventRead(queue: queue, lease: lease, query: query))
            room -= query.maximum
        }
        isReading = !reads.isEmpty
        return reads
    }

    /// - Parameter batches: a batch for each read; nil if the log is unreachable.
    mutating func endRead(_ reads: [EventRead], _ batches: [EventBatch]?, at now: Timestamp) -> [WebhookEvent] {
        isReading = false
        var events: [WebhookEvent] = []
        for (index, read) in reads.enumerated() where queues[read.queue]?.lease == read.lease {
            let batch = batches?[index]
            queues[read.queue]?.endRead(batch, for: endpoint, at: now)
            if let missed = batch?.missed { events.append(.missed(endpoint: endpoint.name, count: missed.count)) }
            guard let batch, batch.unreadable > 0 else { continue }
            events.append(.missed(endpoint: endpoint.name, count: UInt64(batch.unreadable)))
        }
        return events
    }

    private mutating func beginSaves(at now: Timestamp) -> [DeliveryAction] {
        rotation.compactMap { queue in
            guard let changes = queues[queue]?.beginSave(at: now), let lease = queues[queue]?.lease else { return nil }
            return .save(changes, queue, lease: lease)
        }
    }

    mutating func endSave(
        of queue: DeliveryQueue, lease: Int, _ fault: DeliveryStoreFault?, startedAt start: Timestamp, at now: Timestamp
    ) -> DeliveryAction? {
        guard queues[queue]?.lease == lease else { return nil }
        switch fault {
        case nil: queues[queue]?.endSave(startedAt: start)
        case .unreachable: queues[queue]?.abandonSave(at: now)
        case .leaseLost:
            _ = remove(queue)
            // An operator who changes the state ends the lease, too.
            return .acquire(queue)
        }
        return nil
    }

    // MARK: - Attempts

    private mutating func beginAttempts(
        at now: Timestamp, using generator: inout some RandomNumberGenerator
    ) -> [DeliveryAttempt] {
        switch health.permit(at: now) {
        case .none: return []
        case .probe: return beginProbe(at: now, using: &generator).map { [$0] } ?? []
        case .all: return beginAttempts(at: now)
        }
    }

    /// Begins attempts while there are slots, one attempt of each queue in turn.
    private mutating func beginAttempts(at now: Timestamp) -> [DeliveryAttempt] {
        var attempts: [DeliveryAttempt] = []
        var idleQueues = 0
        while inFlight < concurrency, idleQueues < rotation.count {
            let queue = rotation.removeFirst()
            rotation.append(queue)
            if let next = nextAttempt(of: queue, at: now) {
                attempts.append(begin(next))
                idleQueues = 0
            } else {
                idleQueues += 1
            }
        }
        return attempts
    }

    /// Returns the next attempt of a queue. Half of the slots are left to events without failures.
    private func nextAttempt(of queue: DeliveryQueue, at now: Timestamp) -> DeliveryAttempt? {
        let loaded = queues[queue]?.firstLoaded(at: now)
        guard retriesInFlight < max(1, concurrency / 2) else { return loaded }
        return queues[queue]?.dueRetry(at: now) ?? loaded
    }

    /// Begins an attempt of a random event, so that none whose own fault it is keeps the endpoint paused.
    private mutating func beginProbe(
        at now: Timestamp, using generator: inout some RandomNumberGenerator
    ) -> DeliveryAttempt? {
        let loaded = rotation.compactMap { queues[$0]?.firstLoaded(at: now) }
        let all = rotation.flatMap { queues[$0]?.probes(at: now) ?? [] }
        // Half of the probes are of new events: most held events may fail by their own fault.
        let candidates = !loaded.isEmpty && Bool.random(using: &generator) ? loaded : all
        guard var attempt = candidates.randomElement(using: &generator) else { return nil }
        attempt.isProbe = true
        health.beginProbe()
        return begin(attempt)
    }

    private mutating func begin(_ attempt: DeliveryAttempt) -> DeliveryAttempt {
        queues[attempt.queue]?.begin(attempt)
        inFlight += 1
        retriesInFlight += attempt.isRetry ? 1 : 0
        return attempt
    }

    mutating func end(
        _ attempt: DeliveryAttempt, _ outcome: AttemptOutcome, at now: Timestamp,
        using generator: inout some RandomNumberGenerator
    ) -> [WebhookEvent] {
        inFlight -= 1
        retriesInFlight -= attempt.isRetry ? 1 : 0
        let wasPaused = health.isPaused
        recordHealth(attempt, outcome, at: now, using: &generator)
        guard case .failed(let fault, let eventID, let retryAfter) = outcome else {
            return endWithoutFault(attempt, outcome, at: now)
        }
        let failed = [WebhookEvent.failed(endpoint: endpoint.name, fault)]
        if fault == .gone { return failed + disable(after: attempt, at: now) }
        guard isCurrent(attempt) else { return failed }
        // A pause says nothing about this event: it costs none of its attempts.
        if wasPaused, fault.isOfEndpoint {
            attempt.isProbe
                ? queues[attempt.queue]?.hold(attempt, at: now) : queues[attempt.queue]?.abandon(attempt, at: now)
            return failed
        }
        let dead = queues[attempt.queue]?.fail(
            attempt, fault, eventID: eventID, retryAfter: retryAfter, at: now, using: &generator)
        return failed + (dead == nil ? [] : [.dead(endpoint: endpoint.name, fault)])
    }

    private mutating func endWithoutFault(
        _ attempt: DeliveryAttempt, _ outcome: AttemptOutcome, at now: Timestamp
    ) -> [WebhookEvent] {
        let isCurrent = isCurrent(attempt)
        switch outcome {
        case .failed: return []
        case .delivered, .filtered:
            if isCurrent { queues[attempt.queue]?.settle(attempt, isDelivered: outcome == .delivered, at: now) }
            guard outcome == .delivered else { return [] }
            return [
                .delivered(
                    endpoint: endpoint.name, after: max(.zero, attempt.position.time.duration(to: now)),
                    took: max(.zero, attempt.startedAt.duration(to: now)))
            ]
        case .removed:
            guard isCurrent else { return [] }
            queues[attempt.queue]?.giveUp(attempt, at: now)
            return [.missed(endpoint: endpoint.name, count: 1)]
        case .unread:
            let delay = QueueDeliveries.Limits.storeRetry
            if isCurrent { queues[attempt.queue]?.abandon(attempt, delay: delay, at: now) }
            return []
        }
    }

    private mutating func recordHealth(
        _ attempt: DeliveryAttempt, _ outcome: AttemptOutcome, at now: Timestamp,
        using generator: inout some RandomNumberGenerator
    ) {
        switch outcome {
        case .failed(let fault, let eventID, let retryAfter) where fault.isOfEndpoint:
            health.recordFailure(
                of: eventID, isProbe: attempt.isProbe, retryAfter: retryAfter, at: now, using: &generator)
        case .delivered, .failed: health.recordAnswer(isProbe: attempt.isProbe)
        case .filtered, .removed: if attempt.isProbe { health.abandonProbe(until: now) }
        case .unread:
            if attempt.isProbe { health.abandonProbe(until: now.advanced(by: QueueDeliveries.Limits.storeRetry)) }
        }
    }

    /// Stops all queues: each saves it, and other nodes find it out by their own attempts.
    private mutating func disable(after attempt: DeliveryAttempt, at now: Timestamp) -> [WebhookEvent] {
        let wasEnabled = queues.values.contains { $0.disabledAt == nil }
        if isCurrent(attempt) { queues[attempt.queue]?.abandon(attempt, at: now) }
        for queue in rotation { queues[queue]?.disable(at: now) }
        return wasEnabled ? [.disabled(endpoint: endpoint.name)] : []
    }

    /// Returns true if the queue was not lost or taken again since the attempt began.
    private func isCurrent(_ attempt: DeliveryAttempt) -> Bool { queues[attempt.queue]?.lease == attempt.lease }
}

struct DeliveryAttempt: Sendable {
    let queue: DeliveryQueue
    /// The lease under which it was begun (`QueueDeliveries.lease`).
    let lease: Int
    let position: EventPosition
    let chain: String
    /// Nil for a held event, which is read from the log again.
    let event: Event?
    let followsGap: Bool
    var isProbe = false
    let startedAt: Timestamp

    /// True for a held event.
    var isRetry: Bool { event == nil }
}

enum AttemptOutcome: Hashable, Sendable {
    case delivered
    /// The endpoint no longer receives events of this type.
    case filtered
    case failed(DeliveryFault, eventID: String, retryAfter: Duration?)
    /// The log no longer has the event.
    case removed
    /// The log is unreachable.
    case unread
}
