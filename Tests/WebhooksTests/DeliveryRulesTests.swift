// SPDX-License-Identifier: Apache-2.0

import ReceiptForge
import Receipts
import Testing
import TestSupport

@testable import Customers

/// The rules of time: the schedule of one event, the health of an endpoint, and the shares of nodes.
struct DeliveryRulesTests {
    private static let start = DeliverySimulation.start
    private var generator = SplitMix64(seed: TestSeed.number(1))

    private func time(_ seconds: Double) -> Timestamp { Self.start.advanced(by: .seconds(seconds)) }

    // MARK: - Schedule

    @Test mutating func `an event has ten attempts, within 75 to 84 hours`() {
        var delays: [Duration] = []
        while let delay = DeliverySchedule.delay(
            afterAttempts: delays.count + 1, retryAfter: nil, using: &generator)
        {
            delays.append(delay)
        }
        #expect(delays.count == 9 && DeliverySchedule.attempts == 10)
        let hours = delays.reduce(.zero, +) / .seconds(3600)
        #expect((75.5...83.2).contains(hours))
    }

    @Test(arguments: zip(1...9, [5, 300, 1800, 7200, 18_000, 36_000, 50_400, 72_000, 86_400]))
    mutating func `a delay is never shorter than the schedule's, and at most a tenth longer`(
        attempts: Int, seconds: Int
    ) {
        for _ in 0..<100 {
            let delay = DeliverySchedule.delay(afterAttempts: attempts, retryAfter: nil, using: &generator) ?? .zero
            #expect(delay >= .seconds(seconds) && delay <= .seconds(seconds) * 1.1)
        }
    }

    @Test mutating func `Retry-After prolongs a delay, up to an hour`() {
        func delay(_ retryAfter: Duration, _ generator: inout SplitMix64) -> Duration? {
            DeliverySchedule.delay(afterAttempts: 1, retryAfter: retryAfter, using: &generator)
        }
        #expect(delay(.seconds(120), &generator) == .seconds(120))
        #expect(delay(.seconds(86_400), &generator) == .seconds(3600))
        #expect(delay(.seconds(1), &generator).map { $0 >= .seconds(5) } == true)
        #expect(DeliverySchedule.delay(afterAttempts: 10, retryAfter: .seconds(1), using: &generator) == nil)
    }

    // MARK: - Health

    private mutating func fail(
        _ health: inout EndpointHealth, _ events: [String], isProbe: Bool = false, retryAfter: Duration? = nil,
        at seconds: Double = 0
    ) {
        for event in events {
            health.recordFailure(
                of: event, isProbe: isProbe, retryAfter: retryAfter, at: time(seconds), using: &generator)
        }
    }

    @Test mutating func `five different events that fail in a row pause the endpoint`() {
        var health = EndpointHealth()
        fail(&health, ["1", "2", "3", "4"])
        #expect(health.permit(at: time(0)) == .all)
        fail(&health, ["5"])
        #expect(health.permit(at: time(0)) == .none && health.permit(at: time(1)) == .probe)
        health.beginProbe()
        #expect(health.permit(at: time(1)) == .none)
        health.recordAnswer(isProbe: true)
        #expect(health.permit(at: time(1)) == .all)
    }

    @Test mutating func `one event that fails again and again pauses nothing`() {
        var health = EndpointHealth()
        fail(&health, Array(repeating: "1", count: 50))
        #expect(health.permit(at: time(0)) == .all)
    }

    @Test mutating func `an answer between failures starts the count anew`() {
        var health = EndpointHealth()
        fail(&health, ["1", "2", "3", "4"])
        health.recordAnswer(isProbe: false)
        fail(&health, ["5", "6", "7", "8"])
        #expect(!health.isPaused)
    }

    @Test mutating func `pauses double up to a minute`() {
        var health = EndpointHealth(), now = 0.0, pauses: [Double] = []
        fail(&health, ["1", "2", "3", "4", "5"])
        for _ in 0..<10 {
            let pause = (0...700).first { health.permit(at: time(now + Double($0) / 10)) == .probe }
            pauses.append(Double(pause ?? 0) / 10)
            now += 100
            health.beginProbe()
            fail(&health, ["6"], isProbe: true, at: now)
        }
        let longest = [1, 2, 4, 8, 16, 32, 60, 60, 60, 60]
        for (pause, longest) in zip(pauses, longest) {
            #expect((Double(longest) / 2...Double(longest)).contains(pause))
        }
        #expect(pauses.count == 10)
    }

    @Test mutating func `an endpoint that requests a pause gets it at once, up to an hour`() {
        var health = EndpointHealth()
        fail(&health, ["1"], retryAfter: .seconds(120))
        #expect(health.permit(at: time(119.9)) == .none && health.permit(at: time(120)) == .probe)
        health = EndpointHealth()
        fail(&health, ["1"], retryAfter: .seconds(86_400))
        #expect(health.permit(at: time(3599)) == .none && health.permit(at: time(3600)) == .probe)
    }

    @Test mutating func `requests sent before a pause neither prolong nor end it`() {
        var health = EndpointHealth()
        fail(&health, ["1", "2", "3", "4", "5"])
        fail(&health, ["6"], retryAfter: .seconds(3000))
        health.recordAnswer(isProbe: false)
        #expect(health.permit(at: time(0.4)) == .none && health.permit(at: time(1)) == .probe)
    }

    @Test mutating func `a clock that was set back does not prolong a pause`() {
        var health = EndpointHealth()
        fail(&health, ["1"], retryAfter: .seconds(60), at: 86_400)
        #expect(health.permit(at: time(0)) == .probe)
    }

    // MARK: - Shares

    private static let queues = ["com.example.one", "com.example.two"].flatMap(AppPartition.all).map {
        DeliveryQueue(endpoint: "shop/main", partition: $0, stream: .events)
    }

    @Test mutating func `a node takes its share, rounded up`() {
        var allocation = LeaseAllocation()
        #expect(allocation.surplus(of: [], wanted: Set(Self.queues), liveNodes: 3) == [])
        let taken = allocation.additions(from: Self.queues, ownedCount: 0, at: time(0), using: &generator)
        #expect(taken.count == 6 && Set(taken).isSubset(of: Self.queues))
    }

    @Test mutating func `queues that no node takes are taken beyond the share after a lease, and kept`() {
        var allocation = LeaseAllocation()
        var owned = Array(Self.queues.prefix(8))
        let free = Array(Self.queues.dropFirst(8))
        _ = allocation.surplus(of: owned, wanted: Set(Self.queues), liveNodes: 2)
        #expect(allocation.additions(from: free, ownedCount: 8, at: time(0), using: &generator) == [])
        #expect(allocation.additions(from: free, ownedCount: 8, at: time(14), using: &generator) == [])
        // One of them had a lease for a moment: its time begins anew.
        let later = Array(free.dropLast())
        #expect(allocation.additions(from: later, ownedCount: 8, at: time(14.5), using: &generator) == [])
        let taken = allocation.additions(from: free, ownedCount: 8, at: time(15), using: &generator)
        #expect(Set(taken) == Set(later))
        owned += taken
        #expect(allocation.surplus(of: owned, wanted: Set(Self.queues), liveNodes: 2) == [])
    }

    @Test mutating func `a further node gets its share`() {
        var allocation = LeaseAllocation()
        _ = allocation.surplus(of: [], wanted: Set(Self.queues), liveNodes: 1)
        let taken = allocation.additions(from: Self.queues, ownedCount: 0, at: time(0), using: &generator)
        #expect(Set(taken) == Set(Self.queues))
        #expect(allocation.surplus(of: Self.queues, wanted: Set(Self.queues), liveNodes: 2).count == 8)
    }

    @Test mutating func `queues of removed apps and endpoints are released`() {
        var allocation = LeaseAllocation()
        let kept = Array(Self.queues.prefix(8))
        #expect(
            allocation.surplus(of: Self.queues, wanted: Set(kept), liveNodes: 1) == Array(Self.queues.dropFirst(8)))
    }
}
