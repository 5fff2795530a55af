// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import Redis

struct TopologyRefreshRuleTests {
    private let start = ContinuousClock.now
    private var rule = TopologyRefreshRule(
        pace: .milliseconds(100), interval: .seconds(1), retryInterval: .milliseconds(200))

    private func at(_ milliseconds: Int) -> ContinuousClock.Instant { start + .milliseconds(milliseconds) }

    @Test mutating func `the first reason causes a refresh at once`() {
        #expect(rule.request(at: at(0)) == .refresh)
    }

    @Test mutating func `there is one refresh at a time, and a reason meanwhile causes one more`() {
        #expect(rule.request(at: at(0)) == .refresh)
        #expect(rule.request(at: at(10)) == .nothing)
        #expect(rule.request(at: at(300)) == .nothing)
        #expect(rule.timerFired(at: at(300)) == .nothing)
        #expect(rule.ended(isInOrder: true, at: at(300)) == .wait(until: at(300)))
        #expect(rule.timerFired(at: at(300)) == .refresh)
    }

    @Test mutating func `many reasons do not exceed the pace of refreshes`() {
        #expect(rule.request(at: at(0)) == .refresh)
        #expect(rule.ended(isInOrder: true, at: at(1)) == .wait(until: at(1001)))
        #expect(rule.request(at: at(2)) == .wait(until: at(100)))
        #expect(rule.request(at: at(3)) == .nothing)
        #expect(rule.timerFired(at: at(99)) == .nothing)
        #expect(rule.timerFired(at: at(100)) == .refresh)
        #expect(rule.ended(isInOrder: false, at: at(101)) == .wait(until: at(301)))
        #expect(rule.timerFired(at: at(301)) == .refresh)
    }

    @Test mutating func `an outdated timer does nothing`() {
        #expect(rule.request(at: at(0)) == .refresh)
        #expect(rule.ended(isInOrder: true, at: at(1)) == .wait(until: at(1001)))
        #expect(rule.request(at: at(900)) == .refresh)
        #expect(rule.timerFired(at: at(1001)) == .nothing)
        #expect(rule.ended(isInOrder: true, at: at(1002)) == .wait(until: at(2002)))
        #expect(rule.timerFired(at: at(1003)) == .nothing)
    }

    @Test mutating func `without a reason there are refreshes at intervals`() {
        #expect(rule.request(at: at(0)) == .refresh)
        #expect(rule.ended(isInOrder: true, at: at(500)) == .wait(until: at(1500)))
        #expect(rule.timerFired(at: at(1500)) == .refresh)
    }
}
