// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import Resilience

struct ShardedTests {
    @Test(arguments: zip([0, 1, 2, 7, 8, 100], [1, 1, 2, 4, 8, 16]))
    func `equal hashes reach the same part, and all parts are used`(wanted: Int, count: Int) {
        let sharded = Sharded(upTo: wanted) { _ in 0 }
        for hash in -32..<32 { sharded.withLock(at: hash) { $0 += 1 } }
        let counts = (0..<count).map { part in sharded.withLock(at: part) { $0 } }
        #expect(counts == Array(repeating: 64 / count, count: count))
    }

    @Test func `threads that use one part take turns`() async {
        let counters = Counters()
        await withTaskGroup(of: Void.self) { group in
            for task in 0..<8 {
                group.addTask { for _ in 0..<1000 { counters.parts.withLock(at: task) { $0 += 1 } } }
            }
        }
        #expect(counters.parts.withLock(at: 0) { $0 } == 4000)
    }
}

private final class Counters: Sendable {
    let parts = Sharded(upTo: 2) { _ in 0 }
}
