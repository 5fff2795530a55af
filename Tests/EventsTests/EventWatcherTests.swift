// SPDX-License-Identifier: Apache-2.0

import Testing
import TestSupport

@testable import Customers

@Suite("Waiting for events", .timeLimit(.patient))
struct EventWatcherTests {
    private static let app = NumberedEvents.app

    /// A watcher whose round trips the test releases one by one.
    private struct Bench {
        let events = NumberedEvents()
        let log: CountingLog
        let watcher: EventWatcher
        private let ticks: AsyncStream<Void>.Continuation

        init(readsUntilOutage: Int = .max) {
            let (pauses, ticks) = AsyncStream.makeStream(of: Void.self)
            self.ticks = ticks
            log = CountingLog(events.log, readsUntilOutage: readsUntilOutage)
            watcher = EventWatcher(log) {
                var pauses = pauses.makeAsyncIterator()
                await pauses.next()
            }
        }

        /// Lets the loop make one round trip, and returns when it has been made or the loop has ended.
        func poll() async {
            let before = log.counts.looks
            ticks.yield()
            while log.counts.looks == before { await Task.yield() }
        }

        func wait(
            _ positions: [AppPartition: EventPosition], upTo limit: Duration = .seconds(3600)
        ) async -> Task<EventWatcher.Outcome, Never> {
            let count = watcher.count
            let task = Task { await watcher.wait(for: positions, upTo: limit) }
            while watcher.count == count { await Task.yield() }
            return task
        }
    }

    private static func all(_ app: String = app) -> [AppPartition: EventPosition] {
        Dictionary(uniqueKeysWithValues: AppPartition.all(of: app).map { ($0, .start) })
    }

    @Test func `an event that this node wrote wakes the readers of its partition at once`() async {
        let bench = Bench()
        let reader = await bench.wait(Self.all())
        let other = await bench.wait(Self.all(NumberedEvents.otherApp))
        bench.watcher.announce(AppPartition(bundleID: Self.app, number: 3))
        #expect(await reader.value == .changed)
        #expect(bench.watcher.count == 1 && bench.log.counts.looks == 0)
        bench.watcher.stop()
        #expect(await other.value == .stopped)
    }

    @Test func `one round trip for all readers finds the events of other nodes`() async {
        let bench = Bench()
        let readers = [await bench.wait(Self.all()), await bench.wait(Self.all())]
        let other = await bench.wait(Self.all(NumberedEvents.otherApp))
        await bench.poll()
        #expect(bench.log.counts.looks == 1 && bench.log.counts.looked.count == 2 * AppPartition.count)
        #expect(bench.watcher.count == 3)
        bench.events.add(1)
        await bench.poll()
        for reader in readers { #expect(await reader.value == .changed) }
        #expect(bench.watcher.count == 1 && bench.log.counts.reads == 0)
        other.cancel()
        #expect(await other.value == .elapsed)
    }

    @Test func `an event that the reader has does not wake it`() async throws {
        let bench = Bench()
        bench.events.add(1)
        let cursor = try #require(await EventReader(bench.events.log).latest(of: [Self.app]))
        let positions = EventReadRequest([Self.app], after: cursor, maximumCount: 1).positions
        let reader = await bench.wait(positions)
        for _ in 0..<3 { await bench.poll() }
        #expect(bench.watcher.count == 1)
        bench.events.add(2)
        await bench.poll()
        #expect(await reader.value == .changed)
    }

    @Test func `nothing is read unless a reader waits`() async {
        let bench = Bench()
        let reader = await bench.wait(Self.all())
        bench.watcher.announce(AppPartition(bundleID: Self.app, number: 0))
        #expect(await reader.value == .changed)
        // The loop ends. A later reader begins another.
        for _ in 0..<2 {
            let later = await bench.wait(Self.all())
            await bench.poll()
            later.cancel()
            #expect(await later.value == .elapsed)
        }
        #expect(bench.watcher.count == 0)
    }

    @Test func `a reader waits on while the store is unreachable`() async {
        let bench = Bench(readsUntilOutage: 0)
        let reader = await bench.wait(Self.all())
        bench.events.add(1)
        await bench.poll()
        await bench.poll()
        #expect(bench.watcher.count == 1)
        reader.cancel()
        #expect(await reader.value == .elapsed)
    }

    @Test func `a wait ends after its time`() async {
        let bench = Bench()
        #expect(await bench.watcher.wait(for: Self.all(), upTo: .milliseconds(1)) == .elapsed)
        #expect(bench.watcher.count == 0)
    }

    @Test func `after the stop no reader waits`() async {
        let bench = Bench()
        let reader = await bench.wait(Self.all())
        bench.watcher.stop()
        #expect(await reader.value == .stopped)
        #expect(await bench.watcher.wait(for: Self.all(), upTo: .seconds(3600)) == .stopped)
        #expect(bench.watcher.isStopped)
    }
}
