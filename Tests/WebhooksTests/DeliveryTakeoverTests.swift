// SPDX-License-Identifier: Apache-2.0

import ReceiptForge
import Receipts
import Testing
import TestSupport

@testable import Customers

/// Several nodes with one store, of which some end or lose it.
struct DeliveryTakeoverTests {
    @Test(arguments: 1...10) func `after a crash another node delivers the rest, and nothing is lost`(seed: UInt64) {
        let simulation = crash(seed: seed)
        #expect(simulation.deliveredByChain == simulation.writtenByChain)
        // Of each queue the events that were read and not settled, and those of the last unsaved moment.
        #expect(simulation.deliveries.count - 400 < 64)
    }

    @Test func `events that are held and read again are delivered once`() {
        let simulation = DeliverySimulation(partitions: 1, nodes: 2)
        simulation.answer = {
            SimulatedAnswer(
                fault: $0.eventID == "evt_1" && $0.node == 0 ? .rejected : nil,
                latency: .seconds($0.eventID == "evt_0" ? 60 : 0))
        }
        simulation.acquire(0)
        simulation.write(0)
        for _ in 0..<10 { simulation.write(1) }
        simulation.run(for: 2)
        #expect(simulation.held.count == 10)
        simulation.nodes[0].isAlive = false
        simulation.run(for: 16)
        simulation.acquire(1)
        simulation.run(for: 120)
        #expect(simulation.deliveredByChain == simulation.writtenByChain)
        #expect(simulation.deliveries.filter { $0.eventID != "evt_0" }.count == 10)
    }

    @Test func `events that are read again after a loss of the log are not sent again at once`() throws {
        let simulation = DeliverySimulation(partitions: 1), queue = simulation.queues[0]
        for chain in 0..<3 { simulation.write(chain) }
        let endpoint = WebhookEndpoint(name: queue.endpoint, apps: [DeliverySimulation.app], url: "https://example.com")
        let query = EventQuery(queue.partition, after: .start, maximum: 16)
        var batch = try #require(simulation.log.read([query])?.first), now = DeliverySimulation.start
        var deliveries = QueueDeliveries(queue, lease: 1, DeliveryState(), beginningAt: .start, at: now)
        deliveries.endRead(batch, for: endpoint, at: now)
        let attempts = try (0..<3).map { _ in
            let attempt = try #require(deliveries.firstLoaded(at: now))
            deliveries.begin(attempt)
            return attempt
        }
        var generator = SplitMix64(seed: TestSeed.number(1))
        deliveries.settle(attempts[1], isDelivered: true, at: now)
        _ = deliveries.fail(attempts[2], .timeout, eventID: "", retryAfter: nil, at: now, using: &generator)
        batch.last = .end(of: batch.last.milliseconds, number: 3)
        deliveries.endRead(batch, for: endpoint, at: now)
        #expect(deliveries.firstLoaded(at: now) == nil)
        deliveries.settle(attempts[0], isDelivered: true, at: now)
        #expect(deliveries.firstLoaded(at: now) == nil && deliveries.loadedCount == 0)
        // The held one has one attempt.
        now = now.advanced(by: .seconds(10))
        let retry = try #require(deliveries.dueRetry(at: now))
        deliveries.begin(retry)
        deliveries.settle(retry, isDelivered: true, at: now)
        #expect(deliveries.dueRetry(at: now) == nil)
    }

    @Test func `a seed gives the same run again`() {
        #expect(crash(seed: 1).requests == crash(seed: 1).requests)
    }

    /// Ends a node at a random time, while a tenth of its attempts fail.
    private func crash(seed: UInt64) -> DeliverySimulation {
        let simulation = DeliverySimulation(seed: seed, nodes: 2)
        var failures: [String: Int] = [:]
        simulation.answer = { [unowned simulation] request in
            let latency = Int.random(in: 1...300, using: &simulation.generator)
            // After three failures the next attempt is half an hour later: all of a chain end within 12 hours.
            let isFault =
                Int.random(in: 0..<100, using: &simulation.generator) < 10
                && failures[request.eventID, default: 0] < 3
            if isFault { failures[request.eventID, default: 0] += 1 }
            return SimulatedAnswer(fault: isFault ? .rejected : nil, latency: .milliseconds(latency))
        }
        simulation.acquire(0)
        for number in 0..<400 { simulation.write(number % 30) }
        simulation.run(for: Double.random(in: 0.1...3, using: &simulation.generator))
        simulation.nodes[0].isAlive = false
        simulation.acquire(1)
        #expect(simulation.nodes[1].deliveries.owned.isEmpty, "the leases have not ended")
        simulation.run(for: 16)
        simulation.acquire(1)
        simulation.run(for: 12 * 3600, tick: .seconds(14))
        return simulation
    }

    @Test func `a node that does not reach the store stops when its lease ends`() {
        let simulation = DeliverySimulation(nodes: 2)
        simulation.acquire(0)
        simulation.run(for: 1)
        simulation.nodes[0].isConnected = false
        simulation.run(for: 20)
        #expect(simulation.nodes[0].deliveries.owned.isEmpty)
        simulation.acquire(1)
        for number in 0..<50 { simulation.write(number) }
        simulation.run(for: 10)
        #expect(simulation.requests.count == 50 && simulation.requests.allSatisfy { $0.node == 1 })
    }

    @Test func `a short fault of the store costs nothing`() {
        let simulation = DeliverySimulation()
        simulation.answer = { $0.eventID == "evt_3" && $0.time < 4 ? .fault(.rejected) : .delivered }
        simulation.acquire()
        for number in 0..<20 { simulation.write(number % 5) }
        simulation.run(for: 0.05)
        simulation.nodes[0].isConnected = false
        simulation.run(for: 8)
        simulation.nodes[0].isConnected = true
        simulation.run(for: 10)
        #expect(simulation.deliveredByChain == simulation.writtenByChain)
        #expect(simulation.deliveries.count == 20)
        #expect(
            simulation.queues.allSatisfy { queue in
                simulation.state(queue).position == simulation.log.newest([queue.partition], .events)?.first
            })
    }

    @Test func `a node whose lease another one has sends nothing more`() {
        let simulation = DeliverySimulation(nodes: 2)
        simulation.answer = { SimulatedAnswer(latency: .seconds($0.node == 0 ? 12 : 1)) }
        simulation.acquire(0)
        for number in 0..<4 { for _ in 0..<5 { simulation.write(number) } }
        simulation.run(for: 1)
        // As if the first node had paused for longer than its lease.
        for queue in simulation.queues { simulation.nodes[0].store.release(queue) }
        simulation.acquire(1)
        simulation.run(for: 60)
        let first = simulation.requests.filter { $0.node == 0 }
        #expect(first.count == 4 && first.allSatisfy { $0.time < 1 })
        #expect(simulation.nodes[0].deliveries.owned.isEmpty)
        #expect(simulation.requests.filter { $0.node == 1 }.count == 20)
        let second = simulation.requests.filter { $0.node == 1 }
        #expect(Dictionary(grouping: second, by: \.chain).mapValues { $0.map(\.eventID) } == simulation.writtenByChain)
    }

    @Test func `the lease is renewed while a slow delivery is in flight`() {
        let simulation = DeliverySimulation(nodes: 2)
        simulation.answer = { _ in SimulatedAnswer(latency: .seconds(60)) }
        simulation.acquire(0)
        simulation.write(0)
        simulation.write(1)
        for _ in 0..<59 {
            simulation.run(for: 1)
            simulation.acquire(1)
        }
        #expect(simulation.nodes[1].deliveries.owned.isEmpty && simulation.requests.count == 2)
    }

    // MARK: - Operators

    @Test func `a dead event that is redelivered goes out at once`() {
        let simulation = DeliverySimulation(partitions: 1)
        simulation.answer = { $0.eventID == "evt_0" ? .fault(.rejected) : .delivered }
        simulation.acquire()
        simulation.write(0)
        simulation.run(for: 85 * 3600, tick: .seconds(14))
        #expect(simulation.dead.map(\.eventID) == ["evt_0"])
        simulation.answer = { _ in .delivered }
        #expect(simulation.store.redeliver(simulation.queues[0], eventID: "evt_1") == 0)
        #expect(simulation.store.redeliver(simulation.queues[0], eventID: nil) == 1)
        simulation.run(for: 7)
        #expect(simulation.delivered == ["evt_0"] && simulation.dead.isEmpty && simulation.held.isEmpty)
    }

    @Test func `after a rewind events are delivered again, with the same IDs`() {
        let simulation = DeliverySimulation(partitions: 1)
        simulation.acquire()
        for number in 0..<10 { simulation.write(number % 2) }
        simulation.run(for: 1)
        simulation.store.rewind(simulation.queues[0], to: simulation.requests[4].position)
        simulation.run(for: 7)
        #expect(simulation.requests.count == 15)
        #expect(
            simulation.requests.suffix(5).map(\.eventID).sorted() == simulation.written.suffix(5).map(\.id).sorted())
    }

    @Test func `a survey counts what is not delivered`() async throws {
        let simulation = DeliverySimulation(partitions: 1)
        simulation.answer = { $0.eventID == "evt_1" ? .fault(.rejected) : .delivered }
        simulation.acquire()
        for number in 0..<3 { simulation.write(number) }
        simulation.run(for: 2)
        simulation.nodes[0].isAlive = false
        simulation.run(for: 20)
        for number in 0..<2 { simulation.write(number) }
        let survey = try #require(try await simulation.store.survey(simulation.queues).first)
        #expect(survey.held == 1 && survey.unread == 2 && survey.dead == 0 && !survey.isLeased)
        #expect(survey.lag == .seconds(22) && survey.position?.number == 3)
    }
}
