// SPDX-License-Identifier: Apache-2.0

import Customers
import Gateway
import RealServers
import Receipts
import Testing
import TestSupport

@testable import RedisStore
@testable import ServerTestSupport

/// Deferred verifications in real Redis servers: what clients see of them.
@Suite(.timeLimit(.patient)) struct RedisJobStoreTests {
    typealias Samples = JobSamples
    private var stage: NotificationStage { .current }

    // MARK: Limits

    @Test(.redis) func `the names of many customers count, and each is stored once`() async throws {
        let store = stage.jobs(), chains = (1...1000).map { Samples.chain("\($0)") }
        func stored() throws -> Int? {
            let sizes = try ["head", "request", "answer", "trace", "about"].map { field in
                Int(try stage.server.ask("HSTRLEN", JobKeys.job("ver_1"), field)) ?? 0
            }
            // A space follows each name.
            return sizes.reduce(1, +)
        }
        _ = try await store.create(
            Samples.job("ver_1", Samples.request(chains: chains), traceparent: Samples.traceparent), key: nil)
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

    @Test(.redis, arguments: JobEnding.allCases)
    func `what a job counted for is released exactly, also after a change of keys`(_ ending: JobEnding) async throws {
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

    @Test(.redis) func `while keys change, a job of each node is the same for both`() async throws {
        let both = [StoreSamples.firstKey, StoreSamples.secondKey]
        let nodes = [
            stage.jobs(keys: both.joined(separator: ",")), stage.jobs(keys: both.reversed().joined(separator: ",")),
        ]
        for (own, other) in [(nodes[0], nodes[1]), (nodes[1], nodes[0])] {
            let id = try await own.create(Samples.job("ver_1", Samples.request(chains: [Samples.chain("1")])), key: "k")
            #expect(id == .created)
            #expect(try await other.create(Samples.job("ver_2"), key: nil).joinedID == "ver_1")
            #expect(try await other.create(Samples.job("ver_2"), key: "k2").joinedID == "ver_1")
            #expect(try await own.job(withKey: "k2", for: Samples.request(), of: Samples.client)?.id == "ver_1")
            #expect(try await other.job(withKey: "k", for: Samples.request(), of: Samples.client)?.id == "ver_1")
            await #expect(throws: JobRefusal.keyReused) {
                try await other.create(Samples.job("ver_2", Samples.request(2)), key: "k")
            }
            #expect(try await other.takeOne()?.job.request == Samples.request(chains: [Samples.chain("1")]))
            let subject = Samples.subject("1")
            #expect(try await other.erase(subject) == [.verifications: 1])
            #expect(try stage.server.ask("DBSIZE") == "0")
        }
    }

    @Test(.redis) func `a job sealed with an older key is readable, and answered with the first`() async throws {
        _ = try await stage.jobs().create(Samples.job("ver_1"), key: nil)
        let rotated = stage.jobs(keys: "\(StoreSamples.secondKey),\(StoreSamples.firstKey)")
        let taken = try #require(try await rotated.takeOne())
        #expect(taken.job.request == Samples.request())
        #expect(try await rotated.end(taken, .done, result: Samples.result("done")))
        #expect(try await rotated.job("ver_1", of: Samples.client)?.result == Samples.result("done"))
    }

    @Test(.redis)
    func `a job that a node has no key for is left to the others, and deleted after its deadline`() async throws {
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

    // MARK: Secrets and lifetimes

    @Test(.redis) func `Redis holds no name, no evidence and no answer that it could read, and nothing that expires`()
        async throws
    {
        let store = stage.jobs()
        let request = Samples.request(chains: [Samples.chain("2000777")], account: "customer 7")
        for number in 1...2 {
            let client = number == 1 ? "shop" : "kiosk"
            let job = Samples.job("ver_\(number)", request, client: client, traceparent: Samples.traceparent)
            _ = try await store.create(job, key: "order 99")
        }
        let taken = try #require(try await store.takeOne())
        #expect(try await store.end(taken, .done, result: Samples.result("so far", chain: "2000777")))
        let keys = try await stage.expectNothingReadable(of: [
            "shop", "kiosk", "evidence", "so far", "2000777", "customer 7", "order 99", Samples.bundleID,
            Samples.traceparent,
        ])
        #expect(keys.count >= 8 && keys.allSatisfy { $0.hasPrefix("gw:{v}:") })
    }
}
