// SPDX-License-Identifier: Apache-2.0

import Synchronization
import Testing

@testable import LoadTest

struct ThreadsTests {
    @Test func `each thread runs once and results come in order`() throws {
        #expect(try Threads(count: 5).run { $0 * 10 } == [0, 10, 20, 30, 40])
    }

    @Test func `threads run at the same time`() throws {
        let arrived = Atomic(0)
        // Each waits for the other: in turns they would wait for ever.
        _ = try Threads(count: 2).run { _ in
            arrived.add(1, ordering: .relaxed)
            while arrived.load(ordering: .relaxed) < 2 {}
        }
        #expect(arrived.load(ordering: .relaxed) == 2)
    }

    @Test func `an error of one thread is thrown`() {
        #expect(throws: SampleError.self) {
            try Threads(count: 3).run { thread in if thread == 1 { throw SampleError() } }
        }
    }
}
