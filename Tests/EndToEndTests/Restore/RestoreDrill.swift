// SPDX-License-Identifier: Apache-2.0

import AppleSimulator
import Foundation
import RealServers
import Testing
import TestSupport

@testable import LoadTest

/// A fleet that lives on after its Redis was copied.
struct RestoreDrill {
    static let renewedBefore = 0..<4
    static let renewedLater = 4
    /// Its result is cached when the copy is made.
    static let refunded = 5
    static let deferredBefore = 6
    static let deferredLater = 7
    /// Renewed before the copy, erased after it.
    static let erased = 3
    /// The purchases of this customer change their account after the copy.
    static let owned = 1
    private static let customers = 8

    let stage: EventStage
    private let evidence: [Int: String]
    /// A verification that waits when the copy is made.
    private(set) var waitingJob = ""

    /// The cause of an event that a step of the drill makes. Look-ups at Apple may add other events, such as the start of a
    /// subscription.
    struct Change: Hashable {
        let type: String
        /// The beginning of the transaction IDs of one customer, who may have purchases beside the subscription.
        private let customer: Substring?

        init(_ type: String, of customer: Int) {
            self.init(type, AppleSimulator.transactionID(ofCustomer: customer))
        }

        private init(_ type: String, _ transactionID: String?) {
            (self.type, customer) = (type, transactionID?.dropLast(6))
        }

        fileprivate init?(_ event: [String: Any]) {
            guard let type = event["type"] as? String, let data = event["data"] as? [String: Any] else { return nil }
            self.init(type, data["original_transaction_id"] as? String)
        }
    }

    private static let notifiedBefore = Set(renewedBefore.map { Change("subscription.renewed", of: $0) })
    private static let notifiedLater: Set = [
        Change("subscription.renewed", of: renewedLater), Change("subscription.refunded", of: refunded),
    ]
    /// The changes after the copy whose events can be made again.
    private static let repeatable = notifiedLater.union([Change("verification.completed", of: deferredBefore)])
    private static let endOfLaterJob = Change("verification.completed", of: deferredLater)

    /// The contents of Redis, and the position of a reader, before Redis ended. Events are IDs.
    struct Known {
        /// The position of a reader that has read everything.
        let cursor: String
        let log: Set<String>
        /// The events after the copy that can be made again: the renewal, the refund, and the end of the verification that
        /// waited.
        let later: Set<String>
        let ofNotifications: Set<String>
        /// A verification that was deferred after the copy.
        let laterJob: String
    }

    /// Events by their changes, each with all IDs that it came with.
    struct Events: CustomStringConvertible {
        private var byChange: [Change: Set<String>] = [:]
        private(set) var ids: Set<String> = []
        /// True if the gateway says that the log has lost events, and cannot count them.
        fileprivate(set) var isIncomplete = false
        var description: String { "\(byChange), incomplete: \(isIncomplete)" }

        fileprivate init(_ events: [[String: Any]]) {
            for event in events {
                guard let id = event["id"] as? String, let change = Change(event) else { continue }
                byChange[change, default: []].insert(id)
                ids.insert(id)
            }
        }

        func has(_ changes: Set<Change>) -> Bool { changes.allSatisfy { byChange[$0] != nil } }

        func ids(of changes: Set<Change>) -> Set<String> {
            changes.reduce(into: Set()) { $0.formUnion(byChange[$1] ?? []) }
        }
    }

    /// Runs a drill on a fleet of two nodes with an endpoint, which lives until the copy.
    /// - Parameter options: directives of Redis.
    static func run(_ options: [String] = [], _ test: (RestoreDrill) async throws -> Void) async throws {
        let rights = "    may: [ownership, erase]\n"
        try await EventStage.run(
            customers: customers, [.init(name: "shop")], webhooks: rights, redis: options
        ) { stage in
            var drill = RestoreDrill(stage: stage, evidence: try await stage.fleet.evidence(of: 0..<customers))
            drill.waitingJob = try await drill.liveBeforeTheCopy()
            try await test(drill)
        }
    }
}

// MARK: - The life of the fleet

extension RestoreDrill {
    /// - Returns: a verification that waits.
    private func liveBeforeTheCopy() async throws -> String {
        try stage.fleet.notify("DID_RENEW", about: Self.renewedBefore)
        #expect(try await ownership(of: Self.owned, by: "alice") == "first_seen")
        #expect(try await state(of: Self.refunded) == "active")
        try await settle(Self.notifiedBefore)
        try stage.fleet.play(EventStage.outage)
        return try await deferred(Self.deferredBefore)
    }

    func liveAfterTheCopy() async throws -> Known {
        try stage.fleet.play()
        _ = try await stage.fleet.nodes[1].running.end(of: waitingJob, key: stage.key)
        try stage.fleet.play(EventStage.outage)
        let laterJob = try await deferred(Self.deferredLater)
        try stage.fleet.play()
        _ = try await stage.fleet.nodes[1].running.end(of: laterJob, key: stage.key)
        try stage.fleet.notify("DID_RENEW", about: Self.renewedLater..<Self.renewedLater + 1)
        try stage.fleet.notify("REFUND", about: Self.refunded..<Self.refunded + 1)
        try await transfer(Self.owned, to: "bob")
        let owner = try await ownership(of: Self.owned, by: "bob")
        #expect(owner == "same", "\(owner ?? "unknown")")
        try await settle(Self.repeatable.union([Self.endOfLaterJob]))
        #expect(try await state(of: Self.refunded) == "revoked")
        let all = try await log()
        #expect(try await erased(Self.erased) > 0)
        return Known(
            cursor: try await cursor(), log: try await log().ids, later: all.ids(of: Self.repeatable),
            ofNotifications: all.ids(of: Self.notifiedBefore.union(Self.notifiedLater)), laterJob: laterJob)
    }

    /// Waits until the log has the events of these changes, and they are delivered.
    private func settle(_ changes: Set<Change>) async throws {
        try await eventually("\(changes.count) events are delivered") {
            let log = try await log()
            return try log.has(changes) && delivered().ids.isSuperset(of: log.ids(of: changes))
        }
    }
}

// MARK: - Redis

extension RestoreDrill {
    /// Writes an RDB file, and returns a copy of it.
    func copy() throws -> URL {
        try stage.redis.ask("SAVE")
        let copy = stage.redis.folder.appending(path: "copy.rdb")
        try FileManager.default.copyItem(at: file, to: copy)
        return copy
    }

    private var file: URL { stage.redis.folder.appending(path: "dump.rdb") }

    /// Stops the nodes, and starts Redis with a copy, as docs/redis.md says.
    func restore(_ copy: URL) async throws {
        for node in stage.fleet.nodes { #expect(await node.stop() == 0) }
        stage.redis.kill()
        try FileManager.default.removeItem(at: file)
        try FileManager.default.copyItem(at: copy, to: file)
        try await stage.redis.start()
        try stage.redis.ask("DEL", "gw:{purges}:log", "gw:{purges}:head")
    }

    /// Waits until every node uses Redis again.
    func becomesReadable() async throws {
        for node in stage.fleet.nodes.indices {
            try await eventually("node \(node) reads events") {
                try await stage.page("limit=1", at: node).status == 200
            }
        }
    }
}

// MARK: - What is there

extension RestoreDrill {
    func log() async throws -> Events { Events(try await stage.pull()) }

    /// The events that the endpoint has received.
    func delivered() throws -> Events { Events(try stage.events(at: "shop")) }

    /// The IDs with which the endpoint has received what can be made again.
    func deliveredLater() throws -> Set<String> { try delivered().ids(of: Self.repeatable) }

    func repeatedDeliveries() throws -> Int { try stage.counts(of: "shop").duplicates }

    private func cursor() async throws -> String {
        try #require(try await stage.page("limit=1000").json["next"] as? String)
    }

    /// Reads the events after a cursor, as a reader does that has stored it.
    func read(after cursor: String) async throws -> Events {
        let after = cursor.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? cursor
        let answer = try await stage.page("limit=1000&after=\(after)", at: 1)
        try #require(answer.status == 200, "\(String(decoding: answer.body, as: UTF8.self))")
        let json = try answer.json
        var events = Events(try #require(json["events"] as? [[String: Any]]))
        let missed = try #require(json["missed"] as? [[String: Any]])
        #expect(missed.allSatisfy { $0["count"] is NSNull }, "\(missed)")
        events.isIncomplete = !missed.isEmpty
        return events
    }

    /// Returns the state of a customer's subscription by Apple's answer, cached or new; the same at each node.
    func state(of customer: Int) async throws -> String? {
        var states: Set<String?> = []
        for node in stage.fleet.nodes.indices {
            states.insert(try Verdict(try await answer(about: customer, at: node)).states.first)
        }
        #expect(states.count == 1, "\(states)")
        return states.first ?? nil
    }

    func ownership(of customer: Int, by account: String) async throws -> String? {
        try await answer(about: customer, ["account": account])["ownership"] as? String
    }

    private func answer(
        about customer: Int, _ more: [String: Any] = [:], at node: Int = 0
    ) async throws -> [String: Any] {
        let body = body(customer).merging(more) { $1 }
        let answer = try await stage.fleet.nodes[node].running.requestVerdict(body, prefer: nil, key: stage.key)
        try #require(answer.status == 200, "\(String(decoding: answer.body, as: UTF8.self))")
        return try answer.json
    }

    /// Binds all purchases of a customer to an account.
    private func transfer(_ customer: Int, to account: String) async throws {
        let transactions = try #require(try await answer(about: customer)["transactions"] as? [[String: Any]])
        let body = try Data(json: ["bundle_id": NotificationFleet.bundleID, "account": account])
        for id in Set(transactions.compactMap { $0["original_transaction_id"] as? String }) {
            let url = "http://127.0.0.1:\(try stage.fleet.nodes[0].running.dataPort)/v1/ownership/\(id)"
            let answer = try await HTTPCall("PUT", url: url, body: body, bearer: stage.key).answer()
            try #require((200..<300).contains(answer.status), "\(String(decoding: answer.body, as: UTF8.self))")
        }
    }

    /// Erases a customer, and returns the number of events that were deleted.
    func erased(_ customer: Int) async throws -> Int {
        let subject: [String: Any] = [
            "bundle_id": NotificationFleet.bundleID,
            "original_transaction_ids": [AppleSimulator.transactionID(ofCustomer: customer)],
        ]
        let answer = try await stage.fleet.nodes[0].running.post(subject, to: "/v1/erasures", key: stage.key)
        try #require(answer.status == 200, "\(String(decoding: answer.body, as: UTF8.self))")
        let erased = try #require(try answer.json["erased"] as? [String: Int])
        return try #require(erased["events"])
    }

    /// Returns the status of a deferred verification; nil if it is unknown.
    func status(ofJob id: String) async throws -> String? {
        let answer = try await stage.fleet.nodes[0].running.job(id, key: stage.key)
        guard answer.status != 404 else { return nil }
        return try ReceivedJob(answer.json).status
    }

    private func deferred(_ customer: Int) async throws -> String {
        try await stage.fleet.nodes[0].running.deferred(body(customer), key: stage.key).id
    }

    private func body(_ customer: Int) -> [String: Any] { EventStage.body(evidence[customer] ?? "") }
}
