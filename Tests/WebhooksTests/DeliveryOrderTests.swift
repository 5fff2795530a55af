// SPDX-License-Identifier: Apache-2.0

import Receipts
import Testing

@testable import Customers

/// Order and completeness, under faults of the endpoint, of nodes and of the store.
struct DeliveryOrderTests {
    @Test func `events are delivered in order per purchase chain, each once`() {
        let simulation = DeliverySimulation()
        simulation.acquire()
        for number in 0..<500 { simulation.write(number % 37) }
        simulation.run(for: 20)
        #expect(simulation.requests.count == 500)
        #expect(simulation.deliveredByChain == simulation.writtenByChain)
        #expect(simulation.maximumInFlight == 16)
        #expect(simulation.held.isEmpty)
    }

    @Test func `a new endpoint begins at the newest event`() {
        let simulation = DeliverySimulation()
        simulation.write(1)
        simulation.acquire()
        let event = simulation.write(1)
        simulation.run(for: 1)
        #expect(simulation.requests.map(\.eventID) == [event.id])
    }

    @Test func `events of other types are passed over`() {
        let simulation = DeliverySimulation()
        simulation.nodes[0].deliveries.endpoint.types = [.subscriptionExpired]
        simulation.acquire()
        for _ in 0..<100 { simulation.write(1) }
        let event = simulation.write(1, type: .subscriptionExpired)
        simulation.write(1)
        simulation.run(for: 5)
        #expect(simulation.requests.map(\.eventID) == [event.id])
        let numbers = simulation.queues.map { simulation.state($0).position?.number }
        #expect(numbers.contains(102))
    }

    @Test func `a failed event holds back later ones of its chain, and no others`() {
        let simulation = DeliverySimulation()
        simulation.acquire()
        simulation.answer = { $0.eventID == "evt_0" && $0.time < 4 ? .fault(.rejected) : .delivered }
        for number in 0..<60 { simulation.write(number % 3) }
        simulation.run(for: 3)
        #expect(simulation.delivered.count == 40)
        #expect(simulation.held.count == 20 && simulation.held.filter { $0.nextAttempt != nil }.count == 1)
        #expect(simulation.held.map(\.attempts).sorted().suffix(2) == [0, 1])
        simulation.run(for: 4)
        #expect(simulation.deliveredByChain == simulation.writtenByChain)
        #expect(simulation.requests.count == 61 && simulation.held.isEmpty)
    }

    @Test(arguments: 1...12) func `under random faults nothing is lost, doubled or out of order`(seed: UInt64) {
        let simulation = DeliverySimulation(seed: seed, concurrency: [1, 2, 16][Int(seed % 3)])
        let faults: [DeliveryFault] = [.rejected, .failed, .timeout, .overloaded, .connect, .reset]
        var failures: [String: Int] = [:]
        simulation.answer = { [unowned simulation] request in
            // After three failures the next attempt is half an hour later: all of a chain end within 12 hours.
            let isFault =
                Int.random(in: 0..<100, using: &simulation.generator) < 15 && failures[request.eventID, default: 0] < 3
            if isFault { failures[request.eventID, default: 0] += 1 }
            var answer = SimulatedAnswer(latency: .milliseconds(Int.random(in: 1...900, using: &simulation.generator)))
            answer.fault = isFault ? faults.randomElement(using: &simulation.generator) : nil
            return answer
        }
        simulation.acquire()
        for round in 0..<40 {
            for _ in 0..<5 { simulation.write(Int.random(in: 0..<20, using: &simulation.generator)) }
            simulation.run(for: Double(round % 4))
        }
        simulation.run(for: 12 * 3600, tick: .seconds(14))
        #expect(simulation.deliveries.count == 200)
        #expect(simulation.deliveredByChain == simulation.writtenByChain)
        #expect(simulation.held.isEmpty && simulation.dead.isEmpty)
        #expect(simulation.deliveries.filter(\.hasGap).isEmpty)
    }

    // MARK: - Giving up

    @Test(arguments: 1...2) func `an event is given up after its schedule, and the next of its chain has a gap`(
        seed: UInt64
    ) {
        let simulation = DeliverySimulation(seed: seed)
        let poisonous: Set<String> = ["evt_3", "evt_20", "evt_21"]
        simulation.answer = { poisonous.contains($0.eventID) ? .fault(.rejected) : .delivered }
        simulation.acquire()
        for number in 0..<40 { simulation.write(number % 4) }
        simulation.run(for: 10)
        let hour = 3600.0
        simulation.run(for: 75 * hour, tick: .seconds(14))
        #expect(simulation.dead.isEmpty)
        simulation.run(for: 85 * hour, tick: .seconds(14))
        #expect(Set(simulation.dead.map(\.eventID)) == poisonous)
        #expect(simulation.dead.allSatisfy { $0.attempts == 10 && $0.reason == "rejected" })
        let expected = simulation.writtenByChain.mapValues { $0.filter { !poisonous.contains($0) } }
        #expect(simulation.deliveredByChain == expected)
        #expect(Set(simulation.deliveries.filter(\.hasGap).map(\.eventID)) == ["evt_7", "evt_24", "evt_25"])
        #expect(simulation.deliveries.count == 37)
        #expect(simulation.queues.allSatisfy { simulation.state($0).gaps.isEmpty })
    }

    @Test func `no more than a thousand events are held, and the rest waits in the log`() {
        let simulation = DeliverySimulation(partitions: 1)
        simulation.answer = { _ in .fault(.rejected) }
        simulation.acquire()
        for number in 0..<1500 { simulation.write(number) }
        simulation.run(for: 120)
        #expect(simulation.held.count == 1000)
        #expect(simulation.state(simulation.queues[0]).position?.number == 1000)
        #expect(simulation.requests.count < 1000 * 4)
        simulation.answer = { _ in .delivered }
        simulation.run(for: 3600, tick: .seconds(1))
        #expect(simulation.delivered.count == 1500)
        #expect(simulation.held.isEmpty && simulation.dead.isEmpty)
    }

    @Test func `retries leave half of the slots to other events`() {
        let simulation = DeliverySimulation(partitions: 1, concurrency: 4)
        simulation.answer = {
            $0.time < 2 ? .fault(.rejected) : SimulatedAnswer(latency: .seconds($0.isRetry ? 60 : 1))
        }
        simulation.acquire()
        for number in 0..<50 { simulation.write(number) }
        simulation.run(for: 15)
        let slow = simulation.requests.filter { $0.isRetry && $0.time > 5 }.count
        #expect(slow == 2)
        for number in 100..<120 { simulation.write(number) }
        simulation.run(for: 12)
        #expect(simulation.delivered.isSuperset(of: simulation.written.suffix(20).map(\.id)))
    }

    // MARK: - Retention

    @Test func `a held event that the log no longer has is missed, and leaves a gap`() {
        let simulation = DeliverySimulation(partitions: 1, retained: 10)
        simulation.answer = { $0.eventID == "evt_0" ? .fault(.rejected) : .delivered }
        simulation.acquire()
        simulation.write(0)
        simulation.run(for: 1)
        for number in 1..<10 { simulation.write(number) }
        simulation.run(for: 1)
        let next = simulation.write(0)
        simulation.run(for: 5)
        #expect(simulation.observed.contains(.missed(endpoint: "shop/main", count: 1)))
        #expect(simulation.deliveries.filter(\.hasGap).map(\.eventID) == [next.id])
        #expect(simulation.held.isEmpty && simulation.dead.isEmpty)
    }

    @Test func `events that were removed before they were read are counted`() {
        let simulation = DeliverySimulation(partitions: 1, retained: 10)
        simulation.acquire()
        simulation.write(0)
        simulation.run(for: 1)
        simulation.answer = { _ in .fault(.connect) }
        for number in 1...100 { simulation.write(number) }
        simulation.run(for: 20)
        simulation.answer = { _ in .delivered }
        simulation.run(for: 60)
        #expect(simulation.observed.contains(.missed(endpoint: "shop/main", count: 90)))
        #expect(simulation.delivered.count == 11)
    }
}
