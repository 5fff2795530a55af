// SPDX-License-Identifier: Apache-2.0

import ReceiptForge
import Testing
import TestSupport

@testable import Resilience

struct PurgeHistoryTests {
    private func position(_ number: UInt64, history: UInt64 = 0) -> PurgePosition {
        PurgePosition(history: history, number: number)
    }

    @Test func `a purge for one app concerns the results of no other app`() {
        var history = PurgeHistory(capacity: 2)
        let before = history.position
        history.append(Purge("a", in: "com.example.one"))
        #expect(history.purgeDecision(for: before, naming: ["a"], in: "com.example.one") == .purged)
        #expect(history.names(["b", "a"], in: "com.example.one"))
        for app in ["com.example.two", nil] {
            #expect(history.purgeDecision(for: before, naming: ["a"], in: app) == .current)
            #expect(!history.names(["a"], in: app))
        }
        history.append(Purge("a"))
        #expect(history.purgeDecision(for: before, naming: ["a"], in: "com.example.two") == .purged)
        // The purge for one app makes room.
        history.append(Purge("b"))
        #expect(history.purgeDecision(for: position(2), naming: ["a"], in: "com.example.one") == .current)
        #expect(history.names(["a"], in: "com.example.one"))
    }

    @Test func `a purge of all results of an app concerns no other app's`() {
        var history = PurgeHistory()
        let before = history.position
        history.append(.all(of: "com.example.one"))
        for ids in [[], ["a"]] {
            #expect(history.purgeDecision(for: before, naming: ids, in: "com.example.one") == .purged)
            #expect(history.purgeDecision(for: before, naming: ids, in: "com.example.two") == .current)
            #expect(history.purgeDecision(for: history.position, naming: ids, in: "com.example.one") == .current)
        }
        #expect(history.names(["a"], in: "com.example.one") && !history.names(["a"], in: "com.example.two"))
    }

    @Test func `a result is used until one of its transactions is purged`() {
        var history = PurgeHistory()
        let before = history.position
        #expect(history.purgeDecision(for: before, naming: ["a", "b"], in: nil) == .current)
        history.append(Purge("c"))
        #expect(history.purgeDecision(for: before, naming: ["a", "b"], in: nil) == .current)
        history.append(Purge("b"))
        #expect(history.purgeDecision(for: before, naming: ["a", "b"], in: nil) == .purged)
        #expect(history.purgeDecision(for: position(1), naming: ["a", "b"], in: nil) == .purged)
        #expect(history.purgeDecision(for: history.position, naming: ["a", "b"], in: nil) == .current)
        #expect(history.purgeDecision(for: before, naming: ["a"], in: nil) == .current)
    }

    @Test func `purges before the oldest one kept are unknown`() {
        var history = PurgeHistory(capacity: 3)
        for id in ["a", "b", "a", "c"] { history.append(Purge(id)) }
        #expect(history.purgeDecision(for: position(0), naming: ["x"], in: nil) == .unknown)
        #expect(history.purgeDecision(for: position(1), naming: ["x"], in: nil) == .current)
        #expect(history.purgeDecision(for: position(1), naming: ["b"], in: nil) == .purged)
        // The first purge of "a" is gone, the second is not.
        #expect(history.purgeDecision(for: position(2), naming: ["a"], in: nil) == .purged)
        #expect(history.purgeDecision(for: position(3), naming: ["a"], in: nil) == .current)
    }

    /// Compares the history with a complete list of purges.
    @Test(arguments: [1, 2, 7, 64]) func `a bounded history never accepts more than a complete one`(capacity: Int) {
        var generator = SplitMix64(seed: TestSeed.number(UInt64(capacity)))
        var history = PurgeHistory(capacity: capacity)
        var all: [String] = []
        for _ in 0..<500 {
            let id = "\(UInt8.random(in: 0..<20, using: &generator))"
            history.append(Purge(id))
            all.append(id)
            let since = Int.random(in: 0...all.count, using: &generator)
            let asked = "\(UInt8.random(in: 0..<20, using: &generator))"
            let expected: PurgeDecision =
                all.count - since > capacity ? .unknown : all[since...].contains(asked) ? .purged : .current
            #expect(history.purgeDecision(for: position(UInt64(since)), naming: [asked], in: nil) == expected)
        }
    }

    @Test func `another history invalidates all earlier results`() {
        let history = PurgeHistory(from: position(5, history: 7))
        #expect(history.purgeDecision(for: position(5, history: 8), naming: [], in: nil) == .unknown)
        #expect(history.purgeDecision(for: position(4, history: 7), naming: [], in: nil) == .unknown)
        #expect(history.purgeDecision(for: position(5, history: 7), naming: [], in: nil) == .current)
    }

    @Test func `skipped purges are unknown`() {
        var history = PurgeHistory()
        history.append(Purge("a"))
        history.skip(to: 9)
        #expect(history.purgeDecision(for: position(8), naming: [], in: nil) == .unknown)
        #expect(history.purgeDecision(for: position(9), naming: ["a"], in: nil) == .current)
        history.append(Purge("a"))
        #expect(history.purgeDecision(for: position(9), naming: ["a"], in: nil) == .purged)
        #expect(history.position.number == 10)
    }
}
