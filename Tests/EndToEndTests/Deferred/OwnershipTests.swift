// SPDX-License-Identifier: Apache-2.0

import Foundation
import RealServers
import Testing
import TestSupport

@testable import LoadTest

/// The accounts that purchases are bound to, by real gateways with a real Redis.
@Suite(.serialized, .timeLimit(.patient)) struct OwnershipTests {
    @Test func `the first account has the purchase, at every node`() async throws {
        try await Self.run { fleet, _ in
            #expect(try await fleet.ownership(of: 0, by: "alice", at: 0).ownership == "first_seen")
            for node in fleet.nodes.indices {
                #expect(try await fleet.ownership(of: 0, by: "alice", at: node).ownership == "same")
                let other = try await fleet.ownership(of: 0, by: "bob", at: node)
                #expect(other.ownership == "other" && other.verdict.verdict == "genuine", "\(other)")
                #expect(try await fleet.ownership(of: 0, by: nil, at: node).ownership == nil)
            }
            #expect(try await fleet.ownership(of: 1, by: "bob", at: 0).ownership == "first_seen")
            for wrong in ["", String(repeating: "a", count: 257)] {
                let answer = try await fleet.nodes[0].running.verify(
                    Sample.receipt(0), ["account": wrong], key: fleet.key(of: "shop"))
                #expect(answer.status == 400)
            }
        }
    }

    @Test func `a client may have other accounts rejected, and a rejection shows no purchase`() async throws {
        try await Self.run { fleet, _ in
            #expect(try await fleet.ownership(of: 0, by: "alice", at: 0).ownership == "first_seen")
            let rejected = try await fleet.ownership(of: 0, by: "bob", at: 1, as: "strict")
            #expect(rejected.verdict.verdict == "rejected" && rejected.verdict.reason == "other_account", "\(rejected)")
            #expect(rejected.ownership == "other" && !rejected.text.contains(Sample.transactionID(0)), "\(rejected)")
            let same = try await fleet.ownership(of: 0, by: "alice", at: 1, as: "strict")
            #expect(same.verdict.verdict == "genuine" && same.ownership == "same", "\(same)")
            #expect(try await fleet.sum("ownership_rejections_total") == 1)
        }
    }

    @Test func `a cached answer shows a transfer and a deletion at once`() async throws {
        try await Self.run { fleet, _ in
            for node in fleet.nodes.indices {
                // The node's own write of the result invalidates its first answer.
                try await eventually("node \(node) has the answer in its near cache") {
                    try await fleet.ownership(of: 0, by: "alice", at: node).verdict.cache == "near"
                }
            }
            #expect(try await fleet.change("PUT", 0, to: "bob", as: "strict").status == 403)
            let transfer = try await fleet.change("PUT", 0, to: "bob")
            #expect((200..<300).contains(transfer.status), "\(String(decoding: transfer.body, as: UTF8.self))")
            for node in fleet.nodes.indices {
                // A node that loses its connection to Redis for a moment empties its near cache.
                try await eventually("node \(node) answers from its near cache") {
                    let before = try await fleet.ownership(of: 0, by: "alice", at: node)
                    #expect(before.ownership == "other", "\(before)")
                    return before.verdict.cache == "near"
                }
                #expect(try await fleet.ownership(of: 0, by: "bob", at: node).ownership == "same")
            }
            try await eventually("a near cache is current after a deletion") {
                let deletion = try await fleet.change("DELETE", 0)
                #expect((200..<300).contains(deletion.status), "\(String(decoding: deletion.body, as: UTF8.self))")
                let first = try await fleet.ownership(of: 0, by: "alice", at: 1)
                #expect(first.ownership == "first_seen", "\(first)")
                return first.verdict.cache == "near"
            }
            #expect(try await fleet.ownership(of: 0, by: "bob", at: 0).ownership == "other")
        }
    }

    @Test func `without Redis ownership is unknown, and no purchase is rejected`() async throws {
        try await Self.run { fleet, redis in
            _ = try await fleet.ownership(of: 0, by: "alice", at: 0)
            redis.kill()
            for node in fleet.nodes.indices {
                for (number, account) in [(0, "bob"), (0, "alice"), (7, "carol")] {
                    let unknown = try await fleet.ownership(of: number, by: account, at: node, as: "strict")
                    #expect(unknown.ownership == "unknown" && unknown.verdict.verdict == "genuine", "\(unknown)")
                }
            }
            try await redis.start()
            try await eventually("Redis is used again") {
                try await fleet.ownership(of: 0, by: "alice", at: 0).ownership != "unknown"
            }
        }
    }

    @Test func `a purchase of more than three accounts is one event in a window`() async throws {
        try await Self.run { fleet, _ in
            for number in 1...3 { _ = try await fleet.ownership(of: 0, by: "account \(number)", at: number % 2) }
            #expect(try await fleet.suspicions().isEmpty)
            for number in 1...8 { _ = try await fleet.ownership(of: 0, by: "account \(number)", at: number % 2) }
            _ = try await fleet.ownership(of: 1, by: "account 1", at: 0)
            try await eventually("the event is written") { try await !fleet.suspicions().isEmpty }
            for number in 9...12 { _ = try await fleet.ownership(of: 0, by: "account \(number)", at: number % 2) }
            try await eventually("all uses are checked") { try await fleet.sum("ownership_total") == 16 }
            let events = try await fleet.suspicions()
            #expect(events.count == 1)
            let event = try #require(events.first)
            #expect(event.contains(Sample.transactionID(0)) && !event.contains("account 1"), "\(event)")
            try await eventually("the event is counted") {
                try await fleet.sum("events_total", ["type": "fraud.suspected"]) == 1
            }
            #expect(try await fleet.sum("fraud_suspected_total") == 1)
        }
    }

    /// Runs a test with two gateways, and a client for each policy.
    private static func run(_ test: (Fleet, RealServer) async throws -> Void) async throws {
        let redis = try await RealServer.redis()
        var plan = Fleet.Plan(redisURL: "redis://127.0.0.1:\(redis.port)", nodes: 2)
        plan.clients = [("shop", "    may: [ownership]\n"), ("strict", "    ownership: reject\n")]
        // A busy machine must not look like a Redis without answers.
        plan.settings = ["GATEWAY_REDIS_DEADLINE": Patience.operationSetting, "GATEWAY_APPLE_SOFT_TIMEOUT": "20s"]
        try await withFleet(plan) { try await test($0, redis) }
        redis.kill()
    }
}

/// An answer about a purchase of an account.
private struct OwnershipAnswer: CustomStringConvertible {
    let verdict: Verdict
    let ownership: String?
    let text: String

    var description: String { text }
}

extension Fleet {
    /// Requests the verdict on a receipt for an account; without one the answer must not say anything about it.
    fileprivate func ownership(
        of number: Int, by account: String?, at node: Int, as client: String = "shop"
    ) async throws -> OwnershipAnswer {
        let more = account.map { ["account": $0] } ?? [:]
        let answer = try await nodes[node].running.verify(Sample.receipt(number), more, key: key(of: client))
        let text = String(decoding: answer.body, as: UTF8.self)
        try #require(answer.status == 200, "\(text)")
        let json = try answer.json
        return OwnershipAnswer(verdict: try Verdict(json), ownership: json["ownership"] as? String, text: text)
    }

    /// Transfers or deletes the binding of a purchase.
    fileprivate func change(
        _ method: String, _ number: Int, to account: String? = nil, as client: String = "shop"
    ) async throws -> HTTPAnswer {
        let url = "http://127.0.0.1:\(try nodes[0].running.dataPort)/v1/ownership/\(Sample.transactionID(number))"
        let app = ["bundle_id": Sample.bundleID, "environment": "Production"]
        guard let account else {
            let query = app.map { "\($0)=\($1)" }.joined(separator: "&")
            return try await HTTPCall(method, url: url + "?" + query, bearer: key(of: client)).answer()
        }
        let body = try Data(json: app.merging(["account": account]) { $1 })
        return try await HTTPCall(method, url: url, body: body, bearer: key(of: client)).answer()
    }

    /// Returns the events `fraud.suspected` of the log as texts.
    fileprivate func suspicions() async throws -> [String] {
        let path = "/v1/events?types=fraud.suspected&bundle_id=\(Sample.bundleID)", gateway = try nodes[0].running
        let answer = try await gateway.get(path, port: gateway.dataPort, key: key(of: "shop"))
        let events = try #require(try answer.json["events"] as? [[String: Any]], "\(answer.status)")
        return try events.map { event in
            String(decoding: try Data(json: event), as: UTF8.self)
        }
    }
}
