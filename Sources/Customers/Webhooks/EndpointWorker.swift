// SPDX-License-Identifier: Apache-2.0

internal import Gateway
internal import Receipts
internal import Synchronization

struct DeliveryPorts: Sendable {
    let log: any EventLog
    let store: any DeliveryStore
    let sender: any WebhookSender
    let observe: WebhookObserver
    let clock: @Sendable () -> Timestamp
}

/// Delivers events to one endpoint: carries out the actions of `EndpointDeliveries`.
final class EndpointWorker: Sendable {
    private struct State {
        var deliveries: EndpointDeliveries
        var messages: WebhookMessages
        var isFinished = false
    }

    private let ports: DeliveryPorts
    private let state: Mutex<State>
    private let wakeUps = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))

    init(to endpoint: WebhookEndpoint, concurrency: Int, ports: DeliveryPorts) {
        self.ports = ports
        state = Mutex(
            State(
                deliveries: EndpointDeliveries(to: endpoint, concurrency: concurrency),
                messages: WebhookMessages(to: endpoint)))
    }

    var endpoint: WebhookEndpoint { state.withLock { $0.deliveries.endpoint } }
    var owned: [DeliveryQueue] { state.withLock { $0.deliveries.owned } }

    /// Changes URL, keys or filters from the next delivery on.
    func update(_ endpoint: WebhookEndpoint) {
        state.withLock { state in
            state.deliveries.endpoint = endpoint
            state.messages = WebhookMessages(to: endpoint)
        }
    }

    func announceNews(in partition: AppPartition, _ stream: EventStream) {
        state.withLock { $0.deliveries.announceNews(in: partition, stream) }
        wake()
    }

    /// Begins all that has become due.
    func wake() { wakeUps.continuation.yield() }

    /// Begins nothing more.
    func finish() {
        state.withLock { $0.isFinished = true }
        wakeUps.continuation.finish()
    }

    /// Delivers events until `finish()`. Then attempts in flight end, and the queues are released.
    func run() async {
        await withDiscardingTaskGroup { group in
            for await _ in wakeUps.stream {
                for action in begin() {
                    group.addTask {
                        await self.carryOut(action)
                        self.wake()
                    }
                }
            }
        }
        await release(owned)
    }

    private func begin() -> [DeliveryAction] {
        var generator: any RandomNumberGenerator = SystemRandomNumberGenerator()
        let now = ports.clock()
        return state.withLock { state in
            state.isFinished ? [] : state.deliveries.begin(at: now, using: &generator)
        }
    }

    private func observe(_ events: [WebhookEvent]) {
        for event in events { ports.observe(event) }
    }

    // MARK: - Actions

    private func carryOut(_ action: DeliveryAction) async {
        switch action {
        case .read(let reads): await read(reads)
        case .send(let attempt): await send(attempt)
        case .save(let changes, let queue, let lease): await save(changes, of: queue, lease: lease)
        case .acquire(let queue): await acquire(queue)
        }
    }

    private func read(_ reads: [EventRead]) async {
        let batches = await ports.log.read(reads.map(\.query))
        let now = ports.clock()
        observe(state.withLock { $0.deliveries.endRead(reads, batches, at: now) })
    }

    private func send(_ attempt: DeliveryAttempt) async {
        let outcome = await outcome(of: attempt)
        let now = ports.clock()
        var generator: any RandomNumberGenerator = SystemRandomNumberGenerator()
        observe(state.withLock { $0.deliveries.end(attempt, outcome, at: now, using: &generator) })
    }

    private func outcome(of attempt: DeliveryAttempt) async -> AttemptOutcome {
        guard let event = await event(of: attempt) else { return .unread }
        guard let event else { return .removed }
        let messages = state.withLock { $0.messages }
        guard messages.endpoint.receives(event) else { return .filtered }
        let request = messages.request(for: event, followsGap: attempt.followsGap, at: ports.clock())
        do throws(DeliveryFault) {
            let reply = try await ports.sender.send(request)
            guard let fault = DeliveryFault(status: reply.status) else { return .delivered }
            return .failed(fault, eventID: event.id, retryAfter: reply.retryAfter)
        } catch {
            return .failed(error, eventID: event.id, retryAfter: nil)
        }
    }

    /// - Returns: `.some(nil)` for an event that the log no longer has; nil if the log is unreachable.
    private func event(of attempt: DeliveryAttempt) async -> Event?? {
        if let event = attempt.event { return event }
        let (queue, log) = (attempt.queue, ports.log)
        do throws(StoreUnreachable) {
            return .some(try await log.event(at: attempt.position, in: queue.partition, queue.stream))
        } catch {
            return .none
        }
    }

    private func save(_ changes: DeliveryChanges, of queue: DeliveryQueue, lease: Int) async {
        let start = ports.clock()
        var fault: DeliveryStoreFault?
        do throws(DeliveryStoreFault) {
            try await ports.store.save(changes, of: queue, renewing: QueueDeliveries.Limits.lease)
        } catch {
            fault = error
        }
        let now = ports.clock()
        let next = state.withLock { [fault] state in
            state.deliveries.endSave(of: queue, lease: lease, fault, startedAt: start, at: now)
        }
        if let next { await carryOut(next) }
    }

    /// Takes the lease of a queue, if no other node has it.
    func acquire(_ queue: DeliveryQueue) async {
        let start = ports.clock()
        guard let state = try? await ports.store.acquire(queue, for: QueueDeliveries.Limits.lease) else { return }
        guard let position = await firstPosition(of: queue, state) else { return await ports.store.release(queue) }
        let isFinished = self.state.withLock { own in
            own.deliveries.add(queue, state, beginningAt: position, at: start)
            return own.isFinished
        }
        isFinished ? await release([queue]) : wake()
    }

    /// Returns the position to begin at: for a new endpoint the newest event; nil if the log is unreachable.
    private func firstPosition(of queue: DeliveryQueue, _ state: DeliveryState) async -> EventPosition? {
        if let position = state.position { return position }
        return await ports.log.newest([queue.partition], queue.stream)?.first
    }

    func release(_ queues: [DeliveryQueue]) async {
        for queue in queues {
            guard let changes = state.withLock({ $0.deliveries.remove(queue) }) else { continue }
            // A failure repeats deliveries only.
            if !changes.isEmpty {
                try? await ports.store.save(changes, of: queue, renewing: QueueDeliveries.Limits.lease)
            }
            await ports.store.release(queue)
        }
    }
}
