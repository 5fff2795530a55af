// SPDX-License-Identifier: Apache-2.0

import Synchronization
import Testing
import TestSupport

@testable import Resilience

struct FleetRateLimiterTests {
    private static let minute = RatePolicy(name: "minute", quota: 6000, window: .seconds(60))
    private static let small = RatePolicy(name: "small", quota: 10, window: .seconds(10))
    private let clock = SteadyClock()
    private let buckets: ModelBuckets

    init() {
        buckets = ModelBuckets(clock)
    }

    private func node(of nodes: Int = 1) -> FleetRateLimiter {
        FleetRateLimiter(buckets, liveNodes: { nodes }, clock: { [clock] in clock.now })
    }

    private func charge(_ policy: RatePolicy, cost: Int = 1) -> RateCharge {
        RateCharge(RateBucket(client: "t", policy: policy), cost: cost)
    }

    // MARK: - Leases

    @Test func `a busy client costs far less than one operation per request, a quiet one loses nothing`() async {
        let node = node()
        let charges = [charge(Self.minute)]
        var sources: [RateAdmission.Source: Int] = [:]
        for _ in 0..<5000 {
            clock.advance(by: .milliseconds(10))
            let admission = await node.admit(charges)
            #expect(admission.isAdmitted)
            sources[admission.sources[0], default: 0] += 1
        }
        #expect(buckets.orders.count < 150)
        #expect(sources[.lease, default: 0] == 5000 - buckets.orders.count)
        let quiet = RateCharge(RateBucket(client: "quiet", policy: Self.minute), cost: 6000)
        #expect(await self.node().admit([quiet]).isAdmitted)
    }

    @Test func `tokens taken in advance expire`() async {
        let node = node()
        for _ in 0..<1000 { _ = await node.admit([charge(Self.minute)]) }
        #expect(await node.admit([charge(Self.minute)]).sources == [.lease])
        clock.advance(by: .seconds(1))
        let asked = buckets.orders.count
        #expect(await node.admit([charge(Self.minute)]).sources == [.store])
        #expect(buckets.orders.count == asked + 1)
    }

    @Test(arguments: [(10, Duration.seconds(10)), (63, .seconds(60)), (1_000_000, .seconds(1))])
    func `a bucket that is too small is not leased, nor one that fills too fast`(quota: Int, window: Duration) async {
        let policy = RatePolicy(name: "p", quota: quota, window: window, burst: min(quota, 1000))
        let node = node()
        for _ in 0..<200 { _ = await node.admit([charge(policy)]) }
        #expect(buckets.orders.allSatisfy { $0.order.lines.allSatisfy { $0.inAdvance == 0 } })
    }

    @Test func `a policy without leases goes to the store for each request`() async {
        let policy = RatePolicy(name: "p", quota: 6000, window: .seconds(60), isLeased: false)
        let node = node()
        for _ in 0..<100 { #expect(await node.admit([charge(policy)]).sources == [.store]) }
        #expect(buckets.orders.count == 100)
    }

    @Test func `tokens from the lease are not requested, and return when the store refuses`() async throws {
        let node = node()
        for _ in 0..<1000 { _ = await node.admit([charge(Self.minute)]) }
        let both = [charge(Self.minute), charge(Self.small)]
        for _ in 0..<10 { #expect(await node.admit(both).isAdmitted) }
        #expect(buckets.orders.suffix(10).allSatisfy { $0.order.lines.map(\.charge) == [charge(Self.small)] })
        let held = try #require(await node.admit([charge(Self.minute)]).outcomes.first)
        let other = [charge(Self.minute, cost: 2), charge(Self.small, cost: 2)]
        #expect(await !node.admit(other).isAdmitted)
        #expect(await !self.node().admit(both).isAdmitted)
        let after = try #require(await node.admit([charge(Self.minute)]).outcomes.first)
        #expect(after.remaining == held.remaining - 1)
    }

    // MARK: - Known refusals

    @Test func `a refusal of the store is known for a while, and reading it takes nothing`() async {
        let node = node()
        let charges = [charge(Self.small)]
        for _ in 1...10 {
            #expect(node.knownRefusal(of: charges) == nil)
            #expect(await node.admit(charges).isAdmitted)
        }
        #expect(await !node.admit(charges).isAdmitted)
        let asked = buckets.orders.count
        #expect(node.knownRefusal(of: charges)?.sources == [.rememberedRefusal])
        clock.advance(by: .seconds(1))
        #expect(node.knownRefusal(of: charges) == nil)
        #expect(buckets.orders.count == asked)
    }

    // MARK: - Batching

    @Test func `a thousand requests at once are two batches`() async throws {
        let node = node()
        let gate = Gate()
        buckets.behave { $0.gate = gate }
        let charges = [charge(Self.minute), charge(RatePolicy(name: "day", quota: 700, window: .seconds(86_400)))]
        let admitted = try await withThrowingTaskGroup { group in
            group.addTask { await node.admit(charges) }
            try await eventually { gate.waitingCount != 0 }
            for _ in 0..<999 { group.addTask { await node.admit(charges) } }
            try await eventually { node.waitingCount >= 999 }
            gate.open()
            return try await group.reduce(0) { $0 + ($1.isAdmitted ? 1 : 0) }
        }
        #expect(admitted == 700)
        #expect(buckets.orders.map(\.order.requests) == [1, 999])
        #expect(
            await FleetRateLimiter(buckets, liveNodes: { 1 }, clock: { clock.now })
                .admit([charge(Self.minute, cost: 5300)]).isAdmitted)
    }

    @Test func `a cancelled request does not cancel others of its batch`() async throws {
        let node = node()
        let gate = Gate()
        buckets.behave { $0.gate = gate }
        let charges = [charge(Self.minute)]
        let first = Task { await node.admit(charges) }
        try await eventually { gate.waitingCount != 0 }
        first.cancel()
        let second = Task { await node.admit(charges) }
        try await eventually { node.waitingCount != 0 }
        gate.open()
        #expect(await second.value.isAdmitted)
        #expect(await first.value.isAdmitted)
    }

    @Test func `the number of waiting requests is limited`() async throws {
        let node = node()
        let gate = Gate()
        buckets.behave { $0.gate = gate }
        let charges = [charge(Self.minute)]
        try await withThrowingTaskGroup { group in
            group.addTask { _ = await node.admit(charges) }
            try await eventually { gate.waitingCount != 0 }
            for _ in 0..<FleetRateLimiter.Limits.waiting { group.addTask { _ = await node.admit(charges) } }
            try await eventually { node.waitingCount >= FleetRateLimiter.Limits.waiting }
            #expect(await node.admit(charges).sources == [.localShare])
            gate.open()
        }
        #expect(buckets.orders.map(\.order.requests).max() == FleetRateLimiter.Limits.waiting)
    }

    // MARK: - Refusals

    @Test func `a refusal is cached, and never for longer than it holds`() async {
        let node = node()
        for _ in 0..<10 { _ = await node.admit([charge(Self.small)]) }
        for _ in 0..<9 {
            #expect(await node.admit([charge(Self.small)]).sources == [.rememberedRefusal])
            clock.advance(by: .milliseconds(100))
        }
        #expect(buckets.orders.count == 10)
        clock.advance(by: .milliseconds(100))
        #expect(await node.admit([charge(Self.small)]).isAdmitted)
        #expect(buckets.orders.count == 11)
    }

    @Test func `a request that costs less than a refused one goes to the store`() async {
        let node = node()
        for _ in 0..<8 { _ = await node.admit([charge(Self.small)]) }
        #expect(await node.admit([charge(Self.small, cost: 5)]).retryAfter == .seconds(3))
        #expect(await node.admit([charge(Self.small, cost: 6)]).sources == [.rememberedRefusal])
        #expect(await node.admit([charge(Self.small, cost: 2)]).isAdmitted)
    }

    @Test func `a refusal is cached for a second at most`() async {
        let day = RatePolicy(name: "day", quota: 2, window: .seconds(86_400))
        let node = node()
        for _ in 0..<3 { _ = await node.admit([charge(day)]) }
        buckets.flush()
        #expect(await !node.admit([charge(day)]).isAdmitted)
        clock.advance(by: .seconds(1))
        #expect(await node.admit([charge(day)]).isAdmitted)
    }

    @Test func `a cost above the bucket's capacity is refused locally and permanently`() async {
        let admission = await node().admit([charge(Self.minute), charge(Self.small, cost: 11)])
        #expect(!admission.isAdmitted && admission.retryAfter == nil)
        #expect(buckets.orders.isEmpty)
    }

    @Test func `a policy in shadow mode never refuses, and takes nothing when others refuse`() async throws {
        let shadow = RatePolicy(name: "shadow", quota: 5, window: .seconds(5000), isShadow: true)
        let node = node()
        let both = [charge(shadow), charge(Self.small)]
        var wouldRefuse = 0
        for number in 0..<12 {
            let admission = await node.admit(both)
            #expect(admission.isAdmitted == (number < 10))
            if admission.isAdmitted, admission.outcomes[0].decision != .admitted { wouldRefuse += 1 }
        }
        #expect(wouldRefuse == 5)
        let last = try #require(buckets.orders.last)
        #expect(last.order.lines.count == 2)
    }

    // MARK: - Without the store

    @Test(arguments: StoreFailureRule.allCases)
    func `each policy decides the fallback for a fault of the store`(rule: StoreFailureRule) async {
        let policy = RatePolicy(name: "p", quota: 12, window: .seconds(12), whenStoreFails: rule)
        let node = node(of: 3)
        buckets.behave { $0.fault = SharedBucketsFault() }
        var admitted = 0
        for _ in 0..<20 {
            let admission = await node.admit([charge(policy)])
            #expect(admission.isDegraded)
            admitted += admission.isAdmitted ? 1 : 0
        }
        let expected: [StoreFailureRule: Int] = [.local: 4, .open: 20, .closed: 0]
        #expect(admitted == expected[rule])
        #expect(buckets.faults == 20)
    }

    @Test func `a node that has admitted many has no second burst when the store fails`() async {
        let node = node(of: 2)
        for _ in 0..<5 { #expect(await node.admit([charge(Self.small)]).isAdmitted) }
        buckets.behave { $0.fault = SharedBucketsFault() }
        #expect(await !node.admit([charge(Self.small)]).isAdmitted)
        clock.advance(by: .seconds(2))
        #expect(await node.admit([charge(Self.small)]).isAdmitted)
        #expect(await !node.admit([charge(Self.small)]).isAdmitted)
    }

    @Test func `a share follows the number of nodes`() async {
        let nodes = Mutex(1)
        let policy = RatePolicy(name: "p", quota: 12, window: .seconds(12))
        let node = FleetRateLimiter(
            buckets, liveNodes: { nodes.withLock(\.self) }, clock: { [clock] in clock.now })
        buckets.behave { $0.fault = SharedBucketsFault() }
        nodes.withLock { $0 = 4 }
        for number in 0..<4 { #expect(await node.admit([charge(policy)]).isAdmitted == (number < 3)) }
        clock.advance(by: .seconds(2))
        #expect(await !node.admit([charge(policy)]).isAdmitted)
        nodes.withLock { $0 = 2 }
        #expect(await node.admit([charge(policy)]).isAdmitted)
    }

    @Test func `shares too are taken from all buckets or from none`() async {
        buckets.behave { $0.fault = SharedBucketsFault() }
        let node = node()
        for _ in 0..<5 { #expect(await !node.admit([charge(Self.minute), charge(Self.small, cost: 11)]).isAdmitted) }
        for number in 0..<12 {
            #expect(await node.admit([charge(Self.minute), charge(Self.small)]).isAdmitted == (number < 10))
        }
        let rest = await node.admit([charge(Self.minute, cost: 5990)])
        #expect(rest.isAdmitted)
    }

    @Test func `full function returns with the store`() async {
        let node = node()
        buckets.behave { $0.fault = SharedBucketsFault() }
        #expect(await node.admit([charge(Self.small)]).isDegraded)
        buckets.behave { $0.fault = nil }
        #expect(await node.admit([charge(Self.small)]).sources == [.store])
    }

    @Test func `a request that waits when the store fails does not wait again`() async throws {
        let node = node()
        let gate = Gate()
        buckets.behave { ($0.gate, $0.fault) = (gate, SharedBucketsFault()) }
        let charges = [charge(Self.minute)]
        let limiter = self.node()
        let degraded = try await withThrowingTaskGroup { group in
            group.addTask { await limiter.admit(charges) }
            try await eventually { gate.waitingCount != 0 }
            for _ in 0..<99 { group.addTask { await limiter.admit(charges) } }
            try await eventually { limiter.waitingCount >= 99 }
            gate.open()
            return try await group.reduce(0) { $0 + ($1.isDegraded && $1.isAdmitted ? 1 : 0) }
        }
        #expect(degraded == 100 && buckets.faults == 1)
        #expect(node.waitingCount == 0)
    }
}
