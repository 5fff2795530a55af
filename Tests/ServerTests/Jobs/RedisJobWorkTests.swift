// SPDX-License-Identifier: Apache-2.0

import Customers
import Gateway
import RealServers
import Receipts
import Redis
import Synchronization
import Testing
import TestSupport

@testable import RedisStore

/// Deferred verifications in real Redis servers: the work on them.
@Suite(.timeLimit(.patient)) struct RedisJobWorkTests {
    typealias Samples = JobSamples

    /// Creates jobs with the IDs `ver_1`, `ver_2`, ….
    private static func create(_ count: Int, in store: RedisJobStore, chains: [PurchaseChain] = []) async throws {
        for number in 1...count {
            _ = try await store.create(Samples.job("ver_\(number)", Samples.request(number, chains: chains)), key: nil)
        }
    }

    // MARK: Leases

    @Test func `of two nodes that race for jobs each job has one`() async throws {
        try await NotificationStage.with { stage in
            let nodes = [stage.jobs(), stage.jobs()]
            try await Self.create(40, in: nodes[0])
            let ids = await withTaskGroup(of: [String].self) { group in
                for number in 0..<60 {
                    group.addTask {
                        let taken = try? await nodes[number % 2].take(1, in: .production, lease: Samples.lease)
                        return taken?.map(\.job.id) ?? []
                    }
                }
                return await group.reduce([], +)
            }
            #expect(ids.count == 40 && Set(ids).count == 40)
        }
    }

    @Test func `jobs are taken in the order in which they are due, those of each lane apart`() async throws {
        try await NotificationStage.with { stage in
            let store = stage.jobs()
            try await Self.create(3, in: store)
            _ = try await store.create(Samples.job("ver_4", Samples.request(4), lane: .sandbox), key: nil)
            try stage.server.ask("ZADD", JobKeys.due(.production), "2", "ver_3", "3", "ver_1", "4", "ver_2")
            let taken = try await store.take(2, in: .production, lease: Samples.lease)
            #expect(taken.map(\.job.id) == ["ver_3", "ver_1"])
            let others = try await store.take(9, in: .sandbox, lease: Samples.lease)
            #expect(others.map(\.job.id) == ["ver_4"] && others.map(\.job.lane) == [.sandbox])
            #expect(try await store.take(0, in: .production, lease: Samples.lease).isEmpty)
            #expect(try await store.takeOne()?.job.id == "ver_2")
        }
    }

    @Test func `one take is bounded in bytes`() async throws {
        try await NotificationStage.with { stage in
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
    }

    @Test func `a job whose worker died goes on elsewhere, and the loss is counted`() async throws {
        try await NotificationStage.with { stage in
            let dead = stage.jobs(), other = stage.jobs()
            try await Self.create(1, in: dead)
            var held = try #require(try await dead.takeOne(lease: .milliseconds(50)))
            for losses in 1...3 {
                var next: TakenJob?
                // The clock of Redis ends the lease.
                try await eventually {
                    next = try await other.takeOne(lease: .milliseconds(50))
                    return next != nil
                }
                let taken = try #require(next)
                #expect(taken.losses == losses && taken.token != held.token)
                #expect(try await !dead.end(held, .done, result: Samples.result("late")))
                try await dead.postpone(held, for: .seconds(60), result: Samples.result("late"), isAttempt: true)
                try await dead.announced(held)
                held = taken
            }
            #expect(try await other.end(held, .failed, result: held.job.result))
            let job = try #require(try await other.job("ver_1", of: Samples.client))
            #expect(job.status == .failed && job.result == Samples.result() && job.attempts == 0)
        }
    }

    @Test func `lost replies of Redis are no losses of a job`() async throws {
        try await NotificationStage.with { stage in
            for script in [JobScripts.take, JobScripts.begin, JobScripts.postpone] {
                let replies = LostReplies(stage.redis, of: script)
                let store = RedisJobStore(replies, keys: StoreSamples.keys(), rules: JobRules(), observe: { _ in })
                if try await store.job("ver_1", of: Samples.client) == nil { try await Self.create(1, in: store) }
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
    }

    @Test func `the loss of a worker that lives is taken back, once for each report`() async throws {
        try await NotificationStage.with { stage in
            let store = stage.jobs()
            try await Self.create(2, in: store)
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
    }

    @Test func `a postponed job is due after its delay, and its losses are forgotten`() async throws {
        try await NotificationStage.with { stage in
            let store = stage.jobs()
            try await Self.create(1, in: store)
            _ = try await store.takeOne(lease: .zero)
            try stage.makeDue()
            let taken = try #require(try await store.takeOne())
            #expect(taken.losses == 1)
            try await store.postpone(taken, for: .seconds(60), result: Samples.result("later"), isAttempt: true)
            #expect(try await store.takeOne() == nil)
            let waiting = try #require(try await store.job("ver_1", of: Samples.client))
            #expect(waiting.attempts == 1 && waiting.result == Samples.result("later"))
            let wait = try #require(waiting.nextAttempt.map { Timestamp.now().duration(to: $0) })
            #expect(wait > .seconds(30) && wait <= .seconds(61))
            try stage.makeDue()
            let again = try #require(try await store.takeOne())
            #expect(again.losses == 0)
            try await store.postpone(again, for: .milliseconds(20), result: Samples.result("later"), isAttempt: false)
            try await eventually { try await store.takeOne() != nil }
            #expect(try await store.job("ver_1", of: Samples.client)?.attempts == 1)
        }
    }

    @Test func `an ended job is taken again until it is announced`() async throws {
        try await NotificationStage.with { stage in
            let store = stage.jobs(), other = stage.jobs()
            try await Self.create(1, in: store)
            let taken = try #require(try await store.takeOne())
            #expect(try await store.end(taken, .done, result: Samples.result("done")))
            #expect(try await other.takeOne() == nil)
            // Its worker dies before it has announced the end.
            try stage.makeDue()
            let again = try #require(try await other.takeOne())
            #expect(again.job.status == .done && again.job.request == nil && again.job.result == Samples.result("done"))
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
    }

    // MARK: Damage

    @Test(arguments: ["request", "head", "answer"])
    func `a job that cannot be read fails, and stops no other`(_ field: String) async throws {
        try await NotificationStage.with { stage in
            let faults = Mutex<[SharedCacheFault]>([])
            let store = stage.jobs(observe: { fault in faults.withLock { $0.append(fault) } })
            try await Self.create(2, in: store)
            try await stage.damage(field, ofJob: "ver_1")
            try stage.server.ask("ZADD", JobKeys.due(.production), "1", "ver_1", "2", "ver_2")
            let taken = try await store.take(2, in: .production, lease: Samples.lease)
            // With a readable answer it can be ended and announced as any other.
            #expect(taken.map(\.job.id) == (field == "request" ? ["ver_1", "ver_2"] : ["ver_2"]))
            for broken in taken where broken.job.request == nil {
                #expect(try await store.end(broken, .failed, result: broken.job.result))
            }
            #expect(faults.withLock { $0.contains(.sealInvalid) })
            let survey = try #require(await store.survey())
            #expect(survey.waiting == 1 && survey.failed == 1)
            #expect(try stage.server.ask("HEXISTS", JobKeys.job("ver_1"), "request") == "0")
            #expect(try await store.statuses(of: ["ver_1", "ver_2"]) == [.failed, .waiting])
        }
    }

    @Test func `evidence moved from another job is not accepted, nor a verdict with another status`() async throws {
        try await NotificationStage.with { stage in
            let store = stage.jobs()
            try await Self.create(2, in: store)
            let other = try await stage.redis.send(
                RedisCommand("HGET", key: RedisWord(JobKeys.job("ver_2")), "request"))
            _ = try await stage.redis.send(
                RedisCommand("HSET", key: RedisWord(JobKeys.job("ver_1")), "request", RedisWord(other.bytes ?? [])))
            try stage.server.ask("HSET", JobKeys.job("ver_2"), "status", "done")
            let taken = try await store.take(2, in: .production, lease: Samples.lease)
            #expect(taken.map(\.job.id) == ["ver_1"] && taken.map(\.job.request) == [nil])
            #expect(try await store.job("ver_2", of: Samples.client) == nil)
        }
    }

    @Test func `keys of another program disturb only calls about them`() async throws {
        try await NotificationStage.with { stage in
            let store = stage.jobs()
            try await Self.create(1, in: store)
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
    }

    // MARK: Memory and topology

    @Test func `a full Redis defers nothing more, but jobs are taken, postponed and ended`() async throws {
        try await NotificationStage.with(["--maxmemory-policy", "noeviction"]) { stage in
            let store = stage.jobs()
            try await Self.create(1, in: store)
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
    }

    @Test func `a volatile-lru Redis under pressure evicts nothing of it`() async throws {
        try await NotificationStage.with(["--maxmemory", "8mb", "--maxmemory-policy", "volatile-lru"]) { stage in
            let store = stage.jobs()
            try await Self.create(20, in: store, chains: [Samples.chain("1")])
            for taken in try await store.take(10, in: .production, lease: Samples.lease) {
                #expect(try await store.end(taken, .done, result: Samples.result("done")))
            }
            // Far more than there is room for, all of it evictable.
            let value = RedisWord([UInt8](repeating: 0x78, count: 10_000))
            for start in stride(from: 0, to: 3000, by: 100) {
                _ = await stage.redis.send(
                    (start..<start + 100).map {
                        RedisCommand("SET", key: RedisWord("rc:12:\($0)"), value, "EX", "1000")
                    }
                )
            }
            let evicted = try stage.server.ask("INFO", "stats").split(whereSeparator: \.isNewline)
                .first { $0.hasPrefix("evicted_keys:") }
            #expect(evicted.flatMap { Int($0.dropFirst("evicted_keys:".count)) } ?? 0 > 1000)
            let statuses = try await store.statuses(of: (1...20).map { "ver_\($0)" })
            #expect(statuses.filter { $0 == .done }.count == 10 && statuses.filter { $0 == .waiting }.count == 10)
            let subject = ErasureSubject(bundleID: Samples.bundleID, chains: [Samples.chain("1")])
            #expect(try await store.erase(subject) == [.verifications: 20])
        }
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

    @Test func `a job that is too large is refused by itself`() async throws {
        try await NotificationStage.with { stage in
            let request = Samples.request(bytes: RedisJobStore.Limits.jobBytes)
            await #expect(throws: JobRefusal.tooLarge) {
                try await stage.jobs().create(Samples.job("ver_1", request), key: nil)
            }
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
            let subject = ErasureSubject(bundleID: Samples.bundleID, chains: [Samples.chain("1")])
            #expect(try await store.erase(subject) == [.verifications: 1])
        }
    }

    // MARK: Operators

    @Test func `a survey counts what waits and what failed, and deletes what was kept long enough`() async throws {
        try await NotificationStage.with { stage in
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

    @Test func `beyond their size the oldest verdicts are forgotten`() async throws {
        try await NotificationStage.with { stage in
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
            let subject = ErasureSubject(bundleID: Samples.bundleID, chains: [Samples.chain("1")])
            #expect(try await store.erase(subject) == [.verifications: 1])
            #expect(await store.survey() == JobSurvey())
        }
    }

    @Test func `verdicts of one client push out none of another`() async throws {
        try await NotificationStage.with { stage in
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
            let subject = ErasureSubject(bundleID: Samples.bundleID, chains: [Samples.chain("1")])
            #expect(try await store.erase(subject)[.verifications] ?? 0 >= 2)
            #expect(try stage.server.ask("KEYS", JobKeys.job("*")) == "")
        }
    }

    @Test func `bytes of jobs that an operator deleted are forgotten once none waits`() async throws {
        try await NotificationStage.with { stage in
            let store = stage.jobs { $0.maximumCount = 1 }
            try await Self.create(1, in: store)
            try stage.server.ask("DEL", JobKeys.job("ver_1"))
            #expect(try await store.takeOne() == nil)
            #expect(await store.survey() == JobSurvey())
            #expect(try await store.create(Samples.job("ver_2"), key: nil) == .created)
        }
    }

    @Test func `jobs are listed by status, the newest first`() async throws {
        try await NotificationStage.with { stage in
            let store = stage.jobs()
            try await Self.create(4, in: store)
            let waiting = JobKeys.jobs(.waiting)
            try stage.server.ask("ZADD", waiting, "1", "ver_2", "2", "ver_4", "3", "ver_1", "4", "ver_3")
            #expect(try await store.list(.waiting, maximum: 3).map(\.id) == ["ver_3", "ver_1", "ver_4"])
            let taken = try #require(try await store.takeOne())
            #expect(try await store.end(taken, .failed, result: Samples.result("failed")))
            let failed = try await store.list(.failed, maximum: 10)
            #expect(failed.map(\.id) == [taken.job.id] && failed.map(\.result) == [Samples.result("failed")])
            #expect(try await store.list(.done, maximum: 10).isEmpty)
        }
    }

    // MARK: Erasure

    @Test func `everything about a customer is deleted, and nothing about others`() async throws {
        try await NotificationStage.with { stage in
            let store = stage.jobs()
            let requests = [
                Samples.request(1, chains: [Samples.chain("1"), Samples.chain("2")]),
                Samples.request(2, chains: [Samples.chain("2")]), Samples.request(3, account: "customer 7"),
                Samples.request(4, chains: [Samples.chain("3")], account: "customer 8"), Samples.request(5),
            ]
            for (number, request) in requests.enumerated() {
                _ = try await store.create(Samples.job("ver_\(number + 1)", request), key: "k\(number)")
            }
            // One is kept, and one is being worked on.
            let kept = try #require(try await store.takeOne())
            #expect(try await store.end(kept, .done, result: Samples.result("done")))
            let worked = try #require(try await store.takeOne())
            let account = try #require(Account("customer 7"))
            let subject = ErasureSubject(bundleID: Samples.bundleID, chains: [Samples.chain("2")], account: account)
            #expect(try await store.erase(subject) == [.verifications: 3])
            #expect(try await store.erase(subject) == [:])
            #expect(try await !store.end(worked, .done, result: Samples.result("done")))
            let statuses = try await store.statuses(of: (1...5).map { "ver_\($0)" })
            #expect(statuses == [nil, nil, nil, .waiting, .waiting])
            let other = ErasureSubject(bundleID: "com.example.other", chains: [], account: Account("customer 8"))
            #expect(try await store.erase(other) == [:])
            #expect(await store.survey()?.waiting == 2)
            #expect(try stage.server.ask("HLEN", JobKeys.same) == "4")
            #expect(try stage.server.ask("KEYS", JobKeys.aboutPrefix + "*").split(separator: "\n").count == 2)
        }
    }

    @Test(arguments: [true, false])
    func `a purchase that only the answer has is deleted with it`(isEnded: Bool) async throws {
        try await NotificationStage.with { stage in
            let store = stage.jobs()
            try await Self.create(1, in: store)
            let taken = try #require(try await store.takeOne()), result = Samples.result("known", chain: "9")
            if isEnded {
                #expect(try await store.end(taken, .done, result: result))
            } else {
                try await store.postpone(taken, for: .zero, result: result, isAttempt: true)
            }
            let subject = ErasureSubject(bundleID: Samples.bundleID, chains: [Samples.chain("9")])
            #expect(try await store.erase(subject) == [.verifications: 1])
            #expect(try stage.server.ask("DBSIZE") == "0")
        }
    }

    @Test func `a customer with more jobs than one step deletes is deleted whole`() async throws {
        try await NotificationStage.with { stage in
            let store = stage.jobs(), count = RedisJobStore.Limits.erased + 10
            try await Self.create(count, in: store, chains: [Samples.chain("1")])
            let chains = Set((1...RedisJobStore.Limits.erased + 1).map { Samples.chain("\($0)") })
            let subject = ErasureSubject(bundleID: Samples.bundleID, chains: chains)
            #expect(try await store.erase(subject) == [.verifications: count])
            #expect(try stage.server.ask("DBSIZE") == "0")
        }
    }

    @Test func `without Redis every call says so`() async throws {
        try await NotificationStage.with { stage in
            let store = stage.jobs()
            stage.server.kill()
            try await eventually { await store.survey() == nil }
            await #expect(throws: JobRefusal.storeUnreachable) {
                try await store.create(Samples.job("ver_1"), key: nil)
            }
            await #expect(throws: JobRefusal.storeUnreachable) {
                try await store.job(withKey: "k", for: Samples.request(), of: Samples.client)
            }
            await #expect(throws: StoreUnreachable.self) { try await store.job("ver_1", of: Samples.client) }
            await #expect(throws: StoreUnreachable.self) { try await store.statuses(of: ["ver_1"]) }
            await #expect(throws: StoreUnreachable.self) { try await store.takeOne() }
            await #expect(throws: StoreUnreachable.self) { try await store.list(.done, maximum: 1) }
            let subject = ErasureSubject(bundleID: Samples.bundleID, chains: [Samples.chain("1")])
            await #expect(throws: StoreUnreachable.self) { try await store.erase(subject) }
        }
    }
}
