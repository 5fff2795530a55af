// SPDX-License-Identifier: Apache-2.0

import AppleSimulator
import Foundation
import RealServers
import Testing
import TestSupport

@testable import LoadTest

/// The deletion of everything about a customer, by real gateways with a real Redis.
@Suite(.serialized, .timeLimit(.patient)) struct ErasureTests {
    /// Customers that stay: enough for each of the eight partitions to have some before the other customer comes.
    private static let staying = 0..<40
    private static let leaving = 40

    @Test func `nothing about an erased customer is left in Redis or in a node, and others keep theirs`() async throws {
        let rights = "    may: [ownership, erase]\n"
        try await EventStage.run(customers: Self.leaving + 1, [.init(name: "shop")], webhooks: rights) { stage in
            let evidence = try await stage.fleet.evidence(of: 0..<Self.leaving + 1)
            try await Self.serve(Self.staying, evidence, by: stage)
            try await eventually("all events are delivered") {
                let written = try await stage.pull().count
                return try stage.counts(of: "shop").distinct == written
            }
            let before = try StoreContents.of(stage.redis)

            // The customer's last deliveries and one verification still wait when the customer is erased.
            try await stage.receiver.set(.status(503, retryAfter: 5), of: stage.endpoint("shop"))
            try await Self.serve(Self.leaving..<Self.leaving + 1, evidence, by: stage)
            try stage.fleet.play(EventStage.outage)
            let waiting = try await stage.fleet.nodes[0].running.deferred(
                Self.body(Self.leaving, evidence, bySettingAge: 0), key: stage.key)
            try await eventually("a delivery failed") { try stage.counts(of: "shop").refused > 0 }
            let with = try StoreContents.of(stage.redis)
            let added = with.subtracting(before)
            for kind in [":state:", ":owner:", ":account:", "gw:{v}:job:", "gw:{v}:about:", ":events ", "rc:"] {
                #expect(added.contains { $0.contains(kind) }, "\(kind): \(added)")
            }

            #expect(
                try await Self.erase(Self.leaving, by: stage, key: stage.fleet.clients.strangersKey.text).status == 403)
            let erasure = try await Self.erase(Self.leaving, by: stage)
            try #require(erasure.status == 200, "\(String(decoding: erasure.body, as: UTF8.self))")
            let erased = try #require(try erasure.json["erased"] as? [String: Int])
            for kind in ["ownership", "customer_states", "events", "verifications", "cached_results"] {
                #expect(erased[kind] ?? 0 > 0, "\(erased)")
            }
            let left = try StoreContents.of(stage.redis).intersection(added)
            #expect(left.isEmpty, "\(left.sorted())")
            let again = try #require(try await Self.erase(Self.leaving, by: stage).json["erased"] as? [String: Int])
            #expect(again.values.allSatisfy { $0 == 0 }, "\(again)")

            try await Self.expectForgotten(waiting, evidence, by: stage)
        }
    }

    /// Lets the gateways store everything about customers: states, events, bindings, results and verdicts.
    private static func serve(_ customers: Range<Int>, _ evidence: [Int: String], by stage: EventStage) async throws {
        let applied = try await stage.fleet.sum("notifications_applied_total")
        try stage.fleet.notify("DID_RENEW", about: customers)
        try await eventually("the notifications are applied") {
            try await stage.fleet.sum("notifications_applied_total") == applied + Double(customers.count)
        }
        for customer in customers {
            for node in stage.fleet.nodes {
                let answer = try await node.running.requestVerdict(
                    body(customer, evidence), prefer: nil, key: stage.key)
                try #require(answer.status == 200, "\(String(decoding: answer.body, as: UTF8.self))")
            }
        }
        try stage.fleet.play(EventStage.outage)
        var jobs: [String] = []
        for customer in customers {
            let body = body(customer, evidence, bySettingAge: 0)
            jobs.append(try await stage.fleet.nodes[0].running.deferred(body, key: stage.key).id)
        }
        try stage.fleet.play()
        for job in jobs {
            let ended = try await stage.fleet.nodes[1].running.end(of: job, key: stage.key)
            #expect(ended.status == "done", "\(ended)")
        }
        // An announced job is no longer due, so that its worker is done with it.
        try await eventually("all jobs are announced") {
            try stage.redis.ask("ZCARD", "gw:{v}:due:production") == "0"
        }
    }

    /// Returns the body about a customer.
    /// - Parameter maximumAge: the age beyond which a cached result is not used.
    private static func body(
        _ customer: Int, _ evidence: [Int: String], bySettingAge maximumAge: Int? = nil
    ) -> [String: Any] {
        var body = EventStage.body(evidence[customer] ?? "")
        body["account"] = account(customer)
        body["max_age"] = maximumAge
        return body
    }

    private static func account(_ customer: Int) -> String { "account-of-customer-\(customer)" }

    /// Erases a customer by the account alone.
    private static func erase(
        _ customer: Int, by stage: EventStage, key: String? = nil
    ) async throws -> HTTPAnswer {
        let body = ["bundle_id": NotificationFleet.bundleID, "account": account(customer)]
        return try await stage.fleet.nodes[0].running.post(body, to: "/v1/erasures", key: key ?? stage.key)
    }

    /// Expects that no node knows the erased customer any more, and that all know the others.
    private static func expectForgotten(
        _ waiting: ReceivedJob, _ evidence: [Int: String], by stage: EventStage
    ) async throws {
        let id = AppleSimulator.transactionID(ofCustomer: leaving)
        let refused = try stage.counts(of: "shop").refused
        try await stage.receiver.set(.none, of: stage.endpoint("shop"))
        for node in stage.fleet.nodes {
            #expect(try await node.running.job(waiting.id, key: stage.key).status == 404)
            let kept = try await node.running.requestVerdict(body(0, evidence), prefer: nil, key: stage.key)
            #expect(try kept.json["ownership"] as? String == "same")
            var body = body(leaving, evidence)
            (body["mode"], body["account"]) = ("auto", nil)
            let answer = try await node.running.requestVerdict(body, prefer: nil, key: stage.key)
            let verdict = try Verdict(answer.json)
            #expect(verdict.cache == "miss" && verdict.source == "local", "\(verdict)")
        }
        for (name, events) in [("log", try await stage.pull()), ("shop", try stage.events(at: "shop"))] {
            let data = events.compactMap { $0["data"] as? [String: Any] }
            let about = data.filter { $0["original_transaction_id"] as? String == id }
            #expect(about.isEmpty && data.count >= staying.count, "\(name): \(about)")
        }
        #expect(refused > 0)
        try stage.fleet.play()
        let first = try await stage.fleet.nodes[1].running.requestVerdict(
            body(leaving, evidence), prefer: nil, key: stage.key)
        #expect(try first.json["ownership"] as? String == "first_seen")
    }
}

/// Everything in a Redis by which an entry is found: keys, and the fields, members and entry IDs in them.
private enum StoreContents {
    /// Entries that name no customer: limits, pauses, leases of a second, the fleet's members, the log of purges, and
    /// digests of notification IDs.
    private static let others = [
        "rl:", "rcl:", "gw:nodes", "gw:pause", "gw:lifecycle", "gw:{purges}", ":seen ", ":totals", ":deliveries",
        ":recover",
    ]

    /// Returns true for an entry that names no customer.
    private static func isOther(_ line: String) -> Bool {
        // The position of an endpoint in a stream; its events are in keys of their own.
        let isPosition = line.contains(":delivery:") && ![":held", ":dead", ":gaps"].contains { line.contains($0) }
        return isPosition || others.contains { line.contains($0) }
    }

    static func of(_ redis: RealServer) throws -> Set<String> {
        let script = """
            local found = {}
            for _, key in ipairs(redis.call('KEYS', '*')) do
                found[#found + 1] = key
                local kind, parts = redis.call('TYPE', key).ok, {}
                if kind == 'hash' then parts = redis.call('HKEYS', key)
                elseif kind == 'set' then parts = redis.call('SMEMBERS', key)
                elseif kind == 'zset' then parts = redis.call('ZRANGE', key, 0, -1)
                elseif kind == 'stream' then
                    for _, entry in ipairs(redis.call('XRANGE', key, '-', '+')) do parts[#parts + 1] = entry[1] end
                end
                for _, part in ipairs(parts) do found[#found + 1] = key .. ' ' .. part end
            end
            return found
            """
        let lines = try redis.ask("EVAL", script, "0").split(separator: "\n").map(String.init)
        return Set(lines.filter { !isOther($0) })
    }
}
