// SPDX-License-Identifier: Apache-2.0

import Customers
import Gateway
import RealServers
import Redis
import Testing
import TestSupport

@testable import RedisStore
@testable import ServerTestSupport

/// Deferred verifications in real Redis servers: the work on them.
@Suite(.timeLimit(.patient)) struct RedisJobWorkTests {
    typealias Samples = JobSamples
    private var stage: NotificationStage { .current }

    // MARK: Leases

    @Test(.redis) func `one take is bounded in bytes`() async throws {
        let store = stage.jobs()
        for number in 1...5 {
            let request = Samples.request(number, bytes: 600_000)
            _ = try await store.create(Samples.job("ver_\(number)", request), key: nil)
        }
        var counts: [Int] = []
        while case let taken = try await store.take(9, in: .production, lease: Samples.lease), !taken.isEmpty {
            counts.append(taken.count)
        }
        #expect(counts == [2, 2, 1])
    }

    @Test(.redis) func `lost replies of Redis are no losses of a job`() async throws {
        for script in [JobScripts.take, JobScripts.begin, JobScripts.postpone] {
            let replies = LostReplies(stage.redis, of: script)
            let store = RedisJobStore(replies, keys: StoreSamples.keys(), rules: JobRules(), observe: { _ in })
            if try await store.job("ver_1", of: Samples.client) == nil { try await store.createJobs(1) }
            for lost in 1...JobDispatcher.Limits.losses + 1 {
                try stage.makeDue()
                if let taken = try? await store.takeOne() {
                    #expect(taken.losses == 0)
                    try? await store.postpone(taken, for: .seconds(60), result: Samples.result(), isAttempt: true)
                }
                #expect(replies.lost == lost)
                #expect(try stage.field("losses", ofJob: "ver_1") == "0")
            }
        }
    }

    @Test(.redis) func `the loss of a worker that lives is taken back, once for each report`() async throws {
        let store = stage.jobs()
        try await store.createJobs(2)
        for _ in 1...2 {
            #expect(try await store.take(2, in: .production, lease: .zero).count == 2)
            try stage.makeDue()
        }
        #expect(try stage.field("losses", ofJob: "ver_1") == "2")
        for losses in [1, 0, 0] {
            try await store.survived(["ver_1", "ver_3"])
            #expect(try stage.field("losses", ofJob: "ver_1") == "\(losses)")
        }
        #expect(try stage.field("losses", ofJob: "ver_2") == "2")
        #expect(try stage.server.ask("EXISTS", JobKeys.job("ver_3")) == "0")
    }

    @Test(.redis) func `an ended job is taken again until it is announced`() async throws {
        let store = stage.jobs(), other = stage.jobs()
        try await store.createJobs(1)
        let taken = try #require(try await store.takeOne())
        let end = StoreSamples.time(7), later = StoreSamples.time(9)
        #expect(try await store.end(taken, .done, result: Samples.result("done"), at: end))
        // After a lost reply.
        #expect(try await store.end(taken, .done, result: Samples.result("done"), at: later))
        #expect(try await other.takeOne() == nil)
        // Its worker dies before it has announced the end.
        try stage.makeDue()
        let again = try #require(try await other.takeOne())
        #expect(again.job.status == .done && again.job.request == nil && again.job.result == Samples.result("done"))
        // The time of the event that both write.
        #expect(again.job.endedAt == end)
        #expect(try await !store.end(taken, .failed, result: Samples.result()))
        #expect(try await !other.end(again, .failed, result: Samples.result()))
        try await store.announced(taken)
        try stage.makeDue()
        let last = try #require(try await other.takeOne())
        try await other.announced(last)
        try stage.makeDue()
        #expect(try await other.takeOne() == nil)
        #expect(try await other.job("ver_1", of: Samples.client)?.status == .done)
    }

    // MARK: Damage

    @Test(.redis, arguments: ["request", "head", "answer"])
    func `a job that cannot be read fails, and stops no other`(_ field: String) async throws {
        let faults = FaultLog(), store = stage.jobs(observe: faults.add)
        try await store.createJobs(2)
        try await stage.damage(field, ofJob: "ver_1")
        try stage.server.ask("ZADD", JobKeys.due(.production), "1", "ver_1", "2", "ver_2")
        let taken = try await store.take(2, in: .production, lease: Samples.lease)
        // With a readable answer it can be ended and announced as any other.
        #expect(taken.map(\.job.id) == (field == "request" ? ["ver_1", "ver_2"] : ["ver_2"]))
        for broken in taken where broken.job.request == nil {
            #expect(try await store.end(broken, .failed, result: broken.job.result))
        }
        #expect(faults.all.contains(.sealInvalid))
        let survey = try #require(await store.survey())
        #expect(survey.waiting == 1 && survey.failed == 1)
        #expect(try stage.server.ask("HEXISTS", JobKeys.job("ver_1"), "request") == "0")
        #expect(try await store.statuses(of: ["ver_1", "ver_2"]) == [.failed, .waiting])
    }

    @Test(.redis) func `a span that cannot be read is none, and stops no job`() async throws {
        let store = stage.jobs()
        _ = try await store.create(Samples.job("ver_1", traceparent: Samples.traceparent), key: nil)
        try await stage.damage("trace", ofJob: "ver_1")
        let taken = try #require(try await store.takeOne())
        #expect(taken.job.traceparent == nil && taken.job.request == Samples.request())
    }

    @Test(.redis)
    func `evidence moved from another job is not accepted, nor a verdict with another status`() async throws {
        let store = stage.jobs()
        try await store.createJobs(2)
        let other = try await stage.redis.send(RedisCommand("HGET", key: RedisWord(JobKeys.job("ver_2")), "request"))
        _ = try await stage.redis.send(
            RedisCommand("HSET", key: RedisWord(JobKeys.job("ver_1")), "request", RedisWord(other.bytes ?? [])))
        try stage.server.ask("HSET", JobKeys.job("ver_2"), "status", "done")
        let taken = try await store.take(2, in: .production, lease: Samples.lease)
        #expect(taken.map(\.job.id) == ["ver_1"] && taken.map(\.job.request) == [nil])
        #expect(try await store.job("ver_2", of: Samples.client) == nil)
    }

    @Test(.redis) func `keys of another program disturb only calls about them`() async throws {
        let store = stage.jobs()
        try await store.createJobs(1)
        try stage.server.ask("SET", JobKeys.job("ver_0"), "of another program")
        try stage.server.ask("ZADD", JobKeys.due(.production), "1", "ver_0", "2", "missing")
        await #expect(throws: JobRefusal.storeUnreachable) {
            try await store.create(Samples.job("ver_0", Samples.request(9)), key: nil)
        }
        #expect(try await store.job("ver_0", of: Samples.client) == nil)
        #expect(try await store.take(9, in: .production, lease: Samples.lease).map(\.job.id) == ["ver_1"])
        #expect(try stage.server.ask("ZCARD", JobKeys.due(.production)) == "1")
        #expect(try await store.list(.waiting, maximum: 10).map(\.id) == ["ver_1"])
        try stage.server.ask("SET", JobKeys.jobs(.failed), "of another program")
        #expect(try await store.list(.waiting, maximum: 10).map(\.id) == ["ver_1"])
    }

    // MARK: Memory and topology

    @Test(.redis("--maxmemory-policy", "noeviction"))
    func `a full Redis defers nothing more, but jobs are taken, postponed and ended`() async throws {
        let store = stage.jobs()
        try await store.createJobs(1)
        try stage.server.ask("CONFIG", "SET", "maxmemory", "1")
        await #expect(throws: JobRefusal.storeUnreachable) {
            try await store.create(Samples.job("ver_2", Samples.request(2)), key: nil)
        }
        let joined = try await store.create(Samples.job("ver_3", Samples.request(1)), key: "k")
        #expect(joined != .created)
        let first = try #require(try await store.takeOne())
        try await store.postpone(first, for: .zero, result: Samples.result("longer than before"), isAttempt: true)
        let second = try #require(try await store.takeOne())
        #expect(try await store.end(second, .done, result: Samples.result("done")))
        try await store.announced(second)
        #expect(await store.survey()?.waiting == 0)
        try stage.server.ask("CONFIG", "SET", "maxmemory", "0")
        let fields = try stage.server.ask("HKEYS", JobKeys.usage).split(separator: "\n")
        #expect(fields.count == 2 && fields.allSatisfy { $0.hasSuffix("kept") })
        #expect(try await store.job("ver_1", of: Samples.client)?.result == Samples.result("done"))
        #expect(try await store.create(Samples.job("ver_2", Samples.request(2)), key: nil) == .created)
    }

    @Test(.redis("--maxmemory", "8mb", "--maxmemory-policy", "volatile-lru"))
    func `a volatile-lru Redis under pressure evicts nothing of it`() async throws {
        let store = stage.jobs()
        try await store.createJobs(20, chains: [Samples.chain("1")])
        for taken in try await store.take(10, in: .production, lease: Samples.lease) {
            #expect(try await store.end(taken, .done, result: Samples.result("done")))
        }
        try await stage.fill()
        let statuses = try await store.statuses(of: (1...20).map { "ver_\($0)" })
        #expect(statuses.filter { $0 == .done }.count == 10 && statuses.filter { $0 == .waiting }.count == 10)
        let subject = Samples.subject("1")
        #expect(try await store.erase(subject) == [.verifications: 20])
    }

    @Test(arguments: ["allkeys-lru", "allkeys-random"])
    func `a Redis that may evict anything takes no job`(policy: String) async throws {
        try await NotificationStage.with(["--maxmemory-policy", policy]) { stage in
            await #expect(throws: JobRefusal.evicts) {
                try await stage.jobs().create(Samples.job("ver_1"), key: nil)
            }
            let size = try stage.server.ask("DBSIZE")
            #expect(size == "0")
        }
    }

    @Test(.redis) func `a job that is too large is refused by itself`() async throws {
        let request = Samples.request(bytes: RedisJobStore.Limits.jobBytes)
        await #expect(throws: JobRefusal.tooLarge) {
            try await stage.jobs().create(Samples.job("ver_1", request), key: nil)
        }
    }

    @Test func `jobs work in a cluster`() async throws {
        let cluster = try await RedisCluster()
        try await NotificationStage.with(cluster.masters[0], url: "redis+cluster://\(cluster.hosts)") { stage in
            let store = stage.jobs()
            _ = try await store.create(Samples.job("ver_1", Samples.request(chains: [Samples.chain("1")])), key: "k")
            let taken = try #require(try await store.takeOne())
            try await store.postpone(taken, for: .zero, result: Samples.result("later"), isAttempt: true)
            let again = try #require(try await store.takeOne())
            #expect(try await store.end(again, .done, result: Samples.result("done")))
            try await store.announced(again)
            #expect(try await store.job(withKey: "k", for: Samples.request(), of: Samples.client)?.status == .done)
            #expect(await store.survey()?.waiting == 0)
            let subject = Samples.subject("1")
            #expect(try await store.erase(subject) == [.verifications: 1])
        }
    }

    // MARK: Operators

    @Test(.redis)
    func `a survey counts what waits and what failed, and deletes what was kept long enough`() async throws {
        let store = stage.jobs { $0.retention = .seconds(3600) }
        #expect(await store.survey() == JobSurvey())
        let maximum = RedisJobStore.Limits.forgotten
        for number in 1...maximum + 3 {
            _ = try await store.create(Samples.job("ver_\(number)", Samples.request(number)), key: "k\(number)")
        }
        let before = try #require(await store.survey())
        #expect(before.waiting == maximum + 3 && before.bytes > 100 * maximum)
        #expect(before.oldestAge.map { $0 >= .zero && $0 < .seconds(60) } == true)
        var ended = 0
        while ended < maximum + 2, let taken = try await store.takeOne() {
            #expect(try await store.end(taken, .failed, result: Samples.result()))
            ended += 1
        }
        #expect(await store.survey()?.failed == maximum + 2)
        // Two hours pass for all but one of them.
        let failed = JobKeys.jobs(.failed), members = try stage.server.ask("ZRANGE", failed, "0", "-1")
        let old = members.split(separator: "\n").dropLast().flatMap { ["1", String($0)] }
        try stage.server.ask(["ZADD", failed] + old)
        // One survey is bounded.
        #expect(await store.survey()?.failed == 2)
        let after = try #require(await store.survey())
        #expect(after.failed == 1 && after.waiting == 1)
        // The keys of both jobs, and the request of the one that waits.
        #expect(try stage.server.ask("HLEN", JobKeys.same) == "3")
        #expect(try stage.server.ask("ZCARD", JobKeys.due(.production)) == "2")
    }

    /// Defers a verification, and ends it with a verdict.
    private static func finish(
        _ number: Int, of client: String = Samples.client, in store: RedisJobStore
    ) async throws {
        let request = Samples.request(number, chains: [Samples.chain("1")])
        _ = try await store.create(Samples.job("ver_\(number)", request, client: client), key: nil)
        let taken = try #require(try await store.takeOne())
        #expect(try await store.end(taken, .done, result: Samples.result("done")))
        try await store.announced(taken)
    }

    @Test(.redis) func `beyond their size the oldest verdicts are forgotten`() async throws {
        let all = (1...7).map { "ver_\($0)" }
        try await Self.finish(1, in: stage.jobs())
        let size = try #require(await stage.jobs().survey()?.keptBytes)
        #expect(size > 100)
        let store = stage.jobs { $0.maximumTotalBytes = 7 * size / 2 }
        for number in 2...6 { try await Self.finish(number, in: store) }
        #expect(try await store.statuses(of: all) == [nil, nil, nil, .done, .done, .done, nil])
        #expect(await store.survey()?.keptBytes == 3 * size)
        // The newest is kept, however large it is.
        let request = Samples.request(7, chains: [Samples.chain("1")])
        _ = try await store.create(Samples.job("ver_7", request), key: nil)
        let small = stage.jobs { $0.maximumTotalBytes = size / 2 }
        let taken = try #require(try await small.takeOne())
        #expect(try await small.end(taken, .done, result: Samples.result("done")))
        #expect(try await store.statuses(of: all) == [nil, nil, nil, nil, nil, nil, .done])
        let subject = Samples.subject("1")
        #expect(try await store.erase(subject) == [.verifications: 1])
        #expect(await store.survey() == JobSurvey())
    }

    @Test(.redis) func `verdicts of one client push out none of another`() async throws {
        try await Self.finish(1, of: "small", in: stage.jobs())
        let size = try #require(await stage.jobs().survey()?.keptBytes)
        let store = stage.jobs { $0.maximumTotalBytes = 7 * size / 2 }
        for number in 2...7 { try await Self.finish(number, of: "large", in: store) }
        let statuses = try await store.statuses(of: (1...7).map { "ver_\($0)" })
        #expect(statuses == [.done, nil, nil, nil, nil, .done, .done])
        // A verdict that an operator deleted is in the way of no other.
        try stage.server.ask("DEL", JobKeys.job("ver_6"))
        for number in 8...9 { try await Self.finish(number, of: "large", in: store) }
        // Nor what another writer stored.
        try stage.server.ask("HSET", JobKeys.usage, "gone:kept", "99999999", "kept", "99999999")
        try await Self.finish(10, of: "large", in: store)
        let later = try await store.statuses(of: [1, 7, 8, 9, 10].map { "ver_\($0)" })
        #expect(later.first == .done && later.last == .done)
        for key in try stage.server.ask("KEYS", JobKeys.endedPrefix + "*").split(separator: "\n") {
            try stage.server.ask("SET", String(key), "of another program")
        }
        let subject = Samples.subject("1")
        #expect(try await store.erase(subject)[.verifications] ?? 0 >= 2)
        #expect(try stage.server.ask("KEYS", JobKeys.job("*")) == "")
    }

    @Test(.redis) func `bytes of jobs that an operator deleted are forgotten once none waits`() async throws {
        let store = stage.jobs { $0.maximumCount = 1 }
        try await store.createJobs(1)
        try stage.server.ask("DEL", JobKeys.job("ver_1"))
        #expect(try await store.takeOne() == nil)
        #expect(await store.survey() == JobSurvey())
        #expect(try await store.create(Samples.job("ver_2"), key: nil) == .created)
    }

    @Test(.redis) func `jobs are listed by status, the newest first`() async throws {
        let store = stage.jobs()
        try await store.createJobs(4)
        let waiting = JobKeys.jobs(.waiting)
        try stage.server.ask("ZADD", waiting, "1", "ver_2", "2", "ver_4", "3", "ver_1", "4", "ver_3")
        #expect(try await store.list(.waiting, maximum: 3).map(\.id) == ["ver_3", "ver_1", "ver_4"])
        let taken = try #require(try await store.takeOne())
        #expect(try await store.end(taken, .failed, result: Samples.result("failed")))
        let failed = try await store.list(.failed, maximum: 10)
        #expect(failed.map(\.id) == [taken.job.id] && failed.map(\.result) == [Samples.result("failed")])
        #expect(try await store.list(.done, maximum: 10).isEmpty)
    }

    // MARK: Erasure

    @Test(.redis) func `a customer with more jobs than one step deletes is deleted whole`() async throws {
        let store = stage.jobs(), count = RedisJobStore.Limits.erased + 10
        try await store.createJobs(count, chains: [Samples.chain("1")])
        let chains = Set((1...RedisJobStore.Limits.erased + 1).map { Samples.chain("\($0)") })
        let subject = ErasureSubject(bundleID: Samples.bundleID, chains: chains)
        #expect(try await store.erase(subject) == [.verifications: count])
        #expect(try stage.server.ask("DBSIZE") == "0")
    }

    @Test(.redis) func `without Redis every call says so`() async throws {
        let store = stage.jobs()
        stage.server.kill()
        try await eventually { await store.survey() == nil }
        await #expect(throws: JobRefusal.storeUnreachable) { try await store.create(Samples.job("ver_1"), key: nil) }
        await #expect(throws: JobRefusal.storeUnreachable) {
            try await store.job(withKey: "k", for: Samples.request(), of: Samples.client)
        }
        await #expect(throws: StoreUnreachable.self) { try await store.job("ver_1", of: Samples.client) }
        await #expect(throws: StoreUnreachable.self) { try await store.statuses(of: ["ver_1"]) }
        await #expect(throws: StoreUnreachable.self) { try await store.takeOne() }
        await #expect(throws: StoreUnreachable.self) { try await store.list(.done, maximum: 1) }
        let subject = Samples.subject("1")
        await #expect(throws: StoreUnreachable.self) { try await store.erase(subject) }
    }
}
