// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import Operations
@testable import ServerTestSupport

@Suite("The history of the status page")
struct StatusHistoryTests {
    private typealias Limits = StatusHistory.Limits

    private static func history(ticks: Int) -> StatusHistory {
        var history = StatusHistory(first: StatusReading(tick: 0))
        for tick in 1...ticks { history.append(StatusReading(tick: tick, [.genuine: UInt64(tick * tick)])) }
        return history
    }

    @Test(arguments: [1, 2, Limits.readings - 2, Limits.readings - 1, Limits.readings, Limits.readings + 1, 1000])
    func `the ring keeps the newest readings in order, up to its limit`(_ ticks: Int) {
        let history = Self.history(ticks: ticks)
        let kept = min(ticks + 1, Limits.readings)
        let expected = (0..<kept).map { StatusReading(tick: ticks - kept + 1 + $0).time }
        #expect(history.inOrder.map(\.time) == expected)
        #expect(history.newest.time == expected.last)
    }

    @Test(arguments: [3, 40, 1000]) func `a window reaches back as far as the history`(_ ticks: Int) {
        let windows = StatusWindows(Self.history(ticks: ticks))
        func expected(_ length: Int) -> Int { ticks * ticks - (ticks - length) * (ticks - length) }
        #expect(windows.now.count(.genuine) == expected(1))
        #expect(windows.minute.count(.genuine) == expected(min(ticks, Limits.readingsOfAMinute)))
        #expect(windows.all.count(.genuine) == expected(min(ticks, Limits.readings - 1)))
    }

    @Test func `rates are per second, for any interval`() {
        let window = StatusWindow(
            StatusReading(tick: 0, [.genuine: 10]), StatusReading(tick: 5, [.genuine: 60, .rejected: 10]))
        #expect(window.rate(.genuine) == 5)
        #expect(window.rate([.genuine, .rejected]) == 6)
        #expect(window.share(.rejected, of: .verdicts) == 1.0 / 6)
    }

    @Test func `an empty window has no values`() {
        let window = StatusWindow(StatusReading(tick: 0), StatusReading(tick: 0))
        #expect(window.rate(.genuine) == nil && window.cores == nil)
        #expect(window.share(.genuine, of: .verdicts) == nil)
        #expect(window.quantile(0.5, of: .answers) == nil)
    }

    @Test func `a reset counter counts as zero`() {
        let window = StatusWindow(StatusReading(tick: 0, [.genuine: 100]), StatusReading(tick: 1, [.genuine: 3]))
        #expect(window.count(.genuine) == 0)
    }

    @Test func `quantiles are computed within the window's buckets`() throws {
        let bounds = StatusTiming.answers.bounds
        var old = bounds.map { _ in UInt64(0) } + [0], new = old
        // Before: 1000 slow ones. In the window: 90 in the first bucket, 10 in the fourth.
        for index in old.indices { old[index] = index == bounds.count ? 1000 : 0 }
        for index in new.indices { new[index] = old[index] + (index < 3 ? 90 : 100) }
        let window = StatusWindow(StatusReading(tick: 0, answers: old), StatusReading(tick: 1, answers: new))
        let low = try #require(window.quantile(0.45, of: .answers))
        #expect(abs(low - bounds[0] / 2) < 1e-9)
        let high = try #require(window.quantile(0.95, of: .answers))
        #expect(high > bounds[2] && high < bounds[3])
        #expect(window.quantile(1, of: .answers) == bounds[3])
    }

    @Test func `a duration beyond the last bound counts as that bound`() {
        let bounds = StatusTiming.answers.bounds
        let new = bounds.map { _ in UInt64(0) } + [7]
        let window = StatusWindow(StatusReading(tick: 0), StatusReading(tick: 1, answers: new))
        #expect(window.quantile(0.5, of: .answers) == bounds.last)
    }
}
