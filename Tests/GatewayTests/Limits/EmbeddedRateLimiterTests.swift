// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import Resilience

struct EmbeddedRateLimiterTests {
    private static let policy = RatePolicy(name: "second", quota: 10, window: .seconds(1))
    private let clock = SteadyClock()

    private func limiter(_ maximumBuckets: Int) -> EmbeddedRateLimiter {
        EmbeddedRateLimiter(maximumBuckets: maximumBuckets) { [clock] in clock.now }
    }

    private func charge(_ subject: String, cost: Int = 1) -> RateCharge {
        RateCharge(RateBucket(client: "t", policy: Self.policy, subject: subject), cost: cost)
    }

    @Test func `many subjects take no more memory than allowed`() {
        let limiter = limiter(100)
        for number in 0..<10_000 { _ = limiter.admit([charge("\(number)", cost: 10)]) }
        #expect(limiter.count == 100)
    }

    @Test func `many other subjects give a client no tokens back`() {
        let limiter = limiter(100)
        #expect(limiter.admit([charge("hot", cost: 10)]).isAdmitted)
        for number in 0..<10_000 { _ = limiter.admit([charge("\(number)")]) }
        #expect(!limiter.admit([charge("hot")]).isAdmitted)
        #expect(limiter.count == 100)
    }

    @Test func `newcomers share one bucket while there is no room`() {
        let limiter = limiter(10)
        for number in 0..<10 { #expect(limiter.admit([charge("\(number)", cost: 10)]).isAdmitted) }
        let newcomers = (0..<100).filter { limiter.admit([charge("new \($0)")]).isAdmitted }
        #expect(newcomers.count == 10)
    }

    @Test func `a client that fills the table with subjects takes nothing from others`() {
        let limiter = limiter(10)
        for number in 0..<100 { _ = limiter.admit([charge("\(number)", cost: 10)]) }
        #expect(!limiter.admit([charge("another")]).isAdmitted)
        let other = RateCharge(RateBucket(client: "other", policy: Self.policy, subject: "another"), cost: 10)
        #expect(limiter.admit([other]).isAdmitted)
    }

    @Test func `a full bucket makes room for another`() {
        let limiter = limiter(10)
        for number in 0..<10 { _ = limiter.admit([charge("\(number)")]) }
        clock.advance(by: .milliseconds(100))
        for number in 10..<20 { _ = limiter.admit([charge("\(number)", cost: 5)]) }
        #expect(limiter.count == 10)
        // Each has its own bucket: ten of them have five tokens left.
        for number in 10..<20 { #expect(limiter.admit([charge("\(number)", cost: 5)]).isAdmitted) }
    }

    @Test func `two newcomers in one request are both charged to the shared bucket, or neither is`() {
        let limiter = limiter(1)
        #expect(limiter.admit([charge("old", cost: 10)]).isAdmitted)
        #expect(!limiter.admit([charge("a", cost: 6), charge("b", cost: 6)]).isAdmitted)
        #expect(limiter.admit([charge("a", cost: 5), charge("b", cost: 5)]).isAdmitted)
        #expect(!limiter.admit([charge("c")]).isAdmitted)
    }

    @Test func `a refusal is known before anything is taken, and nothing is taken by looking`() {
        let limiter = limiter(100)
        #expect(limiter.knownRefusal(of: [charge("a")]) == nil && limiter.count == 0)
        #expect(limiter.admit([charge("a", cost: 9)]).isAdmitted)
        for _ in 1...5 { #expect(limiter.knownRefusal(of: [charge("a")]) == nil) }
        #expect(limiter.knownRefusal(of: [charge("b"), charge("a", cost: 2)])?.isAdmitted == false)
        #expect(limiter.admit([charge("a")]).isAdmitted)
        #expect(limiter.knownRefusal(of: [charge("a")])?.retryAfter == .milliseconds(100))
        clock.advance(by: .milliseconds(100))
        #expect(limiter.knownRefusal(of: [charge("a")]) == nil)
    }

    @Test func `a request that costs too much for one bucket has no time to retry, whatever the others need`() {
        let limiter = limiter(100)
        #expect(limiter.admit([charge("empty", cost: 10)]).isAdmitted)
        let charges = [charge("empty"), charge("small", cost: 11)]
        for charges in [charges, charges.reversed()] {
            let admission = limiter.admit(charges)
            #expect(admission.outcomes.count(where: \.isRefusal) == 2 && admission.retryAfter == nil)
        }
    }

    @Test func `a policy in shadow mode never has a known refusal`() {
        let limiter = limiter(100)
        let shadow = RatePolicy(name: "shadow", quota: 1, window: .seconds(1), isShadow: true)
        let charges = [RateCharge(RateBucket(client: "t", policy: shadow))]
        for _ in 1...3 {
            #expect(limiter.knownRefusal(of: charges) == nil)
            #expect(limiter.admit(charges).isAdmitted)
        }
    }

    @Test func `while there is no room, newcomers have the known refusal of the shared bucket`() {
        let limiter = limiter(1)
        #expect(limiter.admit([charge("old", cost: 10)]).isAdmitted)
        #expect(limiter.knownRefusal(of: [charge("a")]) == nil)
        #expect(limiter.admit([charge("a", cost: 10)]).isAdmitted)
        #expect(limiter.knownRefusal(of: [charge("b")])?.isAdmitted == false)
    }
}
