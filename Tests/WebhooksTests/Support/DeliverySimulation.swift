// SPDX-License-Identifier: Apache-2.0

import Gateway
import ReceiptForge
import Receipts
import Synchronization
import TestSupport

@testable import Customers

/// A clock that goes on when the test says so.
final class SteppedClock: Sendable {
    private let current: Mutex<Timestamp>

    init(_ time: Timestamp) { current = Mutex(time) }

    var time: Timestamp { current.withLock { $0 } }
    func advance(to time: Timestamp) { current.withLock { $0 = max($0, time) } }
}

/// A request that reached the endpoint, and its answer.
struct SimulatedRequest: Hashable {
    let node: Int
    let eventID: String
    let chain: String
    let hasGap: Bool
    let isRetry: Bool
    let position: EventPosition
    /// In seconds since the beginning.
    let time: Double
    var fault: DeliveryFault?
}

/// The answer of the endpoint.
struct SimulatedAnswer {
    var fault: DeliveryFault?
    var retryAfter: Duration?
    var latency: Duration = .milliseconds(20)

    static let delivered = SimulatedAnswer()
    static func fault(_ fault: DeliveryFault, retryAfter: Duration? = nil) -> SimulatedAnswer {
        SimulatedAnswer(fault: fault, retryAfter: retryAfter)
    }
}

/// Nodes that deliver to one endpoint, with one store, in time that only the test advances. All happens in one task, so
/// that a seed always gives the same run.
final class DeliverySimulation {
    static let start = Timestamp(millisecondsSince1970: 1_800_000_000_000)
    static let app = "com.example.app"

    struct Node {
        var deliveries: EndpointDeliveries
        let store: EmbeddedDeliveryStore
        var isAlive = true
        /// False while the node does not reach the store.
        var isConnected = true
    }

    private struct Appointment {
        let time: Timestamp
        let order: Int
        let work: (DeliverySimulation) -> Void
    }

    let clock = SteppedClock(DeliverySimulation.start)
    let log: EmbeddedEventLog
    let store: EmbeddedDeliveryStore
    let partitions: [AppPartition]
    var generator: SplitMix64
    var nodes: [Node] = []
    var answer: (SimulatedRequest) -> SimulatedAnswer = { _ in .delivered }
    private(set) var requests: [SimulatedRequest] = []
    private(set) var observed: [WebhookEvent] = []
    private(set) var written: [Event] = []
    private(set) var maximumInFlight = 0
    private var inFlight = 0
    private var agenda: [Appointment] = []
    private var appointments = 0

    /// - Parameters:
    ///   - partitions: the number of the app's partitions that have events.
    ///   - retained: the number of events that the log keeps for each.
    init(seed: UInt64 = 1, partitions: Int = 2, nodes: Int = 1, concurrency: Int = 16, retained: Int = 10_000) {
        let clock = clock
        log = EmbeddedEventLog(
            EventRetention(maximumCount: retained * AppPartition.count, maximumAge: .seconds(30 * 86_400))
        ) { clock.time }
        store = EmbeddedDeliveryStore(log: log) { clock.time }
        self.partitions = Array(AppPartition.all(of: Self.app).prefix(partitions))
        generator = SplitMix64(seed: TestSeed.number(seed))
        let endpoint = WebhookEndpoint(name: "shop/main", apps: [Self.app], url: "https://example.com")
        for node in 0..<nodes {
            self.nodes.append(
                Node(
                    deliveries: EndpointDeliveries(to: endpoint, concurrency: concurrency),
                    store: EmbeddedDeliveryStore(sharedWith: store, node: node)))
        }
    }

    var seconds: Double { Self.seconds(clock.time) }

    static func seconds(_ time: Timestamp) -> Double {
        Double(time.millisecondsSince1970 - start.millisecondsSince1970) / 1000
    }

    var queues: [DeliveryQueue] {
        partitions.map { DeliveryQueue(endpoint: "shop/main", partition: $0, stream: .events) }
    }

    // MARK: - Events

    /// The original transaction ID of a chain in one of the partitions.
    func originalTransactionID(_ number: Int) -> String {
        let candidates = (0...).lazy.map { "\(number * 1000 + $0)" }
        let partition = partitions[number % partitions.count]
        return candidates.first { AppPartition(bundleID: Self.app, of: $0) == partition } ?? ""
    }

    /// Writes an event of a chain.
    @discardableResult
    func write(_ chain: Int, type: EventType = .subscriptionRenewed) -> Event {
        let id = "evt_\(written.count)"
        let event = Event(
            id: id, type: type, bundleID: Self.app, environment: .production,
            originalTransactionID: originalTransactionID(chain), occurredAt: clock.time,
            json: Array(#"{"id":"\#(id)"}"#.utf8))
        written.append(event)
        log.append(event, to: .events, of: event.partition)
        for node in nodes.indices { nodes[node].deliveries.announceNews(in: event.partition, .events) }
        return event
    }

    // MARK: - Time

    /// Takes all free queues for a node.
    func acquire(_ node: Int = 0) {
        for queue in queues { acquire(queue, for: node) }
    }

    private func acquire(_ queue: DeliveryQueue, for node: Int) {
        guard nodes[node].isAlive, nodes[node].isConnected, !nodes[node].deliveries.owned.contains(queue),
            let state = nodes[node].store.acquire(queue, for: QueueDeliveries.Limits.lease)
        else { return }
        let newest = log.newest([queue.partition], .events)?.first ?? .start
        nodes[node].deliveries.add(queue, state, beginningAt: newest, at: clock.time)
    }

    /// Lets time pass.
    /// - Parameter tick: the time between two checks whether something is due.
    func run(for seconds: Double, tick: Duration = .milliseconds(100)) {
        let end = clock.time.advanced(by: .seconds(seconds))
        while clock.time < end {
            for node in nodes.indices { step(node) }
            let nextTick = min(end, clock.time.advanced(by: tick))
            let next = agenda.min { ($0.time, $0.order) < ($1.time, $1.order) }
            guard let next, next.time <= nextTick else {
                clock.advance(to: nextTick)
                continue
            }
            clock.advance(to: next.time)
            agenda.removeAll { $0.order == next.order }
            next.work(self)
        }
    }

    private func schedule(after delay: Duration, _ work: @escaping (DeliverySimulation) -> Void) {
        appointments += 1
        agenda.append(Appointment(time: clock.time.advanced(by: delay), order: appointments, work: work))
    }

    private func step(_ node: Int) {
        guard nodes[node].isAlive else { return }
        for action in nodes[node].deliveries.begin(at: clock.time, using: &generator) { carryOut(action, by: node) }
    }

    private func carryOut(_ action: DeliveryAction, by node: Int) {
        switch action {
        case .acquire(let queue): acquire(queue, for: node)
        case .send(let attempt): send(attempt, by: node)
        case .read(let reads):
            schedule(after: storeLatency()) { simulation in
                let batches = simulation.nodes[node].isConnected ? simulation.log.read(reads.map(\.query)) : nil
                simulation.withLiving(node) { $0.endRead(reads, batches, at: simulation.clock.time) }
            }
        case .save(let changes, let queue, let lease):
            let start = clock.time
            schedule(after: storeLatency()) { $0.save(changes, of: queue, lease: lease, by: node, startedAt: start) }
        }
    }

    private func storeLatency() -> Duration { .milliseconds(Int.random(in: 0...3, using: &generator)) }

    private func save(
        _ changes: DeliveryChanges, of queue: DeliveryQueue, lease: Int, by node: Int, startedAt start: Timestamp
    ) {
        guard nodes[node].isAlive else { return }
        var fault: DeliveryStoreFault?
        do throws(DeliveryStoreFault) {
            guard nodes[node].isConnected else { throw .unreachable }
            try nodes[node].store.save(changes, of: queue, renewing: QueueDeliveries.Limits.lease)
        } catch {
            fault = error
        }
        let next = nodes[node].deliveries.endSave(of: queue, lease: lease, fault, startedAt: start, at: clock.time)
        if let next { carryOut(next, by: node) }
    }

    private func send(_ attempt: DeliveryAttempt, by node: Int) {
        inFlight += 1
        maximumInFlight = max(maximumInFlight, inFlight)
        guard let event = attempt.event ?? log.event(at: attempt.position, in: attempt.queue.partition, .events) else {
            return schedule(after: .zero) { $0.end(attempt, .removed, by: node) }
        }
        var request = SimulatedRequest(
            node: node, eventID: event.id, chain: event.originalTransactionID ?? "", hasGap: attempt.followsGap,
            isRetry: attempt.isRetry, position: attempt.position, time: seconds)
        let answer = answer(request)
        request.fault = answer.fault
        requests.append(request)
        let outcome = answer.fault.map {
            AttemptOutcome.failed($0, eventID: event.id, retryAfter: answer.retryAfter)
        }
        schedule(after: answer.latency) { $0.end(attempt, outcome ?? .delivered, by: node) }
    }

    private func end(_ attempt: DeliveryAttempt, _ outcome: AttemptOutcome, by node: Int) {
        inFlight -= 1
        let now = clock.time
        var generator = generator
        withLiving(node) { $0.end(attempt, outcome, at: now, using: &generator) }
        self.generator = generator
    }

    /// The work of a node that was killed ends without an effect.
    private func withLiving(_ node: Int, _ body: (inout EndpointDeliveries) -> [WebhookEvent]) {
        guard nodes[node].isAlive else { return }
        observed += body(&nodes[node].deliveries)
    }
}

// MARK: - Findings

extension DeliverySimulation {
    /// The requests that were answered with success, in order.
    var deliveries: [SimulatedRequest] { requests.filter { $0.fault == nil } }

    var delivered: Set<String> { Set(deliveries.map(\.eventID)) }

    var dead: [DeadDelivery] { queues.flatMap { store.dead($0, maximum: .max) } }

    /// The state in the store.
    func state(_ queue: DeliveryQueue) -> DeliveryState { store.state(of: queue) }

    var held: [HeldEvent] { queues.flatMap { state($0).held } }

    /// The IDs of each chain's events, as they were written.
    var writtenByChain: [String: [String]] {
        Dictionary(grouping: written) { $0.originalTransactionID ?? "" }.mapValues { $0.map(\.id) }
    }

    /// The IDs of each chain's events, as each was first delivered.
    var deliveredByChain: [String: [String]] {
        Dictionary(grouping: deliveries, by: \.chain).mapValues { requests in
            var seen: Set<String> = []
            return requests.map(\.eventID).filter { seen.insert($0).inserted }
        }
    }
}
