// SPDX-License-Identifier: Apache-2.0

import Resilience
import Synchronization
import Testing
import TestSupport

@testable import ServerTestSupport

/// The behaviour of every rate limiter, embedded and in Redis.
@Suite(.timeLimit(.patient))
struct RateLimiterTests {
    enum Kind: CaseIterable, Sendable {
        case embedded, redis, redisThroughTwoNodes
    }

    private static func withLimiter(_ kind: Kind, _ body: ([any RateLimiter]) async throws -> Void) async throws {
        guard kind != .embedded else { return try await body([EmbeddedRateLimiter()]) }
        let fleet = try await RedisFleet(nodes: kind == .redis ? 1 : 2)
        try await fleet.use { try await body(fleet.limiters) }
    }

    private func charge(_ quota: Int, per window: Duration, burst: Int? = nil, cost: Int = 1) -> RateCharge {
        let policy = RatePolicy(name: "q\(quota)", quota: quota, window: window, burst: burst)
        return RateCharge(RateBucket(client: "tenant", policy: policy, subject: "subject"), cost: cost)
    }

    @Test(arguments: Kind.allCases) func `a burst is admitted, and no more`(kind: Kind) async throws {
        try await Self.withLimiter(kind) { limiters in
            for number in 0..<8 {
                let admission = await limiters[number % limiters.count].admit([charge(6, per: .seconds(3600))])
                #expect(admission.isAdmitted == (number < 6))
                #expect(admission.outcomes.first?.remaining == max(0, 5 - number))
                let wait = try #require(admission.outcomes.first).timeUntilFull
                #expect(wait > .seconds(600 * min(number + 1, 6) - 600) && wait <= .seconds(600 * min(number + 1, 6)))
                if number >= 6 { #expect(try #require(admission.retryAfter) > .seconds(0)) }
            }
        }
    }

    @Test(arguments: Kind.allCases) func `a request is admitted after its retry time`(kind: Kind) async throws {
        try await Self.withLimiter(kind) { limiters in
            let charges = [charge(20, per: .seconds(1), burst: 2)]
            for _ in 0..<5 {
                while true {
                    let admission = await limiters[0].admit(charges)
                    guard let wait = admission.retryAfter else { break }
                    #expect(!admission.isAdmitted && wait <= .milliseconds(50))
                    // The retry time is what is tested; Redis has no other clock.
                    try await Task.sleep(for: wait)
                }
            }
        }
    }

    @Test(arguments: Kind.allCases) func `rejected requests take no tokens from any bucket`(kind: Kind) async throws {
        try await Self.withLimiter(kind) { limiters in
            let (large, small) = (charge(100, per: .seconds(86_400)), charge(5, per: .seconds(86_400)))
            var admitted = 0
            for number in 0..<200 {
                admitted += await limiters[number % limiters.count].admit([large, small]).isAdmitted ? 1 : 0
            }
            #expect(admitted == 5)
            let rest = charge(100, per: .seconds(86_400), cost: 95)
            #expect(await limiters[0].admit([rest]).isAdmitted)
            #expect(await !limiters[0].admit([large]).isAdmitted)
        }
    }

    @Test(arguments: Kind.allCases) func `a cost takes its tokens, and a cost above the burst takes none`(kind: Kind)
        async throws
    {
        try await Self.withLimiter(kind) { limiters in
            let never = await limiters[0].admit([charge(10, per: .seconds(3600), cost: 11)])
            #expect(!never.isAdmitted && never.retryAfter == nil)
            #expect(await limiters[0].admit([charge(10, per: .seconds(3600), cost: 7)]).isAdmitted)
            #expect(await !limiters[0].admit([charge(10, per: .seconds(3600), cost: 4)]).isAdmitted)
            #expect(await limiters[0].admit([charge(10, per: .seconds(3600), cost: 3)]).isAdmitted)
        }
    }

    @Test(arguments: Kind.allCases) func `a policy in shadow mode rejects no request`(kind: Kind) async throws {
        try await Self.withLimiter(kind) { limiters in
            let shadow = RatePolicy(name: "s", quota: 3, window: .seconds(3600), isShadow: true)
            let shadowed = RateCharge(RateBucket(client: "tenant", policy: shadow))
            for number in 0..<8 {
                let admission = await limiters[0].admit([shadowed, charge(6, per: .seconds(3600))])
                #expect(admission.isAdmitted == (number < 6))
                #expect((admission.outcomes.first?.decision == .admitted) == (number < 3))
            }
        }
    }

    @Test(arguments: Kind.allCases) func `no charge is no limit`(kind: Kind) async throws {
        try await Self.withLimiter(kind) { #expect(await $0[0].admit([]).isAdmitted) }
    }

    @Test(arguments: Kind.allCases, [true, false])
    func `concurrent requests are admitted up to the burst and the tokens that arrive meanwhile`(
        kind: Kind, isLeased: Bool
    ) async throws {
        try await Self.withLimiter(kind) { limiters in
            let policies = [
                RatePolicy(name: "second", quota: 500, window: .seconds(1), isLeased: isLeased),
                RatePolicy(name: "minute", quota: 30_000, window: .seconds(60), burst: 1200, isLeased: isLeased),
            ]
            let charges = policies.map { RateCharge(RateBucket(client: "tenant", policy: $0)) }
            let start = ContinuousClock.now
            let admitted = Admissions()
            await withDiscardingTaskGroup { group in
                for number in 0..<64 {
                    group.addTask {
                        // The burst, and as many tokens that arrived after it.
                        while admitted.count < 1000 {
                            let isAdmitted = await limiters[number % limiters.count].admit(charges).isAdmitted
                            if isAdmitted { admitted.add() }
                            await Task.yield()
                        }
                    }
                }
            }
            let instants = admitted.sorted
            // At any time, the admitted requests are covered by the burst and the tokens that arrived.
            for (index, instant) in instants.enumerated() {
                let arrived = start.duration(to: instant) / .seconds(1) * 500
                #expect(Double(index + 1) <= 500 + arrived)
                if Double(index + 1) > 500 + arrived { break }
            }
            #expect(instants.count >= 1000)
        }
    }
}

/// The times at which requests were admitted.
private final class Admissions: Sendable {
    private let instants = Mutex<[ContinuousClock.Instant]>([])

    var count: Int { instants.withLock { $0.count } }
    var sorted: [ContinuousClock.Instant] { instants.withLock { $0.sorted() } }

    func add() {
        instants.withLock { $0.append(.now) }
    }
}
