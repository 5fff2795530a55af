// SPDX-License-Identifier: Apache-2.0

import Customers
import Gateway
import Receipts
import Testing

struct EmbeddedJobStoreTests {
    @Test func `the same request of a client joins its waiting job`() async throws {
        let bench = JobBench()
        let first = try bench.create(1)
        let again = try bench.store.create(bench.job(1, client: "shop"), key: nil)
        guard case .joined(let joined) = again else { Issue.record("a second job was made"); return }
        #expect(joined.id == first.id)
        let other = try bench.store.create(bench.job(1, client: "other"), key: nil)
        #expect(other == .created)
        let hidden = try await bench.store.job(first.id, of: "other")
        #expect(hidden == nil && bench.store.job(first.id)?.client == "shop")
    }

    @Test func `a key gives the same job, also once it has ended, and refuses another request`() throws {
        let bench = JobBench()
        let job = bench.job(1), other = bench.job(2)
        _ = try bench.store.create(job, key: "order 1")
        let request = try #require(job.request), otherRequest = try #require(other.request)
        let taken = try #require(bench.store.take(1, in: .production, lease: .seconds(1)).first)
        #expect(bench.store.end(taken, .done, result: .genuine))
        let found = try bench.store.job(withKey: "order 1", for: request, of: "shop")
        #expect(found?.status == .done)
        #expect(try bench.store.job(withKey: "order 1", for: request, of: "other") == nil)
        #expect(throws: JobRefusal.keyReused) {
            _ = try bench.store.job(withKey: "order 1", for: otherRequest, of: "shop")
        }
        #expect(throws: JobRefusal.keyReused) { _ = try bench.store.create(other, key: "order 1") }
    }

    @Test func `a key of a request that joined gives the job, also once it has ended`() throws {
        let bench = JobBench()
        let job = try bench.create(1), request = try #require(job.request)
        for number in 1...16 { _ = try bench.store.create(bench.job(1), key: "order \(number)") }
        #expect(throws: JobRefusal.tooManyKeys) { try bench.store.create(bench.job(1), key: "order 17") }
        guard case .joined(let joined) = try bench.store.create(bench.job(1), key: nil), joined.id == job.id else {
            Issue.record("without a key it joins")
            return
        }
        let taken = try #require(bench.store.take(1, in: .production, lease: .seconds(1)).first)
        #expect(bench.store.end(taken, .done, result: .genuine))
        for number in 1...16 {
            #expect(try bench.store.job(withKey: "order \(number)", for: request, of: "shop")?.id == job.id)
        }
    }

    @Test func `an ended request is not joined`() throws {
        let bench = JobBench()
        try bench.create(1)
        let taken = try #require(bench.store.take(1, in: .production, lease: .seconds(1)).first)
        #expect(bench.store.end(taken, .done, result: .genuine))
        var next = bench.job(1)
        next = VerificationJob(
            id: "ver_next", client: next.client, createdAt: next.createdAt, deadline: next.deadline, lane: next.lane,
            request: next.request, result: next.result)
        #expect(try bench.store.create(next, key: nil) == .created)
    }

    @Test func `one job more than permitted is refused, for this client only`() throws {
        var rules = JobRules()
        rules.maximumCount = 2
        let bench = JobBench(rules)
        for number in 1...2 { try bench.create(number) }
        #expect(throws: JobRefusal.clientLimit) { try bench.create(3) }
        try bench.create(3, client: "other")
        for taken in bench.store.take(3, in: .production, lease: .seconds(1)) {
            #expect(bench.store.end(taken, .done, result: .genuine))
        }
        try bench.create(3)
    }

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

    @Test func `jobs that are due longest come first`() throws {
        let bench = JobBench()
        for number in [3, 1, 2] {
            try bench.create(number)
            bench.clock.advance(by: .seconds(1))
        }
        let taken = bench.store.take(2, in: .production, lease: .seconds(60))
        #expect(taken.map { $0.job.id.last } == ["3", "1"])
        bench.store.postpone(taken[0], for: .seconds(5), result: .undecided, isAttempt: true)
        #expect(bench.store.take(9, in: .production, lease: .seconds(60)).map { $0.job.id.last } == ["2"])
        bench.clock.advance(by: .seconds(5))
        #expect(bench.store.take(9, in: .production, lease: .seconds(60)).map(\.job.attempts) == [1])
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

    @Test func `jobs about a customer are deleted, waiting ones and verdicts`() throws {
        let bench = JobBench()
        for number in 1...3 { try bench.create(number) }
        let taken = try #require(bench.store.take(1, in: .production, lease: .seconds(1)).first)
        #expect(bench.store.end(taken, .done, result: .genuine))
        func chain(_ id: String) -> PurchaseChain {
            PurchaseChain(bundleID: "com.example.shop", environment: .production, originalTransactionID: id)
        }
        // The second by its evidence, and the first by its verdict.
        let ids = ["2000002", JobResult.genuine.originalTransactionIDs[1]]
        let subject = ErasureSubject(bundleID: "com.example.shop", chains: Set(ids.map(chain)))
        #expect(bench.store.erase(subject) == [.verifications: 2])
        #expect(bench.store.erase(subject) == [:])
        #expect(bench.store.survey()?.waiting == 1)
        bench.store.announced(taken)
        #expect(bench.store.list(.done, maximum: 9).isEmpty)
    }

    @Test func `an erasure finds the jobs of an account, in its app`() throws {
        let bench = JobBench(), account = try #require(Account("customer 7"))
        var job = bench.job(1)
        job.result.bundleID = "com.example.shop"
        job.request?.options.account = account
        _ = try bench.store.create(job, key: nil)
        func erase(_ bundleID: String) -> ErasureCount {
            bench.store.erase(ErasureSubject(bundleID: bundleID, chains: [], account: account))
        }
        #expect(erase("com.example.other") == [:])
        #expect(erase("com.example.shop") == [.verifications: 1])
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
