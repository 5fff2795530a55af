// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

import Receipts
import Testing

@testable import Gateway
@testable import Server

struct StoredFindingTests {
    private static let policy = FreshnessPolicy()

    private static func bytes(_ known: KnownFinding) throws -> [UInt8] {
        try #require(StoredFinding(known: known, retention: policy.retention(of: known)).bytes)
    }

    @Test func `an answer comes back as it was`() throws {
        let known = try StoreSamples.known()
        let stored = try StoredFinding(Self.bytes(known), policy: Self.policy)
        #expect(stored.known.askedAt == known.askedAt && stored.known.freshUntil == known.freshUntil)
        #expect(stored.known.took == .milliseconds(250) && stored.retention == .seconds(86_430))
        guard case .answered(let answer) = stored.known.finding, case .answered(let original) = known.finding else {
            Issue.record("\(stored.known.finding)")
            return
        }
        #expect(answer.body == original.body && answer.transactions == original.transactions)
        #expect(answer.bundleID == original.bundleID && answer.environment == .sandbox)
        #expect(answer.latestReceipt == StoreSamples.receipt && answer.renewals == original.renewals)
    }

    @Test func `that Apple says nothing of a receipt comes back too`() throws {
        let gone = try StoredFinding(Self.bytes(StoreSamples.gone(at: 0, until: 3600)), policy: Self.policy)
        guard case .accountNotFound = gone.known.finding else {
            Issue.record("\(gone.known.finding)")
            return
        }
        #expect(gone.retention == .seconds(3660))
        let disagreement = KnownFinding(
            .unanswered(.upstreamDisagrees), askedAt: StoreSamples.created, freshUntil: StoreSamples.time(300))
        let stored = try StoredFinding(Self.bytes(disagreement), policy: Self.policy)
        guard case .unanswered(.upstreamDisagrees) = stored.known.finding else {
            Issue.record("\(stored.known.finding)")
            return
        }
        #expect(stored.retention == .seconds(300))
    }

    @Test func `a trouble of one node is nobody else's`() {
        for reason in DegradedReason.allCases where reason != .upstreamDisagrees {
            let known = KnownFinding(
                .unanswered(reason), askedAt: StoreSamples.created, freshUntil: StoreSamples.time(100))
            #expect(StoredFinding(known: known, retention: .seconds(100)).bytes == nil)
        }
    }

    @Test func `nothing that was cut short is a finding`() throws {
        let bytes = try Self.bytes(StoreSamples.known())
        for length in bytes.indices {
            #expect(throws: SharedCacheFault.self) {
                try StoredFinding(Array(bytes.prefix(length)), policy: Self.policy)
            }
        }
    }

    @Test(
        arguments: [
            (0, 2, .unreadable), (1, 0, .unreadable), (1, 4, .unreadable), (1, 2, .unreadable), (2, 2, .unreadable),
            // The answer says Sandbox.
            (2, 0, .unreadable), (11, 1, .implausibleTimes), (11, 0x80, .implausibleTimes),
            (19, 1, .implausibleTimes), (19, 0xFF, .implausibleTimes), (27, 1, .implausibleTimes),
            (27, 0x80, .implausibleTimes),
        ] as [(Int, UInt8, SharedCacheFault)])
    func `a byte that makes no sense is named`(offset: Int, value: UInt8, fault: SharedCacheFault) throws {
        var bytes = try Self.bytes(StoreSamples.known())
        bytes[offset] = value
        #expect(throws: fault) { try StoredFinding(bytes, policy: Self.policy) }
    }

    @Test func `a body is read as strictly as Apple's answers`() throws {
        let whole = try Self.bytes(StoreSamples.known())
        let header = whole.prefix(whole.count - StoreSamples.body().count)
        let bodies = ["", "{}", "[]", "{\"status\":0}", "{\"status\":21003}", "{\"status\":21007}", "{\"status\":0,"]
        for body in bodies.map({ Array($0.utf8) }) + [StoreSamples.body(environment: "Production")] {
            #expect(throws: SharedCacheFault.unreadable) { try StoredFinding(header + body, policy: Self.policy) }
        }
        #expect(try StoredFinding(header + StoreSamples.body(), policy: Self.policy).retention == .seconds(86_430))
    }

    @Test func `no bytes bring it down`() throws {
        let bytes = try Self.bytes(StoreSamples.known())
        var state: UInt64 = 7
        for _ in 0..<3000 {
            var changed = bytes
            for _ in 0..<3 {
                state = state &* 6_364_136_223_846_793_005 &+ 1
                changed[Int(state >> 33) % min(changed.count, 60)] = UInt8(truncatingIfNeeded: state >> 20)
            }
            _ = try? StoredFinding(changed, policy: Self.policy)
        }
    }

    @Test func `nothing larger than the limit is read`() throws {
        let fits = try StoreSamples.known(padding: StoredFindingLimits.bytes - Self.bytes(StoreSamples.known()).count)
        #expect(try Self.bytes(fits).count == StoredFindingLimits.bytes)
        #expect(try StoredFinding(Self.bytes(fits), policy: Self.policy).known.askedAt == StoreSamples.time(100))
        #expect(throws: SharedCacheFault.unreadable) {
            try StoredFinding(Self.bytes(fits) + [0x20], policy: Self.policy)
        }
    }
}
