// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import Gateway
@testable import Resilience

struct InvalidationCountersTests {
    @Test func `a version is out of date once a name has changed, or all have`() {
        let counters = InvalidationCounters()
        let version = counters.version(of: ["a", "b"])
        #expect(version.isCurrent)
        // Names that share a counter with these are rare, and cost an extra look-up at most.
        let stranger = (0...).lazy.map { "\($0)" }.first { name in
            counters.invalidate(name)
            defer { counters.invalidate("unrelated") }
            return counters.version(of: ["a", "b"]).isCurrent && version.isCurrent
        }
        #expect(stranger != nil && version.isCurrent)
        counters.invalidate("b")
        #expect(!version.isCurrent && !version.isUnchanged)
        let second = counters.version(of: ["a"])
        counters.invalidateAll()
        #expect(!second.isCurrent && second.isUnchanged)
    }

    @Test func `a version that is out of date stays so when it watches more`() {
        let version = InvalidationCounters().version(of: ["a"])
        #expect(version.watching(["1"]).isCurrent && !version.outOfDate.watching(["1"]).isCurrent)
    }

    @Test func `a change between the look-up and storing is not missed`() {
        let counters = InvalidationCounters()
        func keep(changing change: () -> Void) -> Bool {
            let answer = Answer(
                verdict: .rejected(.accountNotFound),
                provenance: Provenance(source: .apple, cache: .miss, verifiedAt: Samples.created),
                freshUntil: Samples.time(10), version: counters.version(of: ["a"]))
            change()
            return AnswerValidity(answer, at: Samples.created)?.isValid(at: Samples.created, maximumAge: nil)
                == true
        }
        #expect(keep {})
        #expect(!keep { counters.invalidate("a") })
        #expect(!keep { counters.invalidateAll() })
        #expect(keep {})
    }

    @Test func `many tasks may change and compare at once`() async {
        let counters = InvalidationCounters()
        let before = counters.version(of: ["a"])
        await withTaskGroup(of: Void.self) { group in
            for task in 0..<8 {
                group.addTask { for turn in 0..<1000 { counters.invalidate(task.isMultiple(of: 2) ? "a" : "\(turn)") } }
            }
        }
        #expect(!before.isCurrent && counters.version(of: ["a"]).isCurrent)
    }
}
