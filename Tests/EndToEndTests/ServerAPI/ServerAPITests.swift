// SPDX-License-Identifier: Apache-2.0

import AppleSimulator
import Foundation
import ReceiptForge
import Testing
import TestSupport

/// The App Store Server API with real programs: gateways, Redis, and `receipt-loadtest apple` in place of Apple.
@Suite(.serialized, .timeLimit(.patient), .sharedCorpus) struct ServerAPITests {
    private var stage: ServerAPIStage { .current }

    /// The calls for a customer with at most 20 transactions, who has a subscription.
    private static let twoCalls = [
        "production transaction_history http_200": 1, "production subscription_statuses http_200": 1,
    ]

    // MARK: - Answers

    @Test(.serverAPI(gateways: 2))
    func `an ID costs two calls, and another gateway has the answer from Redis`() async throws {
        let first = try await stage.verify(idOf: 0)
        #expect(first.isServerAPIs && first.cache == "miss" && first.states == ["active"], "\(first)")
        let second = try await stage.verify(idOf: 0, at: 1)
        #expect(second.isServerAPIs && second.cache == "shared" && second.states == ["active"], "\(second)")
        #expect(try await stage.apple.calls() == Self.twoCalls)
    }

    @Test(.serverAPI(gateways: 2)) func `signed evidence shares the answer to its customer's ID`() async throws {
        #expect(try await stage.verify(idOf: 1).cache == "miss")
        let evidence = try await stage.verify(evidenceOf: 1, at: 1)
        #expect(evidence.isServerAPIs && evidence.cache == "shared", "\(evidence)")
        #expect(try await stage.apple.calls() == Self.twoCalls)
    }

    @Test(.serverAPI) func `unknown IDs are rejected, and refused after twenty; evidence is not`() async throws {
        var answers: [HTTPAnswer] = []
        // The bucket gets a token every three seconds, so a slow machine is refused later.
        while answers.last?.status != 429, answers.count < 60 {
            answers.append(try await stage.verify(id: "29999999999990\(10 + answers.count)"))
        }
        let refusal = try #require(answers.last)
        #expect(refusal.status == 429 && answers.count > 20)
        #expect(try refusal.json["violated-policies"] as? [String] == ["unknown_ids"])
        for answer in answers.dropLast() {
            let verdict = try Verdict(answer.json)
            #expect(verdict.verdict == "rejected" && verdict.reason == "transaction_not_found", "\(verdict)")
        }
        #expect(try await stage.verify(evidenceOf: 2).isServerAPIs)
    }

    @Test(.serverAPI) func `a plugin gets the customer's history for one transaction, or a collection of its own`()
        async throws
    {
        let answer = try await stage.validate(evidenceOf: 1)
        let data = try #require(try answer.json["data"] as? [String: Any])
        #expect(data["id"] as? String == ServerAPIStage.bundleID && data["warning"] == nil)
        let collection = try #require(data["collection"] as? [[String: Any]])
        #expect(collection.contains { $0["isExpired"] as? Bool == false })
        #expect(try await stage.apple.calls() == Self.twoCalls)
        try await stage.apple.play("faults: [{api: server_api, fault: {http_status: 503}}]")
        let alone = try #require(try await stage.validate(evidenceOf: 7).json["data"] as? [String: Any])
        #expect((alone["id"] as? String)?.hasPrefix(ServerAPIStage.bundleID + ".") == true)
        #expect((alone["collection"] as? [Any])?.count == 1 && alone["warning"] as? String != nil)
    }

    // MARK: - The proxy

    @Test(.serverAPI) func `the proxy passes Apple's answers on unchanged`() async throws {
        let known = "/inApps/v2/history/" + AppleSimulator.transactionID(ofCustomer: 1)
        let history = try await stage.proxy("GET", known)
        #expect(history.status == 200 && history.headers["gateway-source"] == "app_store_server_api")
        let text = Self.withoutSignatures(history.body)
        #expect(try await Self.withoutSignatures(stage.callApple(known).body) == text)
        #expect(text.contains(#""transactionId":"2000001001000001""#))
        let unknown = "/inApps/v2/history/2999999999999999"
        let error = try await stage.proxy("GET", unknown)
        #expect(error.status == 404 && error.headers["gateway-source"] == "app_store_server_api")
        #expect(try await stage.callApple(unknown).body == error.body)
    }

    @Test(.serverAPI(gateways: 2))
    func `a change at Apple is logged, and the next verification sees it`() async throws {
        let id = AppleSimulator.transactionID(ofCustomer: 2), token = "6d3f2b0e-7c0e-4c57-9a8e-0c6a1f9f1a10"
        for node in [0, 1, 0, 1] { #expect(try await stage.verify(idOf: 2, at: node).isServerAPIs) }
        let change = try await stage.proxy(
            "PUT", "/inApps/v1/transactions/\(id)/appAccountToken", body: #"{"appAccountToken":"\#(token)"}"#)
        #expect(change.status == 200 && change.headers["gateway-source"] == "app_store_server_api")
        let next = try await stage.verify(id: id)
        #expect(try Verdict(next.json).cache == "miss")
        #expect(String(decoding: next.body, as: UTF8.self).contains(token))
        try await eventually("the other gateway is told of the purge") {
            let answer = try await stage.verify(id: id, at: 1)
            return String(decoding: answer.body, as: UTF8.self).contains(token)
        }
        let line = try #require(try await stage.gateways[0].complete("Change requested of Apple").first)
        let expected = [
            "level": "notice", "client": "shop-backend", "operation": "set_app_account_token",
            "environment": "production", "bundle_id": ServerAPIStage.bundleID, "outcome": "answered",
            "purge": "done",
        ]
        for (name, value) in expected { #expect(line[name] as? String == value, "\(name)") }
        #expect(line["http_status"] as? Int == 200 && !"\(line)".contains(id) && !"\(line)".contains(token))
    }

    // MARK: - Failures

    @Test(.serverAPI(isKeyAccepted: false)) func `a key that Apple rejects pauses until it is replaced`() async throws {
        let gateway = stage.gateways[0], rejected = "server_api_key_rejected"
        #expect(try await stage.verify(evidenceOf: 3).isLabelled(rejected))
        // Evidence names its environment; an ID does not, so it is looked up at the other host, too.
        for _ in 0..<2 { #expect(try await stage.verify(idOf: 4).isUndecided(rejected)) }
        #expect(try await stage.verify(evidenceOf: 5).isLabelled(rejected))
        let rejections = [
            "production transaction_history http_401": 1, "sandbox transaction_history http_401": 1,
        ]
        #expect(try await stage.apple.calls() == rejections)
        let series =
            #"server_api_key_paused{key_id="\#(stage.appleKey.keyID)",bundle_id="\#(ServerAPIStage.bundleID)"}"#
        #expect(try await Scrape(gateway)[series] == 1)
        try await stage.replaceKey()
        let next = try await stage.verify(evidenceOf: 3)
        #expect(next.isServerAPIs && next.cache == "miss", "\(next)")
        #expect(try await stage.verify(idOf: 4).isServerAPIs)
        let scrape = try await Scrape(gateway)
        #expect(scrape[series] == nil)
        let errors = try await gateway.complete("Apple rejects a key").filter { $0["level"] as? String == "error" }
        #expect(errors.map { $0["upstream"] as? String } == ["production", "sandbox"], "\(errors)")
    }

    @Test(.serverAPI)
    func `while Apple fails, evidence and cached answers hold, and other IDs are undecided`() async throws {
        #expect(try await stage.verify(idOf: 6).isServerAPIs)
        try await stage.apple.play("faults: [{api: server_api, fault: {http_status: 503}}]")
        #expect(try await stage.verify(evidenceOf: 7).isLabelled("upstream_server_error"))
        #expect(try await stage.verify(idOf: 8).isUndecided("upstream_server_error"))
        #expect(try await stage.verify(idOf: 6).isServerAPIs)
        try await stage.apple.play("{}")
        #expect(try await stage.verify(evidenceOf: 7).isServerAPIs)
    }

    /// Returns a body of Apple with the claims in place of each JWS, and without the time of signing: Apple signs every
    /// answer anew.
    private static func withoutSignatures(_ body: Data) -> String {
        String(decoding: body, as: UTF8.self)
            .replacing(/eyJ[\w-]+\.([\w-]+)\.[\w-]+/) { jws in
                let base64 = jws.1.replacing("-", with: "+").replacing("_", with: "/")
                let padding = String(repeating: "=", count: (4 - base64.count % 4) % 4)
                return Data(base64Encoded: String(base64) + padding).map { String(decoding: $0, as: UTF8.self) }
                    ?? "(no payload)"
            }
            .replacing(/"signedDate":\d+/, with: "")
    }
}

extension RunningGateway {
    /// Stops the gateway, and returns all lines of its log with messages that begin with this text.
    fileprivate func complete(_ message: String) async throws -> [[String: Any]] {
        #expect(await stop() == 0)
        try await eventually("the log is complete") { transcript.isComplete }
        return transcript.lines
            .compactMap { try? JSONSerialization.jsonObject(with: Data($0.utf8)) as? [String: Any] }
            .filter { ($0["message"] as? String)?.hasPrefix(message) == true }
    }
}
