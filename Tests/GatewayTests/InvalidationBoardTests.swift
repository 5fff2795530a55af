// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import Gateway

struct InvalidationBoardTests {
    @Test func `a stamp is out of date once one of its names changed, or once nobody listened`() {
        let board = InvalidationBoard()
        let stamp = board.stamp(of: ["a", "b"])
        #expect(stamp.isCurrent)
        // Names that share a counter with these are rare, and would only cost a look-up.
        let stranger = (0...).lazy.map { "\($0)" }.first { name in
            board.invalidate(name)
            defer { board.invalidate("nobody") }
            return board.stamp(of: ["a", "b"]).isCurrent && stamp.isCurrent
        }
        #expect(stranger != nil && stamp.isCurrent)
        board.invalidate("b")
        #expect(!stamp.isCurrent && !stamp.isUnchanged)
        let second = board.stamp(of: ["a"])
        board.invalidateAll()
        #expect(!second.isCurrent && second.isUnchanged)
    }

    @Test func `a change between the look-up and the keeping is not missed`() {
        let board = InvalidationBoard()
        func keep(changing change: () -> Void) -> Bool {
            var answer = Answer(
                .rejected(.accountNotFound), Provenance(source: .apple, cache: .miss, verifiedAt: Samples.created),
                freshUntil: Samples.time(10))
            answer.stamp = board.stamp(of: ["a"])
            change()
            return KnownAnswer(answer, at: Samples.created)?.holds(for: Question(), at: Samples.created) == true
        }
        #expect(keep {})
        #expect(!keep { board.invalidate("a") })
        #expect(!keep { board.invalidateAll() })
        #expect(keep {})
    }

    @Test func `many may change and look at once`() async {
        let board = InvalidationBoard()
        let before = board.stamp(of: ["a"])
        await withTaskGroup(of: Void.self) { group in
            for task in 0..<8 {
                group.addTask { for turn in 0..<1000 { board.invalidate(task.isMultiple(of: 2) ? "a" : "\(turn)") } }
            }
        }
        #expect(!before.isCurrent && board.stamp(of: ["a"]).isCurrent)
    }
}
