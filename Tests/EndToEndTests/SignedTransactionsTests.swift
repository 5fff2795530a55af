// SPDX-License-Identifier: Apache-2.0

import Foundation
import ReceiptForge
import Receipts
import Testing
import TestSupport

/// Signed items of StoreKit 2, verified by the real binary under an operator's root.
@Suite(.timeLimit(.patient))
struct SignedTransactionsTests {
    private static let pki = TransactionPKI(seed: 31)
    private static let signed = Timestamp.now().advanced(by: .seconds(-60))

    // MARK: - One call

    @Test func `transactions, renewal infos and an app transaction get one answer, as described`() async throws {
        let gateway = try await Self.gateway()
        let answer = try await Self.verify(
            gateway,
            [
                "signed_transactions": Self.transactions(2), "signed_renewal_infos": [Self.renewalInfo()],
                "app_transaction": Self.appTransaction(), "bundle_id": "com.example.forge", "app_version": "42",
            ])
        #expect(answer["verdict"] as? String == "genuine" && answer["environment"] as? String == "Sandbox")
        #expect(Self.list(answer, "transactions").map { $0["transaction_id"] as? String } == Self.identifiers(2))
        let subscription = try #require(Self.list(answer, "subscriptions").first)
        #expect(subscription["state"] as? String == "active")
        let renewal = try #require(subscription["renewal"] as? [String: Any])
        #expect(renewal["will_renew"] as? Bool == true && renewal["renewal_price"] as? Int == 4990)
        let app = try #require(answer["app_transaction"] as? [String: Any])
        #expect(app["application_version"] as? String == "42")
        #expect(await gateway.stop() == 0)
    }

    @Test func `every documented claim is in an answer as described`() async throws {
        let gateway = try await Self.gateway()
        let answer = try await Self.verify(
            gateway,
            [
                "signed_transactions": [Self.text(TransactionContents.complete)],
                "signed_renewal_infos": [Self.text(RenewalInfoContents.complete)],
                "app_transaction": Self.text(AppTransactionContents()),
            ])
        #expect(answer["verdict"] as? String == "genuine")
        let transaction = try #require(Self.list(answer, "transactions").first)
        #expect(transaction["revocation_percentage"] as? Int == 50_000)
        #expect(await gateway.stop() == 0)
    }

    @Test func `one JWS in the place of the receipt is verified`() async throws {
        let gateway = try await Self.gateway()
        let answer = try await Self.verify(gateway, ["receipt": Self.transactions(1)[0]])
        #expect(answer["verdict"] as? String == "genuine" && answer["receipt"] == nil)
        #expect(Self.list(answer, "transactions").count == 1)
        #expect(await gateway.stop() == 0)
    }

    // MARK: - Many items

    @Test func `two hundred items are verified in one request, and a bad one of them is named`() async throws {
        let gateway = try await Self.gateway()
        var items = Self.transactions(200)
        // Larger bodies are handled on other threads.
        #expect(items.reduce(0) { $0 + $1.utf8.count } > 64 << 10)
        let all = try await Self.verify(gateway, ["signed_transactions": items])
        #expect(all["verdict"] as? String == "genuine")
        #expect(Self.list(all, "transactions").map { $0["transaction_id"] as? String } == Self.identifiers(200))
        items[123] = Self.edited(items[123])
        let strict = try await Self.verify(gateway, ["signed_transactions": items])
        #expect(Self.list(strict, "transactions").isEmpty && Self.list(strict, "subscriptions").isEmpty)
        let partial = try await Self.verify(gateway, ["signed_transactions": items, "partial": true])
        #expect(Self.list(partial, "transactions").count == 199 && Self.list(partial, "subscriptions").count == 1)
        for answer in [strict, partial] {
            #expect(answer["verdict"] as? String == "rejected" && answer["reason"] as? String == "signature_invalid")
            let item = try #require(Self.list(answer, "rejected_items").first)
            #expect(Self.list(answer, "rejected_items").count == 1 && item["index"] as? Int == 123)
            #expect(item["field"] as? String == "signed_transactions")
            #expect(item["reason"] as? String == "signature_invalid")
        }
        #expect(await gateway.stop() == 0)
    }

    // MARK: - Roots

    @Test(
        arguments: [
            (nil, "Xcode", "x5c_count_wrong"), ("Xcode", "Xcode", nil), ("LocalTesting", "LocalTesting", nil),
            ("Xcode", "LocalTesting", "environment_not_allowed"), ("Xcode", "Sandbox", "environment_not_allowed"),
        ] as [(String?, String, String?)])
    func `purchases made in Xcode and by tests need an operator's root for them`(
        trusted: String?, claimed: String, reason: String?
    ) async throws {
        let folder = try ScratchFolder()
        let xcode = XcodeTransactionPKI(seed: 32)
        let root = try folder.write(xcode.rootPEM, to: "xcode.pem")
        let gateway = try await RunningGateway(trusted.map { ["GATEWAY_TRUST_ROOTS": "\(root)=\($0)"] } ?? [:])
        var contents = TransactionContents.xcode
        contents.environment = claimed
        let jws = String(decoding: xcode.jws(contents), as: UTF8.self)
        let answer = try await Self.verify(gateway, ["signed_transactions": [jws]])
        #expect(answer["reason"] as? String == reason)
        #expect(answer["environment"] as? String == (reason == nil ? claimed : nil))
        #expect(await gateway.stop() == 0)
    }

    // MARK: - Metrics and log

    @Test func `metrics and log count the items, and contain nothing of them`() async throws {
        let gateway = try await Self.gateway(["GATEWAY_LOG_LEVEL": "trace"])
        let known = try await Scrape(gateway).text.split(separator: "\n").map(String.init)
        let items = Self.transactions(3)
        for (body, cache) in [(items, "miss"), (items, "near"), ([items[0], Self.edited(items[1])], "miss")] {
            let answer = try await Self.verify(gateway, ["signed_transactions": body])
            #expect((answer["provenance"] as? [String: Any])?["cache"] as? String == cache)
        }
        let scrape = try await Scrape(gateway)
        let genuine = #"verifications_total{verdict="genuine",source="local",cache="miss",environment="Sandbox"}"#
        #expect(scrape[genuine] == 1)
        #expect(scrape[#"rejections_total{rule="signature_invalid"}"#] == 1)
        #expect(await gateway.stop() == 0)
        try await eventually("the log is complete") { gateway.transcript.isComplete }
        let lines = gateway.transcript.lines
        #expect(lines.contains { $0.contains(#""verdict":"genuine""#) && $0.contains(#""environment":"Sandbox""#) })
        #expect(lines.contains { $0.contains(#""reason":"signature_invalid""#) })
        let output = lines + scrape.text.split(separator: "\n").map(String.init)
        let leak = CanarySearch(items.map { Canary(secret: $0) }, except: known).leak(in: output)
        #expect(leak == nil, "\(leak ?? "")")
        for value in Self.identifiers(3) + ["2000000900000001", "com.example.forge", "700000000000000001"] {
            #expect(!output.contains { $0.contains(value) }, "\(value)")
        }
    }

    // MARK: - Steps

    /// Starts a gateway that trusts the forge's elliptic root, by default for Sandbox.
    private static func gateway(_ settings: [String: String] = [:]) async throws -> RunningGateway {
        let folder = try ScratchFolder()
        let root = try folder.write(pki.root.pem, to: "root.pem")
        return try await RunningGateway(settings.merging(["GATEWAY_TRUST_ROOTS": root]) { $1 })
    }

    /// Returns the members of an answer, which must be as described.
    private static func verify(_ gateway: RunningGateway, _ body: [String: Any]) async throws -> [String: Any] {
        let answer = try await gateway.post(body)
        #expect(answer.status == 200)
        #expect(try APIDescription().faults(of: answer, to: "POST", "/v1/verify") == [])
        return try answer.json
    }

    private static func list(_ answer: [String: Any], _ name: String) -> [[String: Any]] {
        answer[name] as? [[String: Any]] ?? []
    }

    private static func identifiers(_ count: Int) -> [String] { (0..<count).map { "20000009100\(10_000 + $0)" } }

    /// Returns transactions of one subscription, all in its present period.
    private static func transactions(_ count: Int) -> [String] {
        identifiers(count).map { identifier in
            var contents = TransactionContents()
            contents.transactionID = identifier
            contents.signedDate = signed
            contents.purchaseDate = signed.advanced(by: .seconds(-60))
            contents.expiresDate = signed.advanced(by: .seconds(86_400))
            return text(contents)
        }
    }

    private static func renewalInfo() -> String {
        var contents = RenewalInfoContents()
        contents.signedDate = signed
        return text(contents)
    }

    private static func appTransaction() -> String {
        var contents = AppTransactionContents()
        contents.receiptCreationDate = signed
        return text(contents)
    }

    private static func text(_ contents: some SignedContents) -> String {
        String(decoding: pki.jws(contents), as: UTF8.self)
    }

    /// Returns the JWS with another payload under its signature.
    private static func edited(_ jws: String) -> String {
        let parts = jws.split(separator: ".")
        return "\(parts[0]).\(String(decoding: Base64URLText.encode(Array("{}".utf8)), as: UTF8.self)).\(parts[2])"
    }
}
