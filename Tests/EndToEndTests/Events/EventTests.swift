// SPDX-License-Identifier: Apache-2.0

import AppleSimulator
import Foundation
import Receipts
import Testing
import TestSupport

@testable import LoadTest

/// Events of real gateways: what Apple posts comes out by webhook, by page and by stream.
@Suite(.serialized, .timeLimit(.patient)) struct EventTests {
    @Test func `a purchase's story arrives by webhook, by page and by stream, with the same IDs`() async throws {
        try await EventStage.run(customers: 1, [.init(name: "shop")]) { stage in
            let story = [
                ("SUBSCRIBED", "INITIAL_BUY", "subscription.started"), ("DID_RENEW", nil, "subscription.renewed"),
                ("DID_CHANGE_RENEWAL_STATUS", "AUTO_RENEW_DISABLED", "subscription.renewal_disabled"),
                ("REFUND", nil, "subscription.refunded"),
            ]
            for (type, subtype, event) in story {
                try stage.fleet.notify(type, subtype, about: 0..<1)
                try await eventually("\(event) is delivered") {
                    try stage.events(at: "shop").contains { $0["type"] as? String == event }
                }
            }
            let delivered = try stage.events(at: "shop"), pulled = try await stage.pull()
            let types = delivered.compactMap { $0["type"] as? String }
            #expect(types.filter { type in story.contains { $0.2 == type } } == story.map(\.2), "\(types)")
            // The first delivery of each; a copy may follow it.
            var seen: Set<String> = []
            let ids = delivered.compactMap { $0["id"] as? String }.filter { seen.insert($0).inserted }
            #expect(ids == pulled.compactMap { $0["id"] as? String })
            for (event, other) in zip(pulled, delivered) where event["id"] as? String == other["id"] as? String {
                #expect(event as NSDictionary == other as NSDictionary)
            }
            for node in stage.fleet.nodes.indices {
                try await eventually("node \(node) streams all events") {
                    let stream = try await stage.stream(at: node, for: .seconds(2))
                    return ids.allSatisfy { stream.contains(#""id":"\#($0)""#) }
                }
            }
            try stage.expectLog(try await stage.log(), at: "shop")
        }
    }

    @Test func `a client sees the events of its own apps only`() async throws {
        try await EventStage.run(customers: 3, [.init(name: "shop")]) { stage in
            try stage.fleet.notify("DID_RENEW", about: 0..<3)
            try await stage.expect(try await Self.written(3, by: stage), at: "shop")
            let stranger = stage.fleet.clients.strangersKey.text
            #expect(try await stage.pull(key: stranger).isEmpty)
            let foreign = try await stage.page(key: stranger, "bundle_id=\(NotificationFleet.bundleID)")
            #expect(foreign.status == 403, "\(String(decoding: foreign.body, as: UTF8.self))")
            let next = try #require(try await stage.page("limit=1").json["next"] as? String)
            #expect(try await stage.page(key: stranger, "after=\(next)").status == 400)
            #expect(try await stage.page(key: "rgk_unknown", "limit=1").status == 401)
        }
    }

    @Test func `copies and repeated notifications make one event`() async throws {
        try await EventStage.run(customers: 5, [.init(name: "shop")]) { stage in
            try stage.fleet.notify("DID_RENEW", about: 0..<5, copies: 5)
            try await eventually("all copies are acknowledged") {
                stage.fleet.attempts.succeeded == 25 && stage.fleet.isDelivered
            }
            let count = try await Self.written(5, by: stage)
            try await stage.expect(count, at: "shop")
            let pulled = try await stage.pull(limit: 2).compactMap { $0["id"] as? String }
            #expect(pulled.count == count && Set(pulled).count == count)
        }
    }

    @Test func `Apple's body is relayed byte for byte`() async throws {
        let endpoints = [EventStage.Endpoint(name: "raw", content: .relay), .init(name: "shop")]
        try await EventStage.run(customers: 1, endpoints) { stage in
            let now = Timestamp.now
            let payload = stage.subscription(
                "2000000777000001", endingAt: now.advanced(by: .seconds(3600)), signedAt: now)
            // Apple does not write it like this: a copy that is parsed and written again would differ.
            let body = Array("{ \"unknown\" : [1.0, \"\\u00e9\"],\n\t\"signedPayload\" : \"\(payload)\"\r\n}\n".utf8)
            try await stage.post(body)
            try await stage.expect(1, at: "raw")
            let delivery = try #require(try stage.endpoint("raw").deliveries.first)
            #expect(delivery.body == body)
            #expect(delivery.headers["content-type"] == "application/json")
            #expect(!delivery.headers.keys.contains { $0.hasPrefix("ce-") })
            try await eventually("the event is delivered") { try stage.counts(of: "shop").distinct >= 1 }
        }
    }

    @Test func `a period that ends without a notification makes an event, also after a restart`() async throws {
        // The shortest delay that the configuration accepts.
        let settings = ["GATEWAY_EVENTS_EXPIRY_DELAY": "60s"]
        try await EventStage.run(customers: 1, [.init(name: "shop")], settings: settings) { stage in
            // The end counts twenty seconds from now.
            let end = Timestamp.now.advanced(by: .seconds(-40))
            let payload = stage.subscription(
                "2000000777000002", endingAt: end, signedAt: end.advanced(by: .seconds(-60)))
            try await stage.post(Array(#"{"signedPayload":"\#(payload)"}"#.utf8))
            try await eventually("the subscription is known") {
                try stage.events(at: "shop").contains { $0["type"] as? String == "subscription.started" }
            }
            for node in stage.fleet.nodes {
                try await node.kill()
                try await node.start()
            }
            try await eventually("the end is an event") {
                try stage.events(at: "shop").contains { $0["type"] as? String == "subscription.expired" }
            }
            // Each node has the schedule; the event is one.
            let expired = try await stage.pull("&types=subscription.expired")
            #expect(expired.count == 1)
        }
    }

    /// Waits until the fleet has applied this many notifications, and returns the number of events in the log.
    static func written(_ notifications: Int, by stage: EventStage) async throws -> Int {
        try await eventually("\(notifications) notifications are applied") {
            try await stage.fleet.sum("notifications_applied_total") == Double(notifications)
        }
        let count = try await stage.pull().count
        #expect(count >= notifications)
        return count
    }
}
