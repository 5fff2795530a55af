// SPDX-License-Identifier: Apache-2.0

import AppleSimulator
import Foundation
import RealServers
import Testing
import TestSupport

@testable import LoadTest

/// Deferred verifications of real gateways, while the simulated Apple is away.
@Suite(.serialized, .timeLimit(.patient)) struct DeferredTests {
    private var stage: Stage { .current }

    @Test func `an outage defers a verification, and Apple's return ends it by long poll, log and webhook`()
        async throws
    {
        try await EventStage.run(customers: 1, [.init(name: "shop")]) { stage in
            let evidence = try await stage.fleet.evidence(of: 0), nodes = stage.fleet.nodes
            try stage.fleet.play(EventStage.outage)
            let job = try await nodes[0].running.deferred(EventStage.body(evidence), key: stage.key)
            #expect(job.isDurable && job.verdict.verdict == "undecided", "\(job)")
            #expect(job.verdict.reason == "upstream_did_not_answer", "\(job)")
            for node in nodes {
                let waiting = try await node.running.job(job.id, key: stage.key)
                #expect(waiting.status == 202 && waiting.headers["retry-after"] != nil)
                #expect(try ReceivedJob(waiting.json).status == "waiting")
                // Another client learns nothing of it.
                let stranger = stage.fleet.clients.strangersKey.text
                #expect(try await node.running.job(job.id, key: stranger).status == 404)
                #expect(
                    try await node.running.job("ver_" + String(repeating: "A", count: 22), key: stage.key).status == 404
                )
                #expect(try await node.running.job(job.id, key: "rgk_unknown").status == 401)
            }
            let stored = try StoredJob(in: stage.redis)
            let largest = try #require(stored.sizes.max { $0.value < $1.value })
            #expect(largest.value >= evidence.utf8.count / 2, "\(stored.sizes)")
            try stage.fleet.play()
            try await stage.expectEnded([job], at: "shop")
            let ended = try StoredJob(in: stage.redis)
            #expect(!ended.sizes.isEmpty && ended.sizes[largest.key] == nil, "\(ended.sizes)")
        }
    }

    @Test func `a client's setting defers degraded answers, and only those`() async throws {
        let redis = try await RealServer.redis()
        var plan = Fleet.Plan(redisURL: "redis://127.0.0.1:\(redis.port)", nodes: 2)
        plan.clients = [("shop", "    defer: degraded\n"), ("undecided", "    defer: undecided\n"), ("plain", "")]
        plan.scenario = "faults: [{fault: {http_status: 503}}]"
        // A busy machine must not look like a fault.
        plan.settings = [
            "GATEWAY_REDIS_DEADLINE": Patience.operationSetting,
            "GATEWAY_APPLE_SOFT_TIMEOUT": Patience.operationSetting,
            "GATEWAY_APPLE_DEADLINE": Patience.operationSetting,
        ]
        try await withFleet(plan) { fleet in
            let gateway = try fleet.nodes[0].running
            let body = ["receipt": Sample.receipt(0)], shop = fleet.key(of: "shop")
            let job = try await gateway.deferred(body, prefer: nil, key: shop)
            #expect(job.verdict.isLabelled && job.isDurable, "\(job)")
            for client in ["undecided", "plain"] {
                let answer = try await gateway.requestVerdict(body, prefer: nil, key: fleet.key(of: client))
                let verdict = try Verdict(answer.json)
                #expect(answer.status == 200 && verdict.isLabelled, "\(client): \(verdict)")
            }
            let required = ["receipt": Sample.receipt(1), "mode": "apple"]
            _ = try await gateway.deferred(required, prefer: nil, key: fleet.key(of: "undecided"))
            // These have their verdict whatever Apple says.
            for final in [["receipt": Sample.forged()], ["receipt": Sample.receipt(2), "mode": "local"]] {
                let answer = try await gateway.requestVerdict(final, key: shop)
                #expect(answer.status == 200 && answer.headers["preference-applied"] == nil)
            }
            fleet.apple.play(.healthy)
            let ended = try await fleet.nodes[1].running.end(of: job.id, key: shop)
            #expect(ended.status == "done" && ended.verdict.isApples, "\(ended)")
        }
        redis.kill()
    }

    @Test func `each node in turn is killed while jobs wait, and each job ends once`() async throws {
        let count = 40
        try await EventStage.run(customers: count, [.init(name: "shop")]) { stage in
            let evidence = try await stage.fleet.evidence(of: 0..<count), nodes = stage.fleet.nodes
            try stage.fleet.play(EventStage.outage)
            let jobs = try await stage.deferred(evidence)
            for node in nodes {
                try await node.kill()
                try await node.start()
            }
            // Slow answers: the second kill of the first node finds it in the middle of attempts.
            try stage.fleet.play("{api: server_api, latency: 2}")
            try await eventually("Apple is called") { stage.fleet.apple.statsDetails.inFlight > 0 }
            try await nodes[0].kill()
            for job in jobs {
                let ended = try await nodes[1].running.end(of: job.id, key: stage.key)
                #expect(ended.status == "done", "\(ended)")
            }
            try await nodes[0].start()
            try await stage.expectEnded(jobs, at: "shop")
        }
    }

    @Test func `jobs outlive a restart of all nodes with a new first key`() async throws {
        let count = 10
        try await EventStage.run(customers: count, [.init(name: "shop")]) { stage in
            let evidence = try await stage.fleet.evidence(of: 0..<count), nodes = stage.fleet.nodes
            try stage.fleet.play(EventStage.outage)
            let jobs = try await stage.deferred(evidence)
            let body = EventStage.body(try #require(evidence[0]))
            let named = try await nodes[0].running.deferred(body, idempotencyKey: "order-1", key: stage.key)
            #expect(named.id == jobs[0].id, "the same request joins its job")
            for node in nodes { #expect(await node.stop() == 0) }
            let keys = "k2:" + Data((0..<32).map { UInt8($0 * 5 + 3) }).base64EncodedString() + "," + Fleet.cacheKeys
            for node in nodes { try await node.start(["GATEWAY_CACHE_KEYS": keys]) }
            for node in nodes {
                let again = try await node.running.deferred(body, idempotencyKey: "order-1", key: stage.key)
                #expect(again.id == named.id)
            }
            try stage.fleet.play()
            try await stage.expectEnded(jobs, at: "shop")
        }
    }

    @Test(.stage("faults: [{fault: {http_status: 503}}]"))
    func `without Redis a job is kept in the process, and says so`() async throws {
        let body = ["receipt": Sample.receipt(0), "mode": "apple"]
        let job = try await stage.gateway.deferred(body)
        #expect(!job.isDurable, "\(job)")
        #expect(try await stage.gateway.deferred(body).id == job.id)
        try stage.play("")
        let ended = try await stage.gateway.end(of: job.id)
        #expect(ended.status == "done" && ended.verdict.isApples && !ended.isDurable, "\(ended)")
    }

    @Test func `an Idempotency-Key stands for one job, at every node`() async throws {
        try await EventStage.run(customers: 2, [.init(name: "shop")]) { stage in
            let evidence = try await stage.fleet.evidence(of: 0..<2),
                nodes = try stage.fleet.nodes.map { try $0.running }
            let body = EventStage.body(try #require(evidence[0])), other = EventStage.body(try #require(evidence[1]))
            try stage.fleet.play(EventStage.outage)
            let job = try await nodes[0].deferred(body, idempotencyKey: "order-1", key: stage.key)
            #expect(try await nodes[1].deferred(body, idempotencyKey: "order-1", key: stage.key).id == job.id)
            let reused = try await nodes[1].requestVerdict(other, idempotencyKey: "order-1", key: stage.key)
            #expect(reused.status == 422 && reused.contentType == "application/problem+json")
            for wrong in ["order ä", String(repeating: "k", count: 256)] {
                let answer = try await nodes[0].requestVerdict(body, idempotencyKey: wrong, key: stage.key)
                #expect(answer.status == 400, "\(wrong)")
            }
            #expect(try await nodes[0].deferred(other, idempotencyKey: "order-2", key: stage.key).id != job.id)
            try stage.fleet.play()
            let ended = try await nodes[0].end(of: job.id, key: stage.key)
            for node in nodes {
                let kept = try await node.requestVerdict(body, idempotencyKey: "order-1", key: stage.key)
                #expect(kept.status == 200 && kept.headers["content-location"] == "/v1/verifications/\(job.id)")
                let text = try Data(json: kept.json)
                #expect(String(decoding: text, as: UTF8.self) == ended.answer)
            }
        }
    }

    @Test func `beyond a client's limit a request is told when to come again, and others are served`() async throws {
        let settings = ["GATEWAY_JOBS_MAX_COUNT": "1"]
        try await EventStage.run(customers: 2, [.init(name: "shop")], settings: settings) { stage in
            let evidence = try await stage.fleet.evidence(of: 0..<2), gateway = try stage.fleet.nodes[0].running
            try stage.fleet.play(EventStage.outage)
            let job = try await gateway.deferred(EventStage.body(try #require(evidence[0])), key: stage.key)
            let body = EventStage.body(try #require(evidence[1]))
            let refused = try await gateway.requestVerdict(body, key: stage.key)
            #expect(refused.status == 429 && Int(refused.headers["retry-after"] ?? "") ?? 0 >= 1)
            // Without the preference the answer is the usual one.
            #expect(try await gateway.requestVerdict(body, prefer: nil, key: stage.key).status == 200)
            try stage.fleet.play()
            try await stage.expectEnded([job], at: "shop")
        }
    }
}

/// The fields of the only job in Redis.
private struct StoredJob {
    /// The bytes of each field.
    var sizes: [String: Int] = [:]

    init(in redis: RealServer) throws {
        let keys = try redis.ask("KEYS", "gw:{v}:job:*").split(separator: "\n").map(String.init)
        try #require(keys.count == 1, "\(keys)")
        for field in try redis.ask("HKEYS", keys[0]).split(separator: "\n").map(String.init) {
            sizes[field] = Int(try redis.ask("HSTRLEN", keys[0], field))
        }
    }
}
