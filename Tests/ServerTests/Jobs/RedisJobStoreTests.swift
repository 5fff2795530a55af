// SPDX-License-Identifier: Apache-2.0

import Customers
import Gateway
import RealServers
import Receipts
import Redis
import Testing
import TestSupport

@testable import RedisStore

/// Deferred verifications in real Redis servers: what clients see of them.
@Suite(.timeLimit(.patient)) struct RedisJobStoreTests {
    typealias Samples = JobSamples

    /// The IDs in the answer to a creation; nil if it created the job.
    private static func joined(_ creation: JobCreation) -> String? {
        if case .joined(let job) = creation { job.id } else { nil }
    }

    // MARK: Creating and reading

    @Test func `a job is read as it was stored, by its client only`() async throws {
        try await NotificationStage.with { stage in
            let store = stage.jobs(), other = stage.jobs()
            let job = Samples.job("ver_1", Samples.request(chains: [Samples.chain("1")], account: "customer 7"))
            let start = Timestamp.now()
            #expect(try await store.create(job, key: nil) == .created)
            var read = try #require(try await other.job("ver_1", of: Samples.client))
            // By the clock of Redis, which is this machine's.
            let next = try #require(read.nextAttempt)
            #expect(start <= next && next <= Timestamp.now())
            (read.request, read.nextAttempt) = (job.request, nil)
            #expect(read == job)
            #expect(try await other.job("ver_1", of: "another") == nil)
            // For operators.
            #expect(try await other.job("ver_1")?.client == Samples.client)
            #expect(try await other.job("ver_2", of: Samples.client) == nil)
            let taken = try #require(try await other.takeOne())
            #expect(taken.job.request == job.request && taken.losses == 0)
        }
    }

    @Test func `the same request of the same client joins its waiting job`() async throws {
        try await NotificationStage.with { stage in
            let store = stage.jobs()
            _ = try await store.create(Samples.job("ver_1"), key: nil)
            #expect(Self.joined(try await store.create(Samples.job("ver_2"), key: nil)) == "ver_1")
            #expect(try await store.create(Samples.job("ver_3", client: "another"), key: nil) == .created)
            #expect(try await store.create(Samples.job("ver_4", Samples.request(2)), key: nil) == .created)
            #expect(await store.survey()?.waiting == 3)
            let taken = try #require(try await store.takeOne())
            #expect(try await store.end(taken, .done, result: Samples.result("done")))
            #expect(try await store.create(Samples.job("ver_5"), key: nil) == .created)
        }
    }

    @Test func `an idempotency key names one job of one client, also when it has ended`() async throws {
        try await NotificationStage.with { stage in
            let store = stage.jobs(), request = Samples.request()
            #expect(try await store.job(withKey: "k", for: request, of: Samples.client) == nil)
            _ = try await store.create(Samples.job("ver_1"), key: "k")
            #expect(Self.joined(try await store.create(Samples.job("ver_2"), key: "k")) == "ver_1")
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
            #expect(Self.joined(try await store.create(Samples.job("ver_2"), key: "k")) == "ver_1")
            #expect(try await store.job(withKey: "k", for: request, of: Samples.client)?.status == .done)
            await #expect(throws: JobRefusal.keyReused) {
                try await store.create(Samples.job("ver_2", Samples.request(2)), key: "k")
            }
        }
    }

    @Test func `a request that joins by its evidence is found by its own key, too`() async throws {
        try await NotificationStage.with { stage in
            let store = stage.jobs(), request = Samples.request(), maximum = JobRules.Limits.keys
            _ = try await store.create(Samples.job("ver_1"), key: "k1")
            for number in 2...maximum {
                let creation = try await store.create(Samples.job("ver_2"), key: "k\(number)")
                #expect(Self.joined(creation) == "ver_1")
            }
            await #expect(throws: JobRefusal.tooManyKeys) {
                try await store.create(Samples.job("ver_2"), key: "one more")
            }
            #expect(Self.joined(try await store.create(Samples.job("ver_2"), key: nil)) == "ver_1")
            #expect(Self.joined(try await store.create(Samples.job("ver_2"), key: "k1")) == "ver_1")
            for number in 1...maximum {
                let job = try await store.job(withKey: "k\(number)", for: request, of: Samples.client)
                #expect(job?.id == "ver_1")
            }
            #expect(try stage.server.ask("HLEN", JobKeys.same) == "\(maximum + 1)")
        }
    }

    @Test func `the statuses of jobs come in order, with gaps for unknown ones`() async throws {
        try await NotificationStage.with { stage in
            let store = stage.jobs()
            for number in 1...2 {
                _ = try await store.create(Samples.job("ver_\(number)", Samples.request(number)), key: nil)
            }
            let taken = try #require(try await store.takeOne())
            #expect(try await store.end(taken, .expired, result: Samples.result()))
            try stage.server.ask("SET", JobKeys.job("ver_0"), "of another program")
            let statuses = try await store.statuses(of: ["ver_2", "ver_0", "ver_3", "ver_1"])
            #expect(statuses == [.waiting, nil, nil, .expired])
            #expect(try await store.statuses(of: []) == [])
        }
    }

    // MARK: Limits

    @Test func `the jobs of a client are limited in number, and each end makes room for one`() async throws {
        try await NotificationStage.with { stage in
            let store = stage.jobs { $0.maximumCount = 2 }
            for number in 1...2 {
                _ = try await store.create(Samples.job("ver_\(number)", Samples.request(number)), key: nil)
            }
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
    }

    @Test func `the jobs of a client, and of all, are limited in bytes`() async throws {
        try await NotificationStage.with { stage in
            let store = stage.jobs { rules in
                (rules.maximumBytes, rules.maximumTotalBytes) = (10_000, 15_000)
            }
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
    }

    @Test func `the names of many customers count, and each is stored once`() async throws {
        try await NotificationStage.with { stage in
            let store = stage.jobs(), chains = (1...1000).map { Samples.chain("\($0)") }
            func stored() throws -> Int? {
                let sizes = try ["head", "request", "answer", "about"].map { field in
                    Int(try stage.server.ask("HSTRLEN", JobKeys.job("ver_1"), field)) ?? 0
                }
                // A space follows each name.
                return sizes.reduce(1, +)
            }
            _ = try await store.create(Samples.job("ver_1", Samples.request(chains: chains)), key: nil)
            #expect(try await store.survey()?.bytes == stored())
            let names = try stage.field("about", ofJob: "ver_1").split(separator: " ")
            #expect(names.count == 1000)
            for chain in ["1000", "1001"] {
                let taken = try #require(try await store.takeOne())
                try await store.postpone(taken, for: .zero, result: Samples.result(chain: chain), isAttempt: true)
                #expect(try await store.survey()?.bytes == stored())
            }
            let after = try stage.field("about", ofJob: "ver_1").split(separator: " ")
            #expect(after.count == 1001 && Set(names).isSubset(of: after))
        }
    }

    @Test func `clients that create at the same time do not exceed the limits`() async throws {
        try await NotificationStage.with { stage in
            let stores = [stage.jobs { $0.maximumCount = 10 }, stage.jobs { $0.maximumCount = 10 }]
            let created = await withTaskGroup(of: Bool.self) { group in
                for number in 0..<60 {
                    group.addTask {
                        let job = Samples.job("ver_\(number)", Samples.request(number))
                        let creation = try? await stores[number % 2].create(job, key: nil)
                        return creation == .created
                    }
                }
                return await group.reduce(0) { $0 + ($1 ? 1 : 0) }
            }
            #expect(created == 10)
        }
    }

    @Test(arguments: JobEnding.allCases)
    func `what a job counted for is released exactly, also after a change of keys`(_ ending: JobEnding) async throws {
        try await NotificationStage.with { stage in
            let rotated = "\(StoreSamples.secondKey),\(StoreSamples.firstKey)"
            let chain = Samples.chain("1")
            let old = stage.jobs(), new = stage.jobs(keys: rotated) { $0.maximumCount = 2 }
            for number in 1...2 {
                _ = try await old.create(
                    Samples.job("ver_\(number)", Samples.request(number, chains: [chain])), key: "k\(number)")
            }
            await #expect(throws: JobRefusal.clientLimit) {
                try await new.create(Samples.job("ver_3", Samples.request(3)), key: nil)
            }
            for taken in try await new.take(2, in: .production, lease: Samples.lease) {
                try await ending.end(taken, in: new, chain)
            }
            // The verdicts are counted by themselves.
            let fields = try stage.server.ask("HKEYS", JobKeys.usage).split(separator: "\n")
            #expect(fields.count == (ending == .erased ? 0 : 2) && fields.allSatisfy { $0.hasSuffix("kept") })
            #expect(await new.survey()?.waiting == 0)
            #expect(try await new.create(Samples.job("ver_3", Samples.request(3)), key: nil) == .created)
        }
    }

    enum JobEnding: CaseIterable {
        case done, expired, postponedAndDone, erased

        func end(_ taken: TakenJob, in store: RedisJobStore, _ chain: PurchaseChain) async throws {
            switch self {
            case .done: #expect(try await store.end(taken, .done, result: Samples.result("much longer than before")))
            case .expired: #expect(try await store.end(taken, .expired, result: taken.job.result))
            case .postponedAndDone:
                try await store.postpone(
                    taken, for: .zero, result: Samples.result("longer than before"), isAttempt: true)
                let again = try #require(try await store.takeOne())
                #expect(try await store.end(again, .done, result: Samples.result()))
            case .erased:
                _ = try await store.erase(ErasureSubject(bundleID: Samples.bundleID, chains: [chain]))
            }
        }
    }

    // MARK: Keys

    @Test func `while keys change, a job of each node is the same for both`() async throws {
        try await NotificationStage.with { stage in
            let both = [StoreSamples.firstKey, StoreSamples.secondKey]
            let nodes = [
                stage.jobs(keys: both.joined(separator: ",")), stage.jobs(keys: both.reversed().joined(separator: ",")),
            ]
            for (own, other) in [(nodes[0], nodes[1]), (nodes[1], nodes[0])] {
                let id = try await own.create(
                    Samples.job("ver_1", Samples.request(chains: [Samples.chain("1")])), key: "k")
                #expect(id == .created)
                #expect(Self.joined(try await other.create(Samples.job("ver_2"), key: nil)) == "ver_1")
                #expect(Self.joined(try await other.create(Samples.job("ver_2"), key: "k2")) == "ver_1")
                #expect(try await own.job(withKey: "k2", for: Samples.request(), of: Samples.client)?.id == "ver_1")
                #expect(try await other.job(withKey: "k", for: Samples.request(), of: Samples.client)?.id == "ver_1")
                await #expect(throws: JobRefusal.keyReused) {
                    try await other.create(Samples.job("ver_2", Samples.request(2)), key: "k")
                }
                #expect(try await other.takeOne()?.job.request == Samples.request(chains: [Samples.chain("1")]))
                let subject = ErasureSubject(bundleID: Samples.bundleID, chains: [Samples.chain("1")])
                #expect(try await other.erase(subject) == [.verifications: 1])
                #expect(try stage.server.ask("DBSIZE") == "0")
            }
        }
    }

    @Test func `a job sealed with an older key is readable, and answered with the first`() async throws {
        try await NotificationStage.with { stage in
            _ = try await stage.jobs().create(Samples.job("ver_1"), key: nil)
            let rotated = stage.jobs(keys: "\(StoreSamples.secondKey),\(StoreSamples.firstKey)")
            let taken = try #require(try await rotated.takeOne())
            #expect(taken.job.request == Samples.request())
            #expect(try await rotated.end(taken, .done, result: Samples.result("done")))
            #expect(try await rotated.job("ver_1", of: Samples.client)?.result == Samples.result("done"))
        }
    }

    @Test func `a job that a node has no key for is left to the others, and deleted after its deadline`() async throws {
        try await NotificationStage.with { stage in
            let owner = stage.jobs(), stranger = stage.jobs(keys: StoreSamples.secondKey)
            _ = try await owner.create(Samples.job("ver_1"), key: nil)
            for _ in 0..<5 {
                #expect(try await stranger.takeOne() == nil)
                await #expect(throws: StoreUnreachable.self) { try await stranger.job("ver_1", of: Samples.client) }
                try stage.makeDue()
            }
            let taken = try #require(try await owner.takeOne())
            #expect(taken.job.request == Samples.request() && taken.losses == 0)
            try stage.makeDue()
            try stage.server.ask("HSET", JobKeys.job("ver_1"), "deadline", "1")
            #expect(try await stranger.takeOne() == nil)
            #expect(try stage.server.ask("DBSIZE") == "0")
        }
    }

    // MARK: Secrets and lifetimes

    @Test func `Redis holds no name, no evidence and no answer that it could read, and nothing that expires`()
        async throws
    {
        try await NotificationStage.with { stage in
            let store = stage.jobs()
            let request = Samples.request(chains: [Samples.chain("2000777")], account: "customer 7")
            for number in 1...2 {
                let client = number == 1 ? "shop" : "kiosk"
                _ = try await store.create(Samples.job("ver_\(number)", request, client: client), key: "order 99")
            }
            let taken = try #require(try await store.takeOne())
            #expect(try await store.end(taken, .done, result: Samples.result("so far", chain: "2000777")))
            let keys = try stage.server.ask("KEYS", "*").split(separator: "\n").map(String.init)
            #expect(keys.count >= 8 && keys.allSatisfy { $0.hasPrefix("gw:{v}:") })
            var all = keys.joined()
            for key in keys {
                #expect(try stage.server.ask("PTTL", key) == "-1")
                let isHash = try stage.server.ask("TYPE", key) == "hash"
                all += try stage.server.ask(isHash ? ["HGETALL", key] : ["ZRANGE", key, "0", "-1"])
            }
            for secret in [
                "shop", "kiosk", "evidence", "so far", "2000777", "customer 7", "order 99", Samples.bundleID,
            ] {
                #expect(!all.contains(secret))
            }
        }
    }

    @Test func `an ended job keeps its verdict and no evidence`() async throws {
        try await NotificationStage.with { stage in
            let store = stage.jobs()
            _ = try await store.create(Samples.job("ver_1", Samples.request(bytes: 100_000)), key: nil)
            let taken = try #require(try await store.takeOne())
            #expect(try await store.end(taken, .done, result: Samples.result("done")))
            let job = try #require(try await store.job("ver_1", of: Samples.client))
            #expect(job.status == .done && job.request == nil && job.nextAttempt == nil && job.attempts == 1)
            #expect(job.result == Samples.result("done"))
            #expect(try Int(stage.server.ask("MEMORY", "USAGE", JobKeys.job("ver_1"))).map { $0 < 4000 } == true)
        }
    }
}
