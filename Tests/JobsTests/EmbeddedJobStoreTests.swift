// SPDX-License-Identifier: Apache-2.0

import Customers
import Gateway
import Receipts
import Testing

/// The limits and times of the store in this process; `JobStoreTests` has the behaviour of every store of jobs.
struct EmbeddedJobStoreTests {
    @Test func `one byte more than permitted is refused`() throws {
        let sample = JobBench().job(1)
        let size = (sample.request?.storedBytes.count ?? 0) + sample.result.storedBytes.count
        var rules = JobRules()
        (rules.maximumBytes, rules.maximumTotalBytes) = (size * 2, size * 3)
        let bench = JobBench(rules)
        try bench.create(1)
        #expect(throws: JobRefusal.clientLimit) {
            _ = try bench.store.create(bench.job(2, evidence: Array("production receipt 2+".utf8)), key: nil)
        }
        try bench.create(2)
        try bench.create(1, client: "other")
        #expect(bench.store.survey()?.bytes == size * 3)
        #expect(throws: JobRefusal.totalLimit) { try bench.create(2, client: "other") }
    }

    @Test func `a verdict is kept for its time, and then forgotten with its key`() throws {
        let bench = JobBench(), rules = JobRules()
        let job = bench.job(1)
        _ = try bench.store.create(job, key: "order 1")
        let taken = try #require(bench.store.take(1, in: .production, lease: .seconds(1)).first)
        #expect(bench.store.end(taken, .done, result: .genuine))
        bench.store.announced(taken)
        bench.clock.advance(by: rules.retention)
        #expect(bench.store.survey()?.waiting == 0)
        #expect(bench.store.job(job.id)?.result == .genuine)
        bench.clock.advance(by: .milliseconds(1))
        _ = bench.store.survey()
        #expect(bench.store.statuses(of: [job.id]) == [nil])
        let request = try #require(job.request)
        #expect(try bench.store.job(withKey: "order 1", for: request, of: "shop") == nil)
    }

    @Test func `verdicts beyond the total bytes are forgotten, the oldest first`() throws {
        var rules = JobRules()
        rules.maximumTotalBytes = 2 * JobResult.genuine.storedBytes.count
        let bench = JobBench(rules)
        for number in 1...3 {
            try bench.create(number)
            let taken = try #require(bench.store.take(1, in: .production, lease: .seconds(1)).first)
            #expect(bench.store.end(taken, .done, result: .genuine))
            bench.store.announced(taken)
            bench.clock.advance(by: .seconds(1))
        }
        _ = bench.store.survey()
        #expect(bench.store.list(.done, maximum: 9).map { $0.id.last } == ["3", "2"])
    }

    @Test func `verdicts of one client push out none of another`() throws {
        var rules = JobRules()
        rules.maximumTotalBytes = 3 * JobResult.genuine.storedBytes.count
        let bench = JobBench(rules)
        for (number, client) in zip(1..., ["small", "large", "large", "large", "large"]) {
            try bench.create(number, client: client)
            let taken = try #require(bench.store.take(1, in: .production, lease: .seconds(1)).first)
            #expect(bench.store.end(taken, .done, result: .genuine))
            bench.store.announced(taken)
            bench.clock.advance(by: .seconds(1))
            _ = bench.store.survey()
        }
        #expect(Set(bench.store.list(.done, maximum: 9).map { $0.id.last }) == ["1", "4", "5"])
    }

    @Test func `a survey counts what waits and what failed`() throws {
        let bench = JobBench()
        try bench.create(1)
        bench.clock.advance(by: .seconds(60))
        try bench.create(2)
        let survey = try #require(bench.store.survey())
        #expect(survey.waiting == 2 && survey.oldestAge == .seconds(60) && survey.failed == 0 && survey.bytes > 0)
        for taken in bench.store.take(2, in: .production, lease: .seconds(1)) {
            #expect(bench.store.end(taken, .failed, result: .undecided))
        }
        let after = try #require(bench.store.survey())
        #expect(after.waiting == 0 && after.oldestAge == nil && after.failed == 2 && after.bytes == 0)
    }
}
