// SPDX-License-Identifier: Apache-2.0

import AppleSimulator
import Foundation
import RealCorpus
import ReceiptForge
import Receipts
import Testing

/// `POST /verifyReceipt` of the real gateway, compared with a simulated Apple.
struct VerifyReceiptTests {
    private static let pki = ForgedPKI(seed: 7)
    private static let forge = FaultForge(pki: pki)
    private static let receipt = Base64Text(forge.wellFormed)

    /// A receipt as clients send it.
    private struct Base64Text {
        let text: String
        init(_ bytes: [UInt8]) { text = Data(bytes).base64EncodedString() }
    }

    /// A gateway and its Apple.
    private struct Pair {
        let apple: AppleSimulator
        let gateway: RunningGateway
        private let folder = try? ScratchFolder()

        init(_ scenario: String = "{}", _ environment: [String: String] = [:]) async throws {
            apple = try await AppleSimulator.start(.init(pki: VerifyReceiptTests.pki))
            apple.play(try Scenario(yaml: scenario))
            let root = try #require(folder).write(VerifyReceiptTests.pki.rootPEM, to: "root.pem")
            gateway = try await RunningGateway(
                [
                    "GATEWAY_APPLE_PRODUCTION_URL": apple.productionURL, "GATEWAY_APPLE_SANDBOX_URL": apple.sandboxURL,
                    "GATEWAY_TRUST_ROOTS": root,
                ].merging(environment) { $1 })
        }

        /// Returns the answer of Apple itself.
        func appleAnswer(_ body: [String: Any]) async throws -> [String: Any] {
            try await HTTPCall("POST", url: apple.sandboxURL, body: Data(json: body)).answer().json
        }
    }

    // MARK: When Apple answers

    @Test(arguments: [false, true]) func `Apple's answer passes through with all its fields`(
        excludesOld: Bool
    ) async throws {
        let pair = try await Pair()
        let question: [String: Any] = [
            "receipt-data": Self.receipt.text, "password": "secret", "exclude-old-transactions": excludesOld,
        ]
        let answer = try await pair.gateway.verifyReceipt(question)
        let original = try await pair.appleAnswer(question)
        #expect(answer.status == 200 && answer.headers["gateway-source"] == "apple")
        #expect(answer.headers["gateway-degraded"] == nil && answer.headers["age"] == "0")
        // Values that depend on the time of the request differ, everything else is the same.
        #expect(Self.timeless(try answer.json) as NSDictionary == Self.timeless(original) as NSDictionary)
        #expect(try answer.json["latest_receipt"] is String)
        #expect(pair.apple.stats.production == 1 && pair.apple.stats.sandbox == 2)
    }

    @Test func `the client's secret is used, and Apple's rejection of it reaches the client`() async throws {
        let pair = try await Pair("shared_secret: right")
        let right = try await pair.gateway.verifyReceipt(["receipt-data": Self.receipt.text, "password": "right"])
        let wrong = try await pair.gateway.verifyReceipt(["receipt-data": Self.receipt.text, "password": "wrong"])
        #expect(try right.json["status"] as? Int == 0 && wrong.json["status"] as? Int == 21004)
        // No secret, and a wrong configured one: that is not the client's fault.
        let none = try await pair.gateway.verifyReceipt(["receipt-data": Self.receipt.text])
        #expect(try none.json["status"] as? Int == 0)
        #expect(
            none.headers["gateway-source"] == "local" && none.headers["gateway-degraded"] == "shared_secret_rejected")
    }

    // MARK: When Apple does not

    @Test func `without Apple a genuine receipt is answered in Apple's form`() async throws {
        let pair = try await Pair("faults: [{fault: html}]")
        let question = ["receipt-data": Self.receipt.text, "password": "secret"]
        let answer = try await pair.gateway.verifyReceipt(question)
        #expect(answer.headers["gateway-source"] == "local")
        #expect(answer.headers["gateway-degraded"] == "upstream_unusable_answer")
        let json = try answer.json
        #expect(json["status"] as? Int == 0 && json["environment"] as? String == "Sandbox")
        pair.apple.play(.healthy)
        let original = try await pair.appleAnswer(question)
        #expect(json["receipt"] is [String: Any])
        #expect(Self.signed(json) as NSDictionary == Self.signed(original) as NSDictionary)
    }

    @Test(arguments: [false, true]) func `without Apple old transactions are left out of the latest ones alone`(
        excludesOld: Bool
    ) async throws {
        let pair = try await Pair("faults: [{fault: html}]")
        let question: [String: Any] = [
            "receipt-data": Self.receipt.text, "password": "secret", "exclude-old-transactions": excludesOld,
        ]
        let answer = try await pair.gateway.verifyReceipt(question)
        #expect(answer.headers["gateway-source"] == "local")
        pair.apple.play(.healthy)
        let (ours, apples) = (try answer.json, try await pair.appleAnswer(question))
        #expect(Self.transactions(ours["receipt"], "in_app") == Self.transactions(apples["receipt"], "in_app"))
        #expect(Self.transactions(ours, "latest_receipt_info") == Self.transactions(apples, "latest_receipt_info"))
        #expect(Self.transactions(ours["receipt"], "in_app").count == 2)
        #expect(Self.transactions(ours, "latest_receipt_info").count == (excludesOld ? 1 : 2))
        #expect(ours["latest_receipt"] as? String == Self.receipt.text)
        #expect(Set(apples.keys).subtracting(ours.keys) == ["pending_renewal_info"])
    }

    @Test func `without Apple the latest receipt is the one that Apple sent earlier`() async throws {
        let pair = try await Pair()
        func ask(password: String, excludesOld: Bool) async throws -> (source: String?, latestReceipt: String?) {
            let answer = try await pair.gateway.verifyReceipt([
                "receipt-data": Self.receipt.text, "password": password, "exclude-old-transactions": excludesOld,
            ])
            return (answer.headers["gateway-source"], try answer.json["latest_receipt"] as? String)
        }
        let known = try await ask(password: "one", excludesOld: false)
        #expect(known.source == "apple" && known.latestReceipt != Self.receipt.text)
        pair.apple.play(try Scenario(yaml: "faults: [{fault: html}]"))
        let earlier = try await ask(password: "one", excludesOld: true)
        #expect(earlier.source == "local" && earlier.latestReceipt == known.latestReceipt)
        // Apple's answer for one password is not used for another.
        let stranger = try await ask(password: "two", excludesOld: true)
        #expect(stranger.source == "local" && stranger.latestReceipt == Self.receipt.text)
    }

    @Test(.enabled(if: RealCorpus.receipts != nil, "set RECEIPT_CORPUS to a folder of real receipts"))
    func `real receipts are answered as by Apple, except what only Apple knows`() async throws {
        let gateway = try await RunningGateway()
        let pairs = try RealReceipts.answered()
        for (receipt, apples) in pairs {
            let ours = try await gateway.verifyReceipt(["receipt-data": receipt]).json
            #expect(ours["status"] as? Int == apples["status"] as? Int)
            #expect(ours["environment"] as? String == apples["environment"] as? String)
            #expect(Self.signed(ours) as NSDictionary == Self.signed(apples) as NSDictionary)
            let known = Set(Self.transactions(ours, "latest_receipt_info"))
            #expect(known.isSubset(of: Self.transactions(apples, "latest_receipt_info")))
            #expect(Set(apples.keys).subtracting(ours.keys).isSubset(of: ["pending_renewal_info"]))
            #expect(Set(ours.keys).isSubset(of: apples.keys))
        }
        #expect(!pairs.isEmpty)
    }

    @Test func `a forged receipt gets Apple's status and the rule, and never reaches Apple`() async throws {
        let pair = try await Pair()
        for (fault, status) in [
            ("signature-bit-flipped", 21003), ("leaf-without-marker", 21003), ("trailing-byte", 21002),
        ] {
            guard case .der(let bytes) = Self.forge.evidence(with: try #require(ReceiptFault(named: fault))) else {
                continue
            }
            let answer = try await pair.gateway.verifyReceipt(["receipt-data": Base64Text(bytes).text])
            #expect(answer.status == 200 && String(decoding: answer.body, as: UTF8.self) == #"{"status":\#(status)}"#)
            #expect(answer.headers["gateway-reason"] != nil)
        }
        #expect(pair.apple.stats.production == 0 && pair.apple.stats.sandbox == 0)
    }

    @Test(arguments: [
        "", "[]", "{", #"{"receipt-data":1}"#, #"{"password":"x"}"#, #"{"receipt-data":"A"}"#,
        #"{"receipt-data":"AAAA","x":}"#, #"{"receipt-data":"AAAA","password":"a b"}"#,
        #"{"x":["# + String(repeating: "0,", count: 40_000) + #"0],"receipt-data":"AAAA"}"#,
        "{" + (0..<65).map { "\"m\($0)\":0," }.joined() + #""receipt-data":"AAAA"}"#,
    ])
    func `an invalid body gets 21002 and the reason`(body: String) async throws {
        let gateway = try await RunningGateway()
        let answer = try await gateway.post(Data(body.utf8), to: "/verifyReceipt", contentType: "text/plain")
        #expect(try answer.status == 200 && answer.json["status"] as? Int == 21002)
        #expect(answer.headers["gateway-reason"]?.isEmpty == false)
    }

    @Test func `members that Apple does not know are ignored, as by Apple`() async throws {
        let pair = try await Pair()
        let answer = try await pair.gateway.verifyReceipt([
            "receipt-data": Self.receipt.text, "device": ["a": [1, NSNull(), ["b": true]]], "password": NSNull(),
        ])
        #expect(try answer.json["status"] as? Int == 0)
    }

    @Test func `any method but POST gets 21000`() async throws {
        let gateway = try await RunningGateway()
        let answer = try await gateway.get("/verifyReceipt", port: gateway.dataPort)
        #expect(try answer.status == 200 && answer.json["status"] as? Int == 21000)
    }

    @Test func `a transaction receipt that cannot be read gets 21002 and its rule`() async throws {
        let gateway = try await RunningGateway()
        let text = Base64Text(Array(#"{"signature" = "AAAA";}"#.utf8)).text
        let answer = try await gateway.verifyReceipt(["receipt-data": text])
        #expect(try answer.status == 200 && answer.json["status"] as? Int == 21002)
        #expect(answer.headers["gateway-reason"] == "transaction_receipt_malformed")
    }

    /// Returns the identifiers of a list of transactions, in order of time.
    private static func transactions(_ object: Any?, _ name: String) -> [String] {
        let list = (object as? [String: Any])?[name] as? [[String: Any]] ?? []
        return list.compactMap { $0["transaction_id"] as? String }.sorted()
    }

    /// Returns `receipt` of an answer, without what Apple adds to the signed contents.
    private static func signed(_ answer: [String: Any]) -> [String: Any] {
        var receipt = timeless(answer)["receipt"] as? [String: Any] ?? [:]
        receipt["in_app"] = (receipt["in_app"] as? [[String: Any]] ?? []).map { purchase in
            purchase.filter { $0.key != "in_app_ownership_type" }
        }
        return receipt
    }

    /// Returns an answer without the values that depend on the time of the request.
    private static func timeless(_ answer: [String: Any]) -> [String: Any] {
        var answer = answer
        answer["latest_receipt"] = nil
        if var receipt = answer["receipt"] as? [String: Any] {
            for name in ["request_date", "request_date_ms", "request_date_pst"] { receipt[name] = nil }
            answer["receipt"] = receipt
        }
        return answer
    }
}
