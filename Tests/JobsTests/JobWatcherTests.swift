// SPDX-License-Identifier: Apache-2.0

import Gateway
import Synchronization
import Testing

@testable import Customers

struct JobWatcherTests {
    @Test func `a job that ended on another node wakes its request`() async throws {
        let bench = JobBench()
        let job = try bench.create()
        // The other node ends the job while the watcher pauses.
        let watcher = JobWatcher(bench.store) {
            for taken in bench.store.take(1, in: .production, lease: .seconds(1)) {
                _ = bench.store.end(taken, .done, result: .genuine)
            }
        }
        #expect(await watcher.wait(for: job.id, upTo: .seconds(60)) == .changed)
        #expect(watcher.count == 0)
    }

    @Test func `a job that has ended already, or is gone, is not waited for`() async throws {
        let bench = JobBench()
        let watcher = JobWatcher(bench.store)
        #expect(await watcher.wait(for: "ver_unknown", upTo: .seconds(60)) == .changed)
    }

    @Test func `a job that ended on this node wakes its requests at once, and no others`() async throws {
        let bench = JobBench()
        try bench.create(1)
        try bench.create(2)
        let watcher = JobWatcher(bench.store) { await Task.yield() }
        async let first = watcher.wait(for: "ver_shop_production_1", upTo: .seconds(60))
        async let second = watcher.wait(for: "ver_shop_production_2", upTo: .seconds(60))
        while watcher.count < 2 { await Task.yield() }
        watcher.announce("ver_shop_production_1")
        #expect(await first == .changed)
        #expect(watcher.count == 1)
        watcher.stop()
        #expect(await second == .stopped)
        #expect(await watcher.wait(for: "ver_shop_production_1", upTo: .seconds(60)) == .stopped)
    }

    @Test func `a request waits no longer than it may`() async throws {
        let bench = JobBench()
        let job = try bench.create()
        let watcher = JobWatcher(bench.store)
        #expect(await watcher.wait(for: job.id, upTo: .milliseconds(1)) == .elapsed)
    }
}
