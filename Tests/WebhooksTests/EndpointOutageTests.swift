// SPDX-License-Identifier: Apache-2.0

import Receipts
import Testing

@testable import Customers

/// An endpoint that fails as a whole.
struct EndpointOutageTests {
    @Test(arguments: [DeliveryFault.connect, .timeout, .tls, .failed])
    func `after an hour without the endpoint all is delivered within a minute, in order`(fault: DeliveryFault) {
        let simulation = DeliverySimulation()
        simulation.answer = { $0.time < 3600 ? .fault(fault) : .delivered }
        simulation.acquire()
        for number in 0..<600 {
            simulation.write(number % 50)
            simulation.run(for: 5.5, tick: .milliseconds(500))
        }
        simulation.run(for: 3599 - simulation.seconds)
        // The first event has its second attempt before the fifth one fails. A probe may hold another, without an attempt.
        #expect(simulation.held.count { $0.attempts > 0 } <= 5 && simulation.held.allSatisfy { $0.attempts <= 2 })
        // Probes: two a minute at most, and a few in the beginning.
        #expect(simulation.requests.count < 150)
        simulation.run(for: 62 + 15)
        #expect(simulation.deliveredByChain == simulation.writtenByChain)
        #expect(simulation.deliveries.count == 600)
        #expect(simulation.dead.isEmpty && simulation.held.isEmpty)
    }

    @Test func `many events at once cost no more attempts than one`() {
        let simulation = DeliverySimulation()
        simulation.answer = { SimulatedAnswer(fault: $0.time < 600 ? .timeout : nil, latency: .seconds(15)) }
        simulation.acquire()
        for number in 0..<200 { simulation.write(number) }
        simulation.run(for: 599, tick: .milliseconds(500))
        // Those of the first attempts, and those of probes, which count as none.
        #expect(simulation.held.count { $0.attempts == 1 } <= 16 && simulation.held.allSatisfy { $0.attempts <= 1 })
        #expect(simulation.requests.count < 16 + 30)
    }

    @Test func `days without the endpoint give up nothing`() {
        let simulation = DeliverySimulation()
        simulation.answer = { $0.time < 100 * 3600 ? .fault(.connect) : .delivered }
        simulation.acquire()
        for number in 0..<100 { simulation.write(number % 20) }
        simulation.run(for: 100 * 3600, tick: .seconds(14))
        simulation.run(for: 90)
        #expect(simulation.dead.isEmpty)
        #expect(simulation.deliveredByChain == simulation.writtenByChain)
    }

    @Test func `events that crash the endpoint do not keep it paused`() {
        let simulation = DeliverySimulation()
        simulation.answer = { $0.chain.count % 2 == 0 ? .fault(.reset) : .delivered }
        simulation.acquire()
        // The chains below 10 have IDs of four digits, the others of five.
        for number in 1...6 { simulation.write(number) }
        simulation.run(for: 60)
        for number in 10...60 { simulation.write(number) }
        simulation.run(for: 600)
        #expect(simulation.delivered.count == 51)
    }

    @Test func `an endpoint that requests a pause is left alone for that time`() {
        let simulation = DeliverySimulation()
        simulation.answer = { $0.time < 1 ? .fault(.overloaded, retryAfter: .seconds(300)) : .delivered }
        simulation.acquire()
        for number in 0..<100 { simulation.write(number % 30) }
        simulation.run(for: 299)
        let early = simulation.requests.count
        #expect(early <= 16)
        simulation.run(for: 60)
        #expect(simulation.requests.filter { $0.fault == nil }.allSatisfy { $0.time >= 300 })
        #expect(simulation.deliveredByChain == simulation.writtenByChain)
    }

    @Test func `a rejection with Retry-After delays only its event`() {
        let simulation = DeliverySimulation()
        simulation.answer = {
            $0.eventID == "evt_0" && $0.time < 60 ? .fault(.rejected, retryAfter: .seconds(60)) : .delivered
        }
        simulation.acquire()
        for number in 0..<20 { simulation.write(number) }
        simulation.run(for: 59)
        #expect(simulation.delivered.count == 19)
        simulation.run(for: 3)
        #expect(simulation.delivered.count == 20)
    }

    // MARK: - 410

    @Test func `410 stops all queues until an operator enables them`() {
        let simulation = DeliverySimulation()
        simulation.answer = { $0.eventID == "evt_5" && $0.time < 1000 ? .fault(.gone) : .delivered }
        simulation.acquire()
        for number in 0..<8 { simulation.write(number) }
        simulation.run(for: 10)
        for number in 0..<8 { simulation.write(number) }
        let before = simulation.requests.count
        simulation.run(for: 2000, tick: .seconds(1))
        #expect(simulation.requests.count == before && !simulation.delivered.contains("evt_5"))
        #expect(simulation.queues.allSatisfy { simulation.state($0).disabledAt != nil })
        #expect(simulation.observed.filter { $0 == .disabled(endpoint: "shop/main") }.count == 1)
        for queue in simulation.queues { simulation.store.enable(queue) }
        simulation.run(for: 20)
        #expect(simulation.deliveredByChain == simulation.writtenByChain)
        #expect(simulation.dead.isEmpty)
    }
}
