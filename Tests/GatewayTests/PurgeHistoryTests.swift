// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

import ReceiptForge
import TestSupport
import Testing

@testable import Caching

struct PurgeHistoryTests {
    private func position(_ number: UInt64, history: UInt64 = 0) -> PurgePosition {
        PurgePosition(history: history, number: number)
    }

    @Test func `a result is used until one of its transactions is purged`() {
        var history = PurgeHistory()
        let before = history.position
        #expect(history.purgeDecision(for: before, naming: ["a", "b"]) == .current)
        history.append("c")
        #expect(history.purgeDecision(for: before, naming: ["a", "b"]) == .current)
        history.append("b")
        #expect(history.purgeDecision(for: before, naming: ["a", "b"]) == .purged)
        #expect(history.purgeDecision(for: position(1), naming: ["a", "b"]) == .purged)
        #expect(history.purgeDecision(for: history.position, naming: ["a", "b"]) == .current)
        #expect(history.purgeDecision(for: before, naming: ["a"]) == .current)
    }

    @Test func `purges before the oldest one kept are unknown`() {
        var history = PurgeHistory(capacity: 3)
        for id in ["a", "b", "a", "c"] { history.append(id) }
        #expect(history.purgeDecision(for: position(0), naming: ["x"]) == .unknown)
        #expect(history.purgeDecision(for: position(1), naming: ["x"]) == .current)
        #expect(history.purgeDecision(for: position(1), naming: ["b"]) == .purged)
        // The first purge of "a" is gone, the second is not.
        #expect(history.purgeDecision(for: position(2), naming: ["a"]) == .purged)
        #expect(history.purgeDecision(for: position(3), naming: ["a"]) == .current)
    }

    /// Compares the history with a complete list of purges.
    @Test(arguments: [1, 2, 7, 64]) func `a bounded history never accepts more than a complete one`(capacity: Int) {
        var generator = SplitMix64(seed: TestSeed.number(UInt64(capacity)))
        var history = PurgeHistory(capacity: capacity)
        var all: [String] = []
        for _ in 0..<500 {
            let id = "\(UInt8.random(in: 0..<20, using: &generator))"
            history.append(id)
            all.append(id)
            let since = Int.random(in: 0...all.count, using: &generator)
            let asked = "\(UInt8.random(in: 0..<20, using: &generator))"
            let expected: PurgeDecision =
                all.count - since > capacity ? .unknown : all[since...].contains(asked) ? .purged : .current
            #expect(history.purgeDecision(for: position(UInt64(since)), naming: [asked]) == expected)
        }
    }

    @Test func `another history invalidates all earlier results`() {
        let history = PurgeHistory(from: position(5, history: 7))
        #expect(history.purgeDecision(for: position(5, history: 8), naming: []) == .unknown)
        #expect(history.purgeDecision(for: position(4, history: 7), naming: []) == .unknown)
        #expect(history.purgeDecision(for: position(5, history: 7), naming: []) == .current)
    }

    @Test func `skipped purges are unknown`() {
        var history = PurgeHistory()
        history.append("a")
        history.skip(to: 9)
        #expect(history.purgeDecision(for: position(8), naming: []) == .unknown)
        #expect(history.purgeDecision(for: position(9), naming: ["a"]) == .current)
        history.append("a")
        #expect(history.purgeDecision(for: position(9), naming: ["a"]) == .purged && history.position.number == 10)
    }
}
