// SPDX-License-Identifier: Apache-2.0

package import Receipts
internal import Synchronization

/// The results of comparisons over the last days, counted by kind.
package struct ComparisonTally: Hashable, Sendable {
    package enum Limits {
        /// The days that a report covers, today included.
        package static let days = 7
        /// The examples of each kind and day.
        package static let examples = 3
        /// The kinds of one day and pair: more than there are.
        package static let kinds = 256
    }

    package struct Kind: Hashable, Sendable {
        package var count = 0
        /// The newest first.
        package var examples: [ComparisonExample] = []

        package init(count: Int = 0, examples: [ComparisonExample] = []) {
            (self.count, self.examples) = (count, examples)
        }
    }

    /// The answers that both sources gave.
    package var compared = 0
    package var equal = 0
    /// The answers to which the other source had none.
    package var unanswered = 0
    package var kinds: [ComparisonKind: Kind] = [:]

    package init() {}

    package var isEmpty: Bool { compared == 0 && unanswered == 0 }

    /// The kinds of difference, the most frequent first.
    package var kindsByCount: [(kind: ComparisonKind, found: Kind)] {
        kinds.map { ($0.key, $0.value) }.sorted { one, other in
            one.1.count == other.1.count ? one.0 < other.0 : other.1.count < one.1.count
        }
    }

    package mutating func add(_ result: ComparisonResult) {
        switch result {
        case .unanswered: unanswered += 1
        case .compared(let differences):
            compared += 1
            if differences.isEmpty { equal += 1 }
            for (kind, example) in differences where kinds[kind] != nil || kinds.count < Limits.kinds {
                kinds[kind, default: Kind()].count += 1
                kinds[kind]?.keep([example])
            }
        }
    }

    /// Adds the results of another day.
    package mutating func add(_ other: ComparisonTally) {
        compared = compared.addingWithoutOverflow(other.compared)
        equal = equal.addingWithoutOverflow(other.equal)
        unanswered = unanswered.addingWithoutOverflow(other.unanswered)
        for (kind, found) in other.kinds {
            var sum = kinds[kind] ?? Kind()
            sum.count = sum.count.addingWithoutOverflow(found.count)
            sum.keep(found.examples)
            kinds[kind] = sum
        }
    }

    /// The number of the day in UTC, which begins a new count.
    package static func day(of time: Timestamp) -> Int64 { time.millisecondsSince1970 / 86_400_000 }

    /// The days of a report, the newest first.
    package static func days(until now: Timestamp) -> [Int64] { (0..<Int64(Limits.days)).map { day(of: now) - $0 } }

    /// The begin of the first day of a report.
    package static func start(until now: Timestamp) -> Timestamp {
        Timestamp(millisecondsSince1970: (day(of: now) - Int64(Limits.days) + 1) * 86_400_000)
    }
}

extension ComparisonTally.Kind {
    fileprivate mutating func keep(_ new: [ComparisonExample]) {
        examples = Array((new + examples).sorted { $1.hour < $0.hour }.prefix(ComparisonTally.Limits.examples))
    }
}

/// Counts the results of comparisons for the whole fleet, with examples that name no customer. Results older than a
/// report's days are forgotten.
package protocol ComparisonStore: Sendable {
    func record(_ result: ComparisonResult, of pair: ComparisonPair, at now: Timestamp) async throws(StoreUnreachable)

    /// Returns the results of the last days; of pairs without results none.
    func tallies(at now: Timestamp) async throws(StoreUnreachable) -> [ComparisonPair: ComparisonTally]
}

/// Counts the results of this node alone. They end with the process.
package final class EmbeddedComparisonStore: ComparisonStore {
    private struct Place: Hashable {
        let pair: ComparisonPair
        let day: Int64
    }

    private let tallies = Mutex<[Place: ComparisonTally]>([:])

    package init() {}

    package func record(_ result: ComparisonResult, of pair: ComparisonPair, at now: Timestamp) {
        let days = ComparisonTally.days(until: now)
        tallies.withLock { tallies in
            tallies[Place(pair: pair, day: days[0]), default: ComparisonTally()].add(result)
            tallies = tallies.filter { days.contains($0.key.day) }
        }
    }

    package func tallies(at now: Timestamp) -> [ComparisonPair: ComparisonTally] {
        let days = ComparisonTally.days(until: now)
        return tallies.withLock { tallies in
            tallies.reduce(into: [:]) { sums, entry in
                guard days.contains(entry.key.day) else { return }
                sums[entry.key.pair, default: ComparisonTally()].add(entry.value)
            }
        }
    }
}
