// SPDX-License-Identifier: Apache-2.0

import ReceiptForge
import Receipts
import Testing

@testable import AppleSimulator

/// The faults of scenarios in answers of the Server API.
struct ServerAPIFaultTests {
    private func reply(_ fault: String, _ path: String = "v1/transactions/1000") throws -> APIReply {
        let store = try TestStore("faults: [{fault: \(fault), api: server_api}]", knowing: Samples.receipt())
        return try store.call(path)
    }

    @Test(arguments: [
        ("{http_status: 503}", 503, "http_503"), ("html", 200, "html"), ("empty", 200, "empty"),
        ("truncated", 200, "truncated"), ("{compressed: gzip}", 200, "gzip"),
        ("{server_api_error: 5000001}", 500, "error_5000001"), ("{server_api_error: 4040002}", 404, "error_4040002"),
        ("{throttled: 5000}", 429, "error_4290000"),
    ])
    func `faults of both interfaces apply`(fault: String, status: Int, outcome: String) throws {
        let reply = try reply(fault)
        #expect(reply.status == status && reply.outcome == outcome)
    }

    @Test func `throttling is an error with a time in milliseconds`() throws {
        let reply = try reply("{throttled: 5000}")
        #expect(reply.errorCode == 4_290_000 && reply.headers["Retry-After"] == "1782907205000")
    }

    @Test(arguments: [("reset", "reset"), ("no_answer", "no_answer"), ("{slow_body: 9}", "slow_body")])
    func `a call can be answered with less than an answer`(fault: String, outcome: String) throws {
        let store = try TestStore("faults: [{fault: \(fault)}]")
        #expect(throws: NoAnswer.self) { try store.call("v1/transactions/1000") }
        let calls = store.store.statsWithServerAPI.serverApi.calls
        #expect(calls == ["production": ["transaction_info": [outcome: 1]]])
    }

    @Test func `a forged end is in the payload, and the signature does not cover it`() throws {
        let reply = try reply("{tampered: expires_2099}")
        let jws = try #require(reply.json["signedTransactionInfo"] as? String)
        #expect(APIReply.claims(jws)["expiresDate"] as? Int64 == 4_102_444_799_000)
        #expect(throws: ReceiptError.self) {
            try TestStore.verifier().verifyTransaction(Array(jws.utf8), at: Samples.start.timestamp)
        }
    }

    @Test func `data of another app or environment is signed`() throws {
        let (verifier, now) = (try TestStore.verifier(), Samples.start.timestamp)
        let app = try reply("{tampered: other_bundle_id}", "v2/history/1000")
        #expect(app.json["bundleId"] as? String == "com.example.other")
        let ofOtherApp = try verifier.verifyTransaction(Array(app.signed[0].utf8), at: now)
        #expect(ofOtherApp.bundleID == "com.example.other")
        let environment = try reply("wrong_environment", "v2/history/1000")
        #expect(environment.json["environment"] as? String == "Sandbox")
        let ofSandbox = try verifier.verifyTransaction(Array(environment.signed[0].utf8), at: now)
        #expect(ofSandbox.environment == .sandbox)
    }

    @Test func `a fault that passes leaves no trace in revisions`() throws {
        let store = try TestStore(
            "faults: [{fault: {tampered: other_bundle_id}, api: server_api, requests: 1}]", knowing: Samples.receipt())
        let first = try store.call("v2/history/1000")
        let second = try store.call("v2/history/1000?revision=\(first.revision)")
        #expect(first.json["bundleId"] as? String == "com.example.other" && second.transactionIDs.isEmpty)
    }

    @Test(arguments: [
        ("{fault: html}", [true, true]), ("{fault: html, api: verify_receipt}", [true, false]),
        ("{fault: html, api: server_api}", [false, true]), ("{fault: {receipt_status: 21005}}", [true, false]),
        ("{fault: {latest_receipt: missing}}", [true, false]), ("{fault: {server_api_error: 5000000}}", [false, true]),
        ("{fault: html, api: server_api, requests: 1}", [false, true]),
    ])
    func `phases apply to the interface they name`(phase: String, applies: [Bool]) throws {
        let store = try TestStore("faults: [\(phase)]")
        let verifyReceipt = store.response(to: Samples.body(Samples.receipt())).outcome
        // A receipt that verifyReceipt did not read is not known.
        let served = ["http_200", "error_4040010"]
        let isServed = served.contains(try store.call("v1/transactions/1000").outcome)
        #expect([verifyReceipt != "status_0", !isServed] == applies)
    }
}
