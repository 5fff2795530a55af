// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import TestSupport

/// A deferred verification as a client receives it.
struct ReceivedJob: Sendable, CustomStringConvertible {
    let id: String
    let status: String
    let attempts: Int
    let isDurable: Bool
    /// The answer so far, or at the end.
    let verdict: Verdict
    /// The member `answer`, with its members in order.
    let answer: String

    init(_ json: [String: Any]) throws {
        id = try #require(json["id"] as? String, "\(json)")
        status = try #require(json["status"] as? String, "\(json)")
        attempts = try #require(json["attempts"] as? Int, "\(json)")
        isDurable = try #require(json["durable"] as? Bool, "\(json)")
        let answer = try #require(json["answer"] as? [String: Any], "\(json)")
        verdict = try Verdict(answer)
        self.answer = String(decoding: try Data(json: answer), as: UTF8.self)
        for name in ["created_at", "deadline"] { #expect(json[name] is String && json[name + "_ms"] is Int, "\(json)") }
        #expect((json["next_attempt_at"] != nil) == (status == "waiting"), "\(json)")
    }

    var description: String { "\(id) \(status) after \(attempts) attempts: \(verdict)" }
}

extension RunningGateway {
    /// Sends a body to `/v1/verify`.
    /// - Parameters:
    ///   - prefer: the field `Prefer`; nil for none.
    ///   - idempotencyKey: the field `Idempotency-Key`.
    func requestVerdict(
        _ body: [String: Any], prefer: String? = "respond-async", idempotencyKey: String? = nil, key: String? = nil
    ) async throws -> HTTPAnswer {
        var fields: [String: String] = [:]
        fields["Prefer"] = prefer
        fields["Idempotency-Key"] = idempotencyKey
        return try await post(body, key: key, fields: fields)
    }

    /// Sends a body whose verification must be deferred, and returns its job.
    func deferred(
        _ body: [String: Any], prefer: String? = "respond-async", idempotencyKey: String? = nil, key: String? = nil
    ) async throws -> ReceivedJob {
        let answer = try await requestVerdict(body, prefer: prefer, idempotencyKey: idempotencyKey, key: key)
        try #require(answer.status == 202, "\(answer.status) \(String(decoding: answer.body, as: UTF8.self))")
        let job = try ReceivedJob(answer.json)
        #expect(answer.headers["location"] == "/v1/verifications/\(job.id)")
        #expect(answer.headers["preference-applied"] == (prefer == nil ? nil : "respond-async"))
        #expect(Int(answer.headers["retry-after"] ?? "") ?? 0 >= 1, "\(answer.headers)")
        #expect(job.status == "waiting", "\(job)")
        return job
    }

    /// Requests a job.
    /// - Parameter seconds: the time for which the gateway waits for its end.
    func job(_ id: String, wait seconds: Int? = nil, key: String? = nil) async throws -> HTTPAnswer {
        let query = seconds.map { "?wait=\($0)" } ?? ""
        return try await get("/v1/verifications/\(id)\(query)", port: dataPort, key: key)
    }

    /// Waits for the end of a job by long polls, and returns it.
    func end(of id: String, key: String? = nil) async throws -> ReceivedJob {
        let end = ContinuousClock.now + Patience.forEvent
        while true {
            let answer = try await job(id, wait: 20, key: key)
            let text = String(decoding: answer.body, as: UTF8.self)
            if answer.status == 200 { return try ReceivedJob(answer.json) }
            try #require([202, 503].contains(answer.status) && ContinuousClock.now < end, "\(answer.status) \(text)")
            // On a busy machine Redis may answer too late: the client asks again.
            if answer.status == 503 { try await Task.sleep(for: .milliseconds(100)) }
        }
    }
}

extension EventStage {
    /// A fault of Apple for every verification.
    static let outage = "{api: server_api, fault: {http_status: 503}}"

    /// The API key of the client with the app.
    var key: String { fleet.clients.key.text }

    /// Returns the body that requires Apple's answer to a customer's evidence.
    static func body(_ evidence: String) -> [String: Any] { ["signed_transactions": [evidence], "mode": "apple"] }

    /// Defers a verification for each customer, at the nodes in turn.
    func deferred(_ evidence: [Int: String]) async throws -> [ReceivedJob] {
        var jobs: [ReceivedJob] = []
        for (customer, text) in evidence.sorted(by: { $0.key < $1.key }) {
            let node = try fleet.nodes[customer % fleet.nodes.count].running
            jobs.append(try await node.deferred(Self.body(text), key: key))
        }
        return jobs
    }

    /// Expects that each job ended once: the same answer of Apple at each node, one event in the log, and one delivery.
    func expectEnded(_ jobs: [ReceivedJob], at endpoint: String) async throws {
        for job in jobs {
            var answers: Set<String> = []
            for node in fleet.nodes {
                let ended = try await node.running.end(of: job.id, key: key)
                #expect(ended.status == "done" && ended.verdict.verdict == "genuine", "\(ended)")
                #expect(ended.verdict.source == "app_store_server_api", "\(ended)")
                answers.insert(ended.answer)
            }
            #expect(answers.count == 1, "\(answers)")
        }
        let ids = Set(jobs.map(\.id))
        try await eventually("all are in the log and delivered") {
            let delivered = try Self.completions(of: events(at: endpoint)).keys
            return try await Self.completions(of: pull()).keys.count == ids.count && delivered.count == ids.count
        }
        for completions in [Self.completions(of: try await pull()), Self.completions(of: try events(at: endpoint))] {
            #expect(Set(completions.keys) == ids)
            // A copy has the same ID.
            #expect(completions.values.allSatisfy { $0.count == 1 }, "\(completions)")
        }
    }

    /// Returns the IDs of the events `verification.completed` by their jobs.
    static func completions(of events: [[String: Any]]) -> [String: Set<String>] {
        events.filter { $0["type"] as? String == "verification.completed" }.reduce(into: [:]) { ids, event in
            let data = event["data"] as? [String: Any]
            ids[data?["verification_id"] as? String ?? "", default: []].insert(event["id"] as? String ?? "")
        }
    }
}
