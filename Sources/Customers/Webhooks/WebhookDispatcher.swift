// SPDX-License-Identifier: Apache-2.0

package import Receipts
internal import Synchronization

/// Delivers the events of the log to all endpoints, together with the other nodes.
///
/// ```
/// endpoints ──▶ a worker for each ◀── leases of its queues: a fair share
///                       ▲── news in the log, and the time
/// ```
package final class WebhookDispatcher: Sendable {
    enum Limits {
        /// The time between two checks whether something is due.
        static let tick: Duration = .milliseconds(100)
        /// The time between two checks whether other nodes wrote events.
        static let poll: Duration = .milliseconds(500)
        static let allocation: Duration = .seconds(5)
    }

    private struct State {
        var workers: [String: EndpointWorker] = [:]
        var isFinished = false
    }

    private let ports: DeliveryPorts
    private let endpoints: @Sendable () -> [WebhookEndpoint]
    private let liveNodes: @Sendable () -> Int
    private let concurrency: Int
    private let state = Mutex(State())

    /// - Parameters:
    ///   - endpoints: returns the current endpoints. A change takes effect with the next delivery.
    ///   - liveNodes: returns the number of nodes that share the work, this node included.
    ///   - concurrency: the maximum number of attempts in flight to one endpoint.
    package init(
        log: any EventLog, store: any DeliveryStore, sender: any WebhookSender,
        endpoints: @escaping @Sendable () -> [WebhookEndpoint], liveNodes: @escaping @Sendable () -> Int,
        concurrency: Int, observe: @escaping WebhookObserver, clock: @escaping @Sendable () -> Timestamp
    ) {
        ports = DeliveryPorts(log: log, store: store, sender: sender, observe: observe, clock: clock)
        (self.endpoints, self.liveNodes, self.concurrency) = (endpoints, liveNodes, concurrency)
    }

    /// Announces that this node wrote an event to a partition, so that it is delivered without delay.
    package func announce(_ partition: AppPartition) {
        for worker in workers { for stream in EventStream.allCases { worker.announceNews(in: partition, stream) } }
    }

    /// Delivers events until the task is cancelled. Then attempts in flight end, and other nodes may take the queues.
    package func run() async {
        // A task of its own, which is not cancelled: an attempt that is cut short would be repeated.
        let work = Task { await self.runUntilFinished() }
        await withTaskCancellationHandler {
            await work.value
        } onCancel: {
            finish()
        }
    }

    /// Begins nothing more.
    private func finish() {
        state.withLock { state in
            state.isFinished = true
            for worker in state.workers.values { worker.finish() }
        }
    }

    private var workers: [EndpointWorker] { state.withLock { Array($0.workers.values) } }
    private var isFinished: Bool { state.withLock { $0.isFinished } }

    private func runUntilFinished() async {
        await withDiscardingTaskGroup { group in
            group.addTask { await self.pollRepeatedly() }
            group.addTask { await self.allocateRepeatedly() }
            while !isFinished {
                for worker in updateWorkers() { group.addTask { await worker.run() } }
                for worker in workers { worker.wake() }
                try? await Task.sleep(for: Limits.tick)
            }
            // Also those that began while the task was cancelled.
            finish()
        }
    }

    /// Follows the configuration, and returns the workers of new endpoints.
    private func updateWorkers() -> [EndpointWorker] {
        let current = Dictionary(endpoints().map { ($0.name, $0) }) { first, _ in first }
        return state.withLock { state in
            for (name, worker) in state.workers where current[name] == nil {
                worker.finish()
                state.workers[name] = nil
            }
            return current.values.compactMap { endpoint in
                if let worker = state.workers[endpoint.name] {
                    if worker.endpoint != endpoint { worker.update(endpoint) }
                    return nil
                }
                let worker = EndpointWorker(to: endpoint, concurrency: concurrency, ports: ports)
                state.workers[endpoint.name] = worker
                return worker
            }
        }
    }

    // MARK: - News

    private func pollRepeatedly() async {
        var newest: [EventStream: [AppPartition: EventPosition]] = [:]
        while !isFinished {
            for stream in EventStream.allCases { await poll(stream, &newest[stream, default: [:]]) }
            try? await Task.sleep(for: Limits.poll)
        }
    }

    /// Wakes the workers whose partitions have newer events than at the last poll.
    private func poll(_ stream: EventStream, _ known: inout [AppPartition: EventPosition]) async {
        let workers = workers
        let partitions = Array(Set(workers.flatMap(\.owned).filter { $0.stream == stream }.map(\.partition)))
        guard !partitions.isEmpty, let newest = await ports.log.newest(partitions, stream) else { return }
        for (partition, position) in zip(partitions, newest) where known[partition] != position {
            for worker in workers { worker.announceNews(in: partition, stream) }
        }
        known = Dictionary(zip(partitions, newest)) { first, _ in first }
    }

    // MARK: - Leases

    private func allocateRepeatedly() async {
        var allocation = LeaseAllocation()
        var next = ContinuousClock.now
        var known: Set<DeliveryQueue> = []
        while !isFinished {
            let workers = workers, queues = Set(workers.flatMap(\.endpoint.queues))
            if .now >= next || queues != known {
                let isReachable = await allocate(to: workers, by: &allocation, beginning: queues.subtracting(known))
                next = .now + Limits.allocation
                // What the store did not take is tried again at once.
                if isReachable { known = queues }
            }
            try? await Task.sleep(for: Limits.tick)
        }
    }

    /// - Parameter new: queues that this node did not know.
    /// - Returns: false if the store is unreachable.
    private func allocate(
        to workers: [EndpointWorker], by allocation: inout LeaseAllocation, beginning new: Set<DeliveryQueue>
    ) async -> Bool {
        guard (try? await ports.store.begin(Array(new))) != nil else { return false }
        let wanted = workers.flatMap(\.endpoint.queues), owned = workers.flatMap(\.owned)
        let surplus = allocation.surplus(of: owned, wanted: Set(wanted), liveNodes: liveNodes())
        for worker in workers { await worker.release(surplus) }
        let kept = Set(owned).subtracting(surplus)
        let others = wanted.filter { !kept.contains($0) && !surplus.contains($0) }
        guard !others.isEmpty else { return true }
        guard let surveys = try? await ports.store.survey(others) else { return false }
        let free = zip(others, surveys).filter { !$1.isLeased }.map(\.0)
        var generator: any RandomNumberGenerator = SystemRandomNumberGenerator()
        let additions = allocation.additions(from: free, ownedCount: kept.count, at: ports.clock(), using: &generator)
        let byName = Dictionary(workers.map { ($0.endpoint.name, $0) }) { first, _ in first }
        for queue in additions where !isFinished { await byName[queue.endpoint]?.acquire(queue) }
        return true
    }
}

/// The choice of the queues that this node works on: a fair share of all, and those that other nodes leave.
struct LeaseAllocation: Sendable {
    enum Limits {
        /// The time after which a queue without a lease is taken beyond the fair share.
        static let waitLimit: Duration = QueueDeliveries.Limits.lease
    }

    private var share = 0
    /// The queues without a lease, and the time at which each was first seen so.
    private var freeSince: [DeliveryQueue: Timestamp] = [:]
    /// The queues taken beyond the share, which are kept until the share changes.
    private var leftovers: Set<DeliveryQueue> = []

    mutating func surplus(of owned: [DeliveryQueue], wanted: Set<DeliveryQueue>, liveNodes: Int) -> [DeliveryQueue] {
        let newShare = (wanted.count + max(1, liveNodes) - 1) / max(1, liveNodes)
        if newShare != share { (share, leftovers) = (newShare, []) }
        let kept = owned.filter(wanted.contains)
        leftovers.formIntersection(kept)
        let surplus = max(0, kept.count - leftovers.count - share)
        return owned.filter { !wanted.contains($0) } + kept.filter { !leftovers.contains($0) }.suffix(surplus)
    }

    /// Returns the queues to take.
    /// - Parameter free: the queues without a lease.
    mutating func additions(
        from free: [DeliveryQueue], ownedCount: Int, at now: Timestamp,
        using generator: inout some RandomNumberGenerator
    ) -> [DeliveryQueue] {
        let known = freeSince
        freeSince = Dictionary(free.map { ($0, known[$0] ?? now) }) { first, _ in first }
        // At random, so that nodes do not compete for the same queues.
        let free = free.shuffled(using: &generator)
        let fair = free.prefix(max(0, share - ownedCount + leftovers.count))
        let left = free.dropFirst(fair.count).filter { queue in
            freeSince[queue].map { $0.advanced(by: Limits.waitLimit) <= now } ?? false
        }
        leftovers.formUnion(left)
        return fair + left
    }
}
