// SPDX-License-Identifier: Apache-2.0

import Synchronization
import Testing
import TestSupport

@testable import Resilience

/// Records the timeouts that fired, by name.
private final class Bell: Sendable {
    private let names = Mutex<[String]>([])

    var rung: [String] { names.withLock { $0.sorted() } }

    func ring(for name: String) -> @Sendable () -> Void {
        { self.names.withLock { $0.append(name) } }
    }
}

struct TimeoutListTests {
    private static let start = ContinuousClock.now

    private static func time(_ second: Int) -> ContinuousClock.Instant { start + .seconds(second) }

    @Test func `a timeout fires once, when its time has come`() {
        var list = TimeoutList()
        let bell = Bell()
        for second in [3, 1, 2] { _ = list.add(Self.time(second), bell.ring(for: "\(second)")) }
        for (second, rung) in [(0, []), (2, ["1", "2"]), (4, ["1", "2", "3"])] {
            for ring in list.takeDue(at: Self.time(second)) { ring() }
            #expect(bell.rung == rung)
        }
        #expect(list.count == 0)
    }

    @Test func `a removed timeout does not fire`() {
        var list = TimeoutList()
        let bell = Bell()
        let removed = list.add(Self.time(0), bell.ring(for: "removed"))
        _ = list.add(Self.time(0), bell.ring(for: "kept"))
        for _ in 0..<2 { list.remove(removed) }
        for ring in list.takeDue(at: Self.time(1)) { ring() }
        #expect(bell.rung == ["kept"])
    }

    @Test func `later timeouts fire after the earliest was removed`() {
        var list = TimeoutList()
        let bell = Bell()
        let removed = list.add(Self.time(0), bell.ring(for: "removed"))
        _ = list.add(Self.time(2), bell.ring(for: "second"))
        list.remove(removed)
        for ring in list.takeDue(at: Self.time(1)) { ring() }
        #expect(bell.rung == [])
        _ = list.add(Self.time(3), bell.ring(for: "third"))
        for second in [2, 3] {
            for ring in list.takeDue(at: Self.time(second)) { ring() }
        }
        #expect(bell.rung == ["second", "third"])
    }

    @Test func `one task checks the time for all timeouts, while there are any`() {
        var list = TimeoutList()
        var answers = [list.startsTicking()]
        let alarm = list.add(Self.time(0)) {}
        answers += [list.startsTicking(), list.keepsTicking()]
        list.remove(alarm)
        answers += [list.keepsTicking(), list.startsTicking()]
        #expect(answers == [true, false, true, false, true])
    }
}

@Suite(.timeLimit(.patient)) struct WaiterTests {
    private let timeouts = Timeouts()

    @Test func `a wait ends at its timeout, and so does the next one`() async {
        for _ in 0..<2 {
            #expect(await Waiter<Int>().value(waitLimit: .milliseconds(1), timeouts) == nil)
            #expect(timeouts.count == 0)
        }
    }

    @Test func `a value in time removes the timeout`() async throws {
        let waiter = Waiter<Int>()
        async let value = waiter.value(waitLimit: .seconds(3600), timeouts)
        try await eventually { timeouts.count != 0 }
        waiter.end(with: 7)
        #expect(await value == 7)
        #expect(timeouts.count == 0)
    }

    @Test func `cancellation ends the wait`() async throws {
        let wait = Task { [timeouts] in await Waiter<Int>().value(waitLimit: .seconds(3600), timeouts) }
        try await eventually { timeouts.count != 0 }
        wait.cancel()
        #expect(await wait.value == nil)
        #expect(timeouts.count == 0)
    }
}
