// SPDX-License-Identifier: Apache-2.0

import Customers
import Gateway
import RealServers
import Receipts
import Testing
import TestSupport

@testable import RedisStore
@testable import ServerTestSupport

/// The behaviour of every store of deferred verifications, in this process and in Redis.
@Suite(.timeLimit(.patient)) struct JobStoreTests {
    typealias Samples = JobSamples

    // MARK: Creation

    @Test(.redis, arguments: StoreKind.allCases)
    func `a job is read as it was stored, by its client only`(kind: StoreKind) async throws {
        let jobs = SharedJobs(kind), (store, other) = jobs.nodes
        let job = Samples.job("ver_1", Samples.request(chains: [Samples.chain("1")], account: "customer 7"))
        let start = jobs.now
        #expect(try await store.create(job, key: nil) == .created)
        var read = try #require(try await other.job("ver_1", of: Samples.client))
        // The clock of Redis is this machine's.
        let next = try #require(read.nextAttempt)
        #expect(start <= next && next <= jobs.now)
        (read.request, read.nextAttempt) = (job.request, nil)
        #expect(read == job)
        #expect(try await other.job("ver_1", of: "another") == nil)
        // For operators.
        #expect(try await other.job("ver_1")?.client == Samples.client)
        #expect(try await other.job("ver_2", of: Samples.client) == nil)
        let taken = try #require(try await other.takeOne())
        #expect(taken.job.request == job.request && taken.losses == 0)
    }

    @Test(.redis, arguments: StoreKind.allCases)
    func `a worker of any node gets the span of the request that made the job, until the job is announced`(
        kind: StoreKind
    ) async throws {
        let jobs = SharedJobs(kind), (store, other) = jobs.nodes
        _ = try await store.create(Samples.job("ver_1", traceparent: Samples.traceparent), key: nil)
        let first = try #require(try await other.takeOne())
        #expect(first.job.traceparent == Samples.traceparent)
        try await other.postpone(first, for: .zero, result: Samples.result("later"), isAttempt: true)
        let second = try #require(try await store.takeOne())
        #expect(second.job.traceparent == Samples.traceparent)
        #expect(try await store.end(second, .done, result: Samples.result("done")))
        // Its worker ends without the announcement.
        try jobs.makeDue()
        let ended = try #require(try await other.takeOne())
        #expect(ended.job.status == .done && ended.job.traceparent == Samples.traceparent)
        try await other.announced(ended)
        if let redis = jobs.redis { #expect(try redis.field("trace", ofJob: "ver_1").isEmpty) }
    }

    @Test(.redis, arguments: StoreKind.allCases)
    func `the same request of the same client joins its waiting job`(kind: StoreKind) async throws {
        let store = SharedJobs(kind).store
        _ = try await store.create(Samples.job("ver_1"), key: nil)
        #expect(try await store.create(Samples.job("ver_2"), key: nil).joinedID == "ver_1")
        #expect(try await store.create(Samples.job("ver_3", client: "another"), key: nil) == .created)
        #expect(try await store.create(Samples.job("ver_4", Samples.request(2)), key: nil) == .created)
        #expect(await store.survey()?.waiting == 3)
        let taken = try #require(try await store.takeOne())
        #expect(try await store.end(taken, .done, result: Samples.result("done")))
        #expect(try await store.create(Samples.job("ver_5"), key: nil) == .created)
    }

    @Test(.redis, arguments: StoreKind.allCases)
    func `an idempotency key names one job of one client, also when it has ended`(kind: StoreKind) async throws {
        let store = SharedJobs(kind).store, request = Samples.request()
        #expect(try await store.job(withKey: "k", for: request, of: Samples.client) == nil)
        _ = try await store.create(Samples.job("ver_1"), key: "k")
        #expect(try await store.create(Samples.job("ver_2"), key: "k").joinedID == "ver_1")
        #expect(try await store.job(withKey: "k", for: request, of: Samples.client)?.id == "ver_1")
        #expect(try await store.job(withKey: "k", for: request, of: "another") == nil)
        await #expect(throws: JobRefusal.keyReused) {
            try await store.create(Samples.job("ver_2", Samples.request(2)), key: "k")
        }
        await #expect(throws: JobRefusal.keyReused) {
            try await store.job(withKey: "k", for: Samples.request(2), of: Samples.client)
        }
        let taken = try #require(try await store.takeOne())
        #expect(try await store.end(taken, .done, result: Samples.result("done")))
        #expect(try await store.create(Samples.job("ver_2"), key: "k").joinedID == "ver_1")
        #expect(try await store.job(withKey: "k", for: request, of: Samples.client)?.status == .done)
        await #expect(throws: JobRefusal.keyReused) {
            try await store.create(Samples.job("ver_2", Samples.request(2)), key: "k")
        }
    }

    @Test(.redis, arguments: StoreKind.allCases.flatMap { kind in [JobStatus.expired, .failed].map { (kind, $0) } })
    func `the key of a job without a verdict names no job`(kind: StoreKind, status: JobStatus) async throws {
        let store = SharedJobs(kind).store, other = Samples.request(2)
        _ = try await store.create(Samples.job("ver_1"), key: "k")
        let taken = try #require(try await store.takeOne())
        #expect(try await store.end(taken, status, result: Samples.result()))
        for request in [Samples.request(), other] {
            #expect(try await store.job(withKey: "k", for: request, of: Samples.client) == nil)
        }
        #expect(try await store.create(Samples.job("ver_2", other), key: "k") == .created)
        #expect(try await store.job(withKey: "k", for: other, of: Samples.client)?.id == "ver_2")
    }

    @Test(.redis, arguments: StoreKind.allCases)
    func `a request that joins by its evidence is found by its own key, too`(kind: StoreKind) async throws {
        let jobs = SharedJobs(kind), store = jobs.store, request = Samples.request(), maximum = JobRules.Limits.keys
        _ = try await store.create(Samples.job("ver_1"), key: "k1")
        for number in 2...maximum {
            #expect(try await store.create(Samples.job("ver_2"), key: "k\(number)").joinedID == "ver_1")
        }
        await #expect(throws: JobRefusal.tooManyKeys) { try await store.create(Samples.job("ver_2"), key: "one more") }
        #expect(try await store.create(Samples.job("ver_2"), key: nil).joinedID == "ver_1")
        #expect(try await store.create(Samples.job("ver_2"), key: "k1").joinedID == "ver_1")
        if let redis = jobs.redis { #expect(try redis.server.ask("HLEN", JobKeys.same) == "\(maximum + 1)") }
        for isEnded in [false, true] {
            if isEnded {
                let taken = try #require(try await store.takeOne())
                #expect(try await store.end(taken, .done, result: Samples.result("done")))
            }
            for number in 1...maximum {
                let job = try await store.job(withKey: "k\(number)", for: request, of: Samples.client)
                #expect(job?.id == "ver_1")
            }
        }
    }

    @Test(.redis, arguments: StoreKind.allCases)
    func `a job ends once, and a repetition by its worker changes nothing`(kind: StoreKind) async throws {
        let store = SharedJobs(kind).store, later = Timestamp.now().advanced(by: .seconds(60))
        try await store.createJobs(1)
        let taken = try #require(try await store.takeOne())
        #expect(try await store.end(taken, .done, result: Samples.result("done")))
        let ended = try #require(try await store.job("ver_1"))
        #expect(ended.status == .done && ended.attempts == 1)
        #expect(try await store.end(taken, .done, result: Samples.result("another"), at: later))
        #expect(try await !store.end(taken, .failed, result: Samples.result("lost"), at: later))
        try await store.postpone(taken, for: .zero, result: Samples.result("waits"), isAttempt: true)
        #expect(try await store.job("ver_1") == ended)
    }

    @Test(.redis, arguments: StoreKind.allCases)
    func `the statuses of jobs come in order, with gaps for unknown ones`(kind: StoreKind) async throws {
        let jobs = SharedJobs(kind), store = jobs.store
        try await store.createJobs(2)
        let taken = try #require(try await store.takeOne())
        #expect(try await store.end(taken, .expired, result: Samples.result()))
        if let redis = jobs.redis { try redis.server.ask("SET", JobKeys.job("ver_0"), "of another program") }
        let statuses = try await store.statuses(of: ["ver_2", "ver_0", "ver_3", "ver_1"])
        #expect(statuses == [.waiting, nil, nil, .expired])
        #expect(try await store.statuses(of: []) == [])
    }

    @Test(.redis, arguments: StoreKind.allCases)
    func `the jobs of a client are limited in number, and each end makes room for one`(kind: StoreKind) async throws {
        let store = SharedJobs(kind) { $0.maximumCount = 2 }.store
        try await store.createJobs(2)
        await #expect(throws: JobRefusal.clientLimit) {
            try await store.create(Samples.job("ver_3", Samples.request(3)), key: nil)
        }
        #expect(try await store.create(Samples.job("ver_4", client: "another"), key: nil) == .created)
        let taken = try #require(try await store.takeOne())
        #expect(try await store.end(taken, .done, result: Samples.result("a longer answer than before")))
        // After a lost reply.
        #expect(try await store.end(taken, .done, result: Samples.result("a longer answer than before")))
        #expect(try await store.create(Samples.job("ver_3", Samples.request(3)), key: nil) == .created)
        await #expect(throws: JobRefusal.clientLimit) {
            try await store.create(Samples.job("ver_5", Samples.request(5)), key: nil)
        }
    }

    @Test(.redis, arguments: StoreKind.allCases)
    func `the jobs of a client, and of all, are limited in bytes`(kind: StoreKind) async throws {
        let store = SharedJobs(kind) { ($0.maximumBytes, $0.maximumTotalBytes) = (10_000, 15_000) }.store
        func create(_ number: Int, _ bytes: Int, _ client: String) async throws -> JobCreation {
            try await store.create(
                Samples.job("ver_\(number)", Samples.request(number, bytes: bytes), client: client), key: nil)
        }
        #expect(try await create(1, 8000, "a") == .created)
        await #expect(throws: JobRefusal.clientLimit) { try await create(2, 2000, "a") }
        #expect(try await create(2, 5000, "b") == .created)
        await #expect(throws: JobRefusal.totalLimit) { try await create(3, 2000, "b") }
        #expect(try await create(3, 500, "b") == .created)
        let counted = try #require(await store.survey())
        #expect(counted.waiting == 3 && (13_500...15_000).contains(counted.bytes))
    }

    @Test(.redis, arguments: StoreKind.allCases)
    func `clients that create at the same time do not exceed the limits`(kind: StoreKind) async throws {
        let (store, other) = SharedJobs(kind) { $0.maximumCount = 10 }.nodes
        let created = await withTaskGroup(of: Bool.self) { group in
            for number in 0..<60 {
                group.addTask {
                    let job = Samples.job("ver_\(number)", Samples.request(number))
                    let creation = try? await (number % 2 == 0 ? store : other).create(job, key: nil)
                    return creation == .created
                }
            }
            return await group.reduce(0) { $0 + ($1 ? 1 : 0) }
        }
        #expect(created == 10)
    }

    @Test(.redis, arguments: StoreKind.allCases)
    func `an ended job keeps its verdict and no evidence`(kind: StoreKind) async throws {
        let jobs = SharedJobs(kind), store = jobs.store
        _ = try await store.create(Samples.job("ver_1", Samples.request(bytes: 100_000)), key: nil)
        let taken = try #require(try await store.takeOne())
        #expect(try await store.end(taken, .done, result: Samples.result("done")))
        let job = try #require(try await store.job("ver_1", of: Samples.client))
        #expect(job.status == .done && job.request == nil && job.nextAttempt == nil && job.attempts == 1)
        #expect(job.result == Samples.result("done"))
        guard let redis = jobs.redis else { return }
        #expect(try Int(redis.server.ask("MEMORY", "USAGE", JobKeys.job("ver_1"))).map { $0 < 4000 } == true)
    }

    @Test(.redis, arguments: StoreKind.allCases)
    func `of two nodes that race for jobs each job has one`(kind: StoreKind) async throws {
        let (store, other) = SharedJobs(kind).nodes
        try await store.createJobs(40)
        let ids = await withTaskGroup(of: [String].self) { group in
            for number in 0..<60 {
                group.addTask {
                    let taken = try? await (number % 2 == 0 ? store : other).takeOne()
                    return [taken?.job.id].compactMap(\.self)
                }
            }
            return await group.reduce([], +)
        }
        #expect(ids.count == 40 && Set(ids).count == 40)
    }

    @Test(.redis, arguments: StoreKind.allCases)
    func `jobs are taken in the order in which they are due, each lane by itself`(kind: StoreKind) async throws {
        let jobs = SharedJobs(kind), store = jobs.store
        for number in [3, 1, 2] {
            _ = try await store.create(Samples.job("ver_\(number)", Samples.request(number)), key: nil)
            try await jobs.tick()
        }
        _ = try await store.create(Samples.job("ver_4", Samples.request(4), lane: .sandbox), key: nil)
        let taken = try await store.take(2, in: .production, lease: Samples.lease)
        #expect(taken.map(\.job.id) == ["ver_3", "ver_1"])
        let others = try await store.take(9, in: .sandbox, lease: Samples.lease)
        #expect(others.map(\.job.id) == ["ver_4"] && others.map(\.job.lane) == [.sandbox])
        #expect(try await store.take(0, in: .production, lease: Samples.lease).isEmpty)
        #expect(try await store.takeOne()?.job.id == "ver_2")
    }

    @Test(.redis, arguments: StoreKind.allCases)
    func `a job whose worker died goes on elsewhere, and the loss is counted`(kind: StoreKind) async throws {
        let jobs = SharedJobs(kind), (dead, other) = jobs.nodes
        try await dead.createJobs(1)
        var held = try #require(try await dead.takeOne(lease: .milliseconds(50)))
        for losses in 1...3 {
            var next: TakenJob?
            // The clock of the store ends the lease.
            try await eventually {
                try await jobs.tick()
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

    @Test(.redis, arguments: StoreKind.allCases)
    func `a postponed job is due after its delay, and its losses are forgotten`(kind: StoreKind) async throws {
        let jobs = SharedJobs(kind), store = jobs.store
        try await store.createJobs(1)
        _ = try await store.takeOne(lease: .zero)
        try jobs.makeDue()
        let taken = try #require(try await store.takeOne())
        #expect(taken.losses == 1)
        try await store.postpone(taken, for: .seconds(60), result: Samples.result("later"), isAttempt: true)
        #expect(try await store.takeOne() == nil)
        let waiting = try #require(try await store.job("ver_1", of: Samples.client))
        #expect(waiting.attempts == 1 && waiting.result == Samples.result("later"))
        let wait = try #require(waiting.nextAttempt.map { jobs.now.duration(to: $0) })
        #expect(wait > .seconds(30) && wait <= .seconds(61))
        try jobs.makeDue()
        let again = try #require(try await store.takeOne())
        #expect(again.losses == 0 && again.job.attempts == 1)
        try await store.postpone(again, for: .milliseconds(20), result: Samples.result("later"), isAttempt: false)
        try await eventually {
            try await jobs.tick()
            return try await store.takeOne() != nil
        }
        #expect(try await store.job("ver_1", of: Samples.client)?.attempts == 1)
    }

    @Test(.redis, arguments: StoreKind.allCases)
    func `everything about a customer is deleted, and nothing about others`(kind: StoreKind) async throws {
        let jobs = SharedJobs(kind), store = jobs.store
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
        let subject = Samples.subject("2", account: "customer 7")
        #expect(try await store.erase(subject) == [.verifications: 3])
        #expect(try await store.erase(subject) == [:])
        #expect(try await !store.end(worked, .done, result: Samples.result("done")))
        try await store.announced(kept)
        #expect(try await store.list(.done, maximum: 9).isEmpty)
        let statuses = try await store.statuses(of: (1...5).map { "ver_\($0)" })
        #expect(statuses == [nil, nil, nil, .waiting, .waiting])
        let other = ErasureSubject(bundleID: "com.example.other", chains: [], account: Account("customer 8"))
        #expect(try await store.erase(other) == [:])
        #expect(await store.survey()?.waiting == 2)
        guard let server = jobs.redis?.server else { return }
        #expect(try server.ask("HLEN", JobKeys.same) == "4")
        #expect(try server.ask("KEYS", JobKeys.aboutPrefix + "*").split(separator: "\n").count == 2)
    }

    @Test(.redis, arguments: StoreKind.allCases, [Samples.bundleID, "com.example.other"])
    func `an account's job is deleted with the account in each app that it names`(kind: StoreKind, app: String)
        async throws
    {
        let jobs = SharedJobs(kind), store = jobs.store
        let chain = PurchaseChain(bundleID: "com.example.other", environment: .production, originalTransactionID: "1")
        try await store.createJobs(1)
        _ = try await store.create(
            Samples.job("ver_2", Samples.request(2, chains: [chain], account: "customer 7")), key: nil)
        let subject = ErasureSubject(bundleID: app, chains: [], account: Account("customer 7"))
        #expect(try await store.erase(subject) == [.verifications: 1])
    }

    @Test(.redis, arguments: StoreKind.allCases, [true, false])
    func `a purchase that only the answer has is deleted with it`(kind: StoreKind, isEnded: Bool) async throws {
        let jobs = SharedJobs(kind), store = jobs.store
        try await store.createJobs(1)
        let taken = try #require(try await store.takeOne()), result = Samples.result("known", chain: "9")
        if isEnded {
            #expect(try await store.end(taken, .done, result: result))
        } else {
            try await store.postpone(taken, for: .zero, result: result, isAttempt: true)
        }
        #expect(try await store.erase(Samples.subject("9")) == [.verifications: 1])
        if let redis = jobs.redis { #expect(try redis.server.ask("DBSIZE") == "0") }
    }
}
