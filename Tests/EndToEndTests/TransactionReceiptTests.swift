// SPDX-License-Identifier: Apache-2.0

import AppleSimulator
import Foundation
import RealCorpus
import ReceiptForge
import Testing
import TestSupport

/// Transaction receipts (iOS 6) of the real binary, with a simulated Apple and without.
@Suite(.timeLimit(.patient)) struct TransactionReceiptTests {
    private var stage: Stage { .current }

    /// Runs a test with a gateway that knows the intermediates of the sample's root.
    private func withIntermediates(
        _ scenario: String = "", _ settings: [String: String] = [:], _ test: (Stage) async throws -> Void
    ) async throws {
        let folder = try ScratchFolder()
        let file = try folder.write(Sample.pki.intermediate.pem, to: "intermediates.pem")
        try await withStage(scenario, settings.merging(["GATEWAY_TRUST_INTERMEDIATES": file]) { $1 }, test)
        withExtendedLifetime(folder) {}
    }

    private func states(_ json: [String: Any]) -> [String] {
        (json["subscriptions"] as? [[String: Any]] ?? []).compactMap { $0["state"] as? String }
    }

    // MARK: - With Apple

    @Test(arguments: ["auto", "apple"])
    func `Apple confirms an active subscription, and names the environment`(mode: String) async throws {
        try await withIntermediates { stage in
            let receipt = Sample.transactionReceipt(endingAfterDays: 5)
            for cache in ["miss", "near"] {
                let json = try await stage.gateway.verify(receipt, ["mode": mode, "latest_receipt": true]).json
                #expect(try Verdict(json).isApples && Verdict(json).cache == cache)
                #expect(json["environment"] as? String == "Production" && states(json) == ["active"])
                #expect(json["bundle_id"] as? String == Sample.bundleID && json["latest_receipt"] is String)
            }
            let other = try await stage.gateway.verify(receipt, ["mode": mode, "max_age": 3600]).json
            #expect(try Verdict(other).cache == "shared" && other["environment"] as? String == "Production")
            #expect(stage.apple.stats.production == 1)
        }
    }

    @Test func `Apple's answer passes through with all its members`() async throws {
        try await withIntermediates { stage in
            let active = try await stage.gateway.verifyReceipt(
                ["receipt-data": Sample.transactionReceipt(endingAfterDays: 5), "exclude-old-transactions": true])
            #expect(active.headers["gateway-source"] == "apple" && active.headers["gateway-degraded"] == nil)
            let json = try active.json
            #expect(json["status"] as? Int == 0 && json["auto_renew_status"] as? Int == 1)
            #expect(json["latest_receipt_info"] is [String: Any] && json["latest_receipt"] is String)
            let ended = try await stage.gateway.verifyReceipt(
                ["receipt-data": Sample.transactionReceipt(endingAfterDays: -3)])
            #expect(try ended.status == 200 && ended.json["status"] as? Int == 21006)
            #expect(try ended.json["latest_expired_receipt_info"] is [String: Any])
            #expect(try ended.headers["gateway-source"] == "apple" && ended.json["expiration_intent"] != nil)
        }
    }

    @Test func `Apple refers to the sandbox, and reads a copy with another unsigned environment again`() async throws {
        try await withIntermediates { stage in
            let receipt = Sample.transactionReceipt(endingAfterDays: 5, environment: "Sandbox")
            let json = try await stage.gateway.verify(receipt).json
            #expect(try Verdict(json).isApples && json["environment"] as? String == "Sandbox")
            #expect(stage.apple.stats.production == 1 && stage.apple.stats.sandbox == 1)
            // Apple reads what is not signed too, so a changed copy is another request.
            let renamed = Sample.transactionReceipt(endingAfterDays: 5, environment: "Production")
            let again = try await stage.gateway.verify(renamed).json
            #expect(try Verdict(again).cache == "miss")
            #expect(stage.apple.stats.production == 2)
            let known = try await stage.gateway.verify(receipt, ["max_age": 3600]).json
            #expect(try Verdict(known).cache == "shared" && known["environment"] as? String == "Sandbox")
        }
    }

    @Test func `a renewal that only Apple knows counts, and its receipt is signed`() async throws {
        try await withIntermediates("stories: {default: renewed}") { stage in
            let receipt = Sample.transactionReceipt(endingAfterDays: -3)
            let json = try await stage.gateway.verify(receipt, ["latest_receipt": true]).json
            #expect(try Verdict(json).isApples && states(json) == ["active"])
            let latest = try #require(json["latest_receipt"] as? String)
            #expect(latest != receipt)
            let series = #"upstream_unproven_answers_total{api="verify_receipt",environment="production"}"#
            #expect(try await stage.metric(series) == 0)
            // The client sends that one from now on.
            let next = try await stage.gateway.verify(latest, ["mode": "local"]).json
            #expect(next["verdict"] as? String == "genuine" && states(next) == ["active"])
        }
    }

    @Test(arguments: ["{tampered: expires_2099}", "{tampered: other_bundle_id}", "{latest_receipt: of_other_app}"])
    func `an answer that contradicts what Apple signed is not used`(fault: String) async throws {
        try await withIntermediates("faults: [{fault: \(fault)}]") { stage in
            let verdict = try await stage.verify(Sample.transactionReceipt(endingAfterDays: 5))
            #expect(verdict.isLabelled("upstream_contradiction") && verdict.states == ["active"], "\(verdict)")
        }
    }

    // MARK: - Without Apple

    @Test(arguments: ["html", "reset", "{http_status: 503}"])
    func `without Apple the receipt answers, without an environment`(fault: String) async throws {
        try await withIntermediates("faults: [{fault: \(fault)}]") { stage in
            for (days, status, state) in [(5, 0, "active"), (-3, 21006, "expired")] as [(Int64, Int, String)] {
                let receipt = Sample.transactionReceipt(endingAfterDays: days)
                let answer = try await stage.gateway.verifyReceipt(["receipt-data": receipt])
                #expect(try answer.status == 200 && answer.json["status"] as? Int == status)
                #expect(answer.headers["gateway-source"] == "local" && answer.headers["gateway-degraded"] != nil)
                let json = try await stage.gateway.verify(receipt, ["latest_receipt": true]).json
                #expect(try Verdict(json).isLabelled && json["environment"] == nil && states(json) == [state])
                #expect(json["latest_receipt"] as? String == receipt)
                let apple = try await stage.verify(receipt, mode: "apple")
                #expect(apple.verdict == "undecided" && apple.reason == "upstream_did_not_answer")
            }
        }
    }

    @Test(.stage) func `without the intermediate a receipt is rejected and never reaches Apple`() async throws {
        let verdict = try await stage.verify(Sample.transactionReceipt(endingAfterDays: 5))
        #expect(verdict.verdict == "rejected" && verdict.reason == "issuer_certificate_missing", "\(verdict)")
        #expect(stage.apple.stats.production == 0)
    }

    // MARK: - Apple's own

    /// In base64 it begins as a JWS does.
    @Test(.enabled(if: RealCorpus.folder(besideReceipts: "cases") != nil, "no real receipts"))
    func `a real receipt on one line is no JWS`() async throws {
        let folder = try #require(RealCorpus.folder(besideReceipts: "cases"))
        let names = try FileManager.default.contentsOfDirectory(atPath: folder.path).filter {
            $0.hasSuffix("_compact.b64")
        }
        let gateway = try await RunningGateway()
        #expect(!names.isEmpty)
        for name in names {
            let text = try String(contentsOf: folder.appending(path: name), encoding: .utf8)
            let json = try await gateway.verify(text, ["mode": "local"]).json
            let transactions = json["transactions"] as? [[String: Any]]
            #expect(json["verdict"] as? String == "genuine" && transactions?.count == 1, "\(name)")
            let answer = try await gateway.verifyReceipt(["receipt-data": text])
            #expect(try answer.status == 200 && answer.json["status"] as? Int == 0, "\(name)")
        }
    }

    @Test(.enabled(if: RealCorpus.folder(besideReceipts: "transaction-receipts") != nil, "no real receipts"))
    func `real receipts with weak keys are rejected, unless the operator accepts them`() async throws {
        let receipts = try RealReceipts.transactionReceipts()
        #expect(!receipts.isEmpty)
        let usual = try await RunningGateway()
        for receipt in receipts {
            let json = try await usual.verify(receipt).json
            #expect(json["verdict"] as? String == "rejected" && json["reason"] as? String == "key_too_small")
            let answer = try await usual.verifyReceipt(["receipt-data": receipt])
            #expect(try answer.status == 200 && answer.json["status"] as? Int == 21003)
            #expect(answer.headers["gateway-reason"] == "key_too_small")
        }
        try await withStage("", ["GATEWAY_TRUST_TRANSACTION_RECEIPTS_V2": "true"]) { stage in
            for (scenario, source) in [("", "apple"), ("faults: [{fault: html}]", "local")] {
                try stage.play(scenario)
                try await expectGenuine(receipts, from: source, stage.gateway)
            }
        }
    }

    /// Sends real receipts: a subscription among them has ended.
    private func expectGenuine(_ receipts: [String], from source: String, _ gateway: RunningGateway) async throws {
        var statuses: Set<Int> = []
        for receipt in receipts {
            // The mode `local` does not read Apple's earlier answers.
            let mode = source == "apple" ? "apple" : "local"
            let json = try await gateway.verify(receipt, ["mode": mode]).json
            let verdict = try Verdict(json)
            #expect(verdict.verdict == "genuine" && verdict.source == source, "\(verdict)")
            #expect(json["environment"] as? String == (source == "apple" ? "Sandbox" : nil))
            let answer = try await gateway.verifyReceipt(["receipt-data": receipt])
            let isSubscription = !verdict.subscriptions.isEmpty
            #expect(try answer.json["status"] as? Int == (isSubscription ? 21006 : 0))
            statuses.insert(try #require(try answer.json["status"] as? Int))
        }
        #expect(statuses == [0, 21006])
    }
}
