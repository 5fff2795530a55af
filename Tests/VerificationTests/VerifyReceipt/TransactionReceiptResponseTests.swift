// SPDX-License-Identifier: Apache-2.0

import Cryptography
import Foundation
import HTTPTypes
import JSON
import NIOCore
import RealCorpus
import ReceiptForge
import Receipts
import Resilience
import Testing

@testable import API
@testable import AppStore
@testable import Clients
@testable import Gateway
@testable import HTTPServer
@testable import ServerTestSupport

/// Answers of every interface to transaction receipts (iOS 6), without Apple.
struct TransactionReceiptResponseTests {
    private static let forge = TransactionReceiptForge(pki: ForgedPKI(seed: 7))
    /// The period of the sample.
    private static let start = forge.contents.purchaseDate
    private static let end = start.advanced(byDays: 30)

    // MARK: - POST /verifyReceipt

    @Test func `a running subscription is answered with its signed fields`() throws {
        let reply = try Self.dropIn(Self.forge.wellFormed, at: Self.end.advanced(bySeconds: -1))
        let response = try VerifyReceiptResponse(parsing: reply.body.bytes)
        #expect(response.status == .valid && response.environment == nil)
        #expect(Set(response.names) == ["status", "receipt", "latest_receipt_info", "latest_receipt"])
        #expect(response.receipt?.bundleID == "com.example.forge")
        let transaction = try #require(response.receipt?.inApp.first)
        #expect(transaction.transactionID == "1000000000000002" && transaction.chainID == "1000000000000001")
        #expect(transaction.expiresDate == Self.end.timestamp && transaction.purchaseDate == Self.start.timestamp)
        #expect(response.latestReceiptInfo == [transaction])
        #expect(try Base64.decode(#require(response.latestReceipt)) == Self.forge.wellFormed)
        #expect(reply.fields[.gatewaySource] == "local" && reply.fields[.gatewayReason] == nil)
    }

    @Test func `an ended subscription has status 21006`() throws {
        let reply = try Self.dropIn(Self.forge.wellFormed, at: Self.end)
        let response = try VerifyReceiptResponse(parsing: reply.body.bytes)
        #expect(response.status == .subscriptionExpired && reply.status == .ok)
        #expect(Set(response.names) == ["status", "receipt", "latest_expired_receipt_info"])
        #expect(response.latestExpiredReceiptInfo.map(\.transactionID) == ["1000000000000002"])
    }

    @Test(arguments: [-86_400, -1, 0, 1] as [Int64])
    func `no answer lasts beyond the end of its period`(seconds: Int64) throws {
        let now = Self.end.advanced(bySeconds: seconds)
        let answer = try Self.answer(Self.forge.wellFormed, at: now)
        #expect(answer.freshUntil > now.timestamp)
        #expect(seconds >= 0 || answer.freshUntil <= Self.end.timestamp)
        #expect(answer.isLapsed(at: now.timestamp) == (seconds >= 0))
    }

    @Test func `a period that was renewed early is not over before it begins`() throws {
        let response = try Self.response(to: Self.forge.contents, at: Self.start.advanced(bySeconds: -3600))
        #expect(response.status == .valid && response.latestReceiptInfo.count == 1)
    }

    @Test func `a refunded subscription is over`() throws {
        var contents = Self.forge.contents
        contents.cancellationDate = Self.start.advanced(bySeconds: 60)
        let response = try Self.response(to: contents, at: Self.start.advanced(byDays: 1))
        #expect(response.status == .subscriptionExpired && response.latestExpiredReceiptInfo[0].cancellationDate != nil)
    }

    @Test func `a refund that Apple knows is in the receipt and in its last period`() throws {
        let receipt = try #require(
            Self.answer(Self.forge.wellFormed, at: Self.end).subject?.evidence?.transactionReceipt)
        var refunded = Transaction(receipt)
        (refunded.cancellationDate, refunded.cancellationReason) = (Self.start.advanced(bySeconds: 60).timestamp, 1)
        let body = TransactionReceiptResponse(receipt: receipt, isLapsed: true, purchase: refunded, period: refunded)
            .body
        let response = try VerifyReceiptResponse(parsing: body)
        #expect(response.receipt?.inApp.first?.cancellationDate == refunded.cancellationDate)
        #expect(response.latestExpiredReceiptInfo.map(\.cancellationDate) == [refunded.cancellationDate])
        #expect(response.latestExpiredReceiptInfo.map(\.cancellationReason) == [1])
    }

    @Test func `the period's fields replace the receipt's`() throws {
        let receipt = try #require(
            Self.answer(Self.forge.wellFormed, at: Self.start).subject?.evidence?.transactionReceipt)
        var renewed = Transaction(receipt)
        renewed.transactionID = "1000000000000003"
        (renewed.purchaseDate, renewed.expiresDate) = (Self.end.timestamp, Self.end.advanced(byDays: 30).timestamp)
        let response = TransactionReceiptResponse(
            receipt: receipt, isLapsed: false, purchase: Transaction(receipt), period: renewed)
        let latest = try VerifyReceiptResponse(parsing: response.body).latestReceiptInfo
        #expect(latest.map(\.transactionID) == [renewed.transactionID])
    }

    /// Returns the answer that notifications have completed.
    private static func notified(_ transactions: [Transaction], _ plans: [Renewal], at now: UTCDate) throws -> Reply {
        let answer = try answer(forge.wellFormed, at: now)
        let entitlements = Entitlements(
            in: TransactionList(transactions), renewals: plans, at: now.timestamp, rules: SubscriptionRules())
        let notified = Answer(
            verdict: .genuine, subject: answer.subject, entitlements: entitlements,
            provenance: Provenance(source: .notification, cache: .miss, verifiedAt: now.timestamp),
            freshUntil: now.timestamp)
        return AppleFormEndpoint().replies(to: VerificationOptions(), with: notified, at: now.timestamp).first
    }

    @Test func `what notifications say of the subscription is in the answer`() throws {
        let receipt = try #require(
            Self.answer(Self.forge.wellFormed, at: Self.start).subject?.evidence?.transactionReceipt)
        var plan = Renewal(originalTransactionID: "1000000000000001")
        (plan.productID, plan.willRenew, plan.isInBillingRetry) = (receipt.productID, true, true)
        (plan.expirationIntent, plan.gracePeriodExpiresDate) = (.billingError, Self.end.advanced(byDays: 16).timestamp)
        let reply = try Self.notified([Transaction(receipt)], [plan], at: Self.end.advanced(byDays: 1))
        let json = try JSONValue(parsing: reply.body.bytes)
        #expect(json["status"]?.scalarInteger == 0 && json["is_in_billing_retry_period"]?.string == "1")
        #expect(reply.fields[.gatewaySource] == "notification")
    }

    @Test(arguments: ["1", "2000000000000000"])
    func `a copy of the period with another chain decides the status`(chain: String) throws {
        let receipt = try #require(
            Self.answer(Self.forge.wellFormed, at: Self.start).subject?.evidence?.transactionReceipt)
        var copy = Transaction(receipt)
        (copy.transactionID, copy.originalTransactionID) = (chain, chain)
        let ended = try Self.notified([copy], [], at: Self.end.advanced(byDays: 1))
        #expect(try VerifyReceiptResponse(parsing: ended.body.bytes).status == .subscriptionExpired)
    }

    @Test(
        arguments: [
            (nil, false, nil), (.customerCancelled, false, "0"), (.billingError, true, "1"),
        ] as [(Renewal.ExpirationIntent?, Bool, String?)])
    func `only a plan that ends has the members about its end`(
        intent: Renewal.ExpirationIntent?, isInRetry: Bool, retry: String?
    ) throws {
        let receipt = try #require(
            Self.answer(Self.forge.wellFormed, at: Self.start).subject?.evidence?.transactionReceipt)
        var plan = Renewal(originalTransactionID: "1000000000000001")
        (plan.expirationIntent, plan.isInBillingRetry) = (intent, isInRetry)
        let body = TransactionReceiptResponse(receipt: receipt, isLapsed: false, plan: plan).body
        let json = try JSONValue(parsing: body)
        #expect(json["expiration_intent"]?.string == intent.map { String($0.code) })
        #expect(json["is_in_billing_retry_period"]?.string == retry)
    }

    @Test func `another product is answered with the receipt alone`() throws {
        var contents = Self.forge.contents
        contents.expiresDate = nil
        let response = try Self.response(to: contents, at: Self.end)
        #expect(response.status == .valid && Set(response.names) == ["status", "receipt"])
    }

    @Test func `a faulty receipt has Apple's status, and its rule in the header`() throws {
        let unreadable: Set<Rule> = [
            .receiptTooLarge, .tooManyAttributes, .transactionReceiptMalformed, .transactionReceiptVersionUnsupported,
            .transactionReceiptSignatureMalformed, .purchaseInfoMalformed,
        ]
        var statuses: Set<Int> = []
        for fault in TransactionReceiptFault.allCases where !fault.acceptsVersion2 {
            guard case .rejected(let rule) = fault.expected else { continue }
            let receipt = Self.forge.evidence(with: fault)
            // It is taken for an app receipt, whose rules have tests of their own.
            guard receipt.first == UInt8(ascii: "{") else { continue }
            let reply = try Self.dropIn(receipt, at: Self.start)
            let status = unreadable.contains(rule) ? 21002 : 21003
            #expect(reply.text == #"{"status":\#(status)}"#, "\(fault)")
            #expect(reply.status == .ok && reply.fields[.gatewayReason] == rule.rawValue, "\(fault)")
            statuses.insert(status)
        }
        #expect(statuses == [21002, 21003])
    }

    @Test func `a weak key is not authentic, unless the operator accepts it`() throws {
        let receipt = Self.forge.pki.sign(Self.forge.contents, version: 2)
        let refused = try Self.dropIn(receipt, at: Self.start)
        #expect(refused.text == #"{"status":21003}"#)
        #expect(refused.fields[.gatewayReason] == "key_too_small")
        let accepted = try Self.dropIn(receipt, at: Self.start, Self.service(acceptsVersion2: true))
        #expect(try VerifyReceiptResponse(parsing: accepted.body.bytes).status == .valid)
    }

    @Test func `without a verdict the client is told to retry later`() throws {
        let provenance = Provenance(source: .local, cache: .miss, verifiedAt: Self.start.timestamp)
        let answer = Answer(
            verdict: .undecided(.upstreamDidNotAnswer), provenance: provenance, freshUntil: Self.start.timestamp)
        let reply = AppleFormEndpoint()
            .replies(to: VerificationOptions(), with: answer, at: Self.start.timestamp).first
        #expect(reply.status == .ok && reply.text == #"{"status":21005}"#)
    }

    // MARK: - The form API

    @Test func `the form API has Apple's statuses`() throws {
        func form(
            _ receipt: [UInt8], at now: UTCDate = Self.start, of bundleID: String = "com.example.forge"
        ) throws -> JSONValue {
            let app = FormApp(token: Secret("t"), bundleID: bundleID, encryption: nil, sharedSecret: nil)
            let body = ByteBuffer(string: "apikey=a&token=t&receipt=\(Self.text(receipt))")
            let form = FormBody(body.readableBytesUInt8Span)
            let endpoint = FormEndpoint(path: "/api", app: app, form: form, statuses: .ok)
            let reply = try Self.reply(of: endpoint, to: body, at: now, Self.service())
            #expect(reply.status == .ok)
            return try JSONValue(parsing: reply.body.bytes)
        }
        let valid = try form(Self.forge.wellFormed)
        #expect(valid["status"]?.scalarInteger == 0)
        #expect(valid["receipt"]?["bid"]?.string == "com.example.forge")
        #expect(valid["receipt"]?["latest_receipt_info"]?["transaction_id"]?.string == "1000000000000002")
        let ended = try form(Self.forge.wellFormed, at: Self.end)
        #expect(ended["status"]?.scalarInteger == 21006 && ended["receipt"] == nil)
        #expect(ended["description"]?.string == VerifyReceiptStatus.subscriptionExpired.explanation)
        #expect(try form(Self.forge.wellFormed, of: "com.example.other")["status"]?.scalarInteger == 403)
        #expect(try form(Array("{}".utf8))["status"]?.scalarInteger == 21002)
        #expect(try form(Self.forge.pki.sign(Self.forge.contents, version: 2))["status"]?.scalarInteger == 21003)
    }

    // MARK: - POST /v1/verify

    @Test func `a verdict has the transaction, no environment, and the receipt on request`() throws {
        let text = Self.text(Self.forge.wellFormed)
        let request = #"{"receipt":"\#(text)","latest_receipt":true}"#
        let json = try Self.verdict(request, at: Self.start)
        #expect(json["verdict"]?.string == "genuine" && json["environment"] == nil && json["receipt"] == nil)
        #expect(json["bundle_id"]?.string == "com.example.forge" && json["latest_receipt"]?.string == text)
        #expect(json["transactions"]?.elements?.map { $0["transaction_id"]?.string } == ["1000000000000002"])
        #expect(json["subscriptions"]?.elements?.map { $0["state"]?.string } == ["active"])
        let ended = try Self.verdict(#"{"receipt":"\#(text)"}"#, at: Self.end)
        #expect(ended["verdict"]?.string == "genuine" && ended["latest_receipt"] == nil)
        #expect(ended["subscriptions"]?.elements?.map { $0["state"]?.string } == ["expired"])
    }

    @Test(
        arguments: [
            (#""bundle_id":"com.example.forge""#, nil), (#""bundle_id":"com.example.other""#, "bundle_id_mismatch"),
            (#""app_version":"1.0""#, nil), (#""app_version":"2.0""#, "app_version_mismatch"),
            (#""device_identifier":"00000000-0000-4000-8000-000000000000""#, nil),
            (#""device_identifier":"00000000-0000-4000-8000-000000000001""#, "device_hash_mismatch"),
        ] as [(String, String?)])
    func `the expectations of a client are compared`(expectation: String, reason: String?) throws {
        let json = try Self.verdict(
            #"{"receipt":"\#(Self.text(Self.forge.wellFormed))",\#(expectation)}"#, at: Self.start)
        #expect(json["verdict"]?.string == (reason == nil ? "genuine" : "rejected"))
        #expect(json["reason"]?.string == reason)
    }

    // MARK: - Apple's own

    @Test(.enabled(if: RealCorpus.folder(besideReceipts: "transaction-receipts") != nil, "no real receipts"))
    func `real receipts are answered in the form of Apple's answers`() throws {
        let apples = try Self.realAnswers()
        let ended = try #require(apples.first { $0.status == .subscriptionExpired })
        let service = Self.service(acceptsVersion2: true)
        var subscriptions = 0
        for receipt in try Self.realReceipts() {
            let reply = try Self.dropIn(receipt, at: UTCDate(2026, 1, 1), service)
            let ours = try VerifyReceiptResponse(parsing: reply.body.bytes)
            // Later versions have fields that these receipts of 2012 and 2015 lack.
            #expect(ours.receiptNames.isSubset(of: ended.receiptNames))
            #expect(Set(ours.names).isSubset(of: ended.names))
            guard ours.status == .subscriptionExpired else { continue }
            subscriptions += 1
            for apple in apples where apple.receiptNames.isDisjoint(with: ["app_item_id"]) {
                #expect(apple.receiptNames.isSubset(of: ours.receiptNames))
            }
            #expect(ours.json["receipt"] == ours.json["latest_expired_receipt_info"])
        }
        #expect(subscriptions > 0)
    }

    /// Returns Apple's answers to transaction receipts.
    private static func realAnswers() throws -> [VerifyReceiptResponse] {
        try RealCorpus.files(in: RealCorpus.folder(besideReceipts: "responses"))
            .map { try VerifyReceiptResponse(parsing: Array(Data(contentsOf: $0))) }
            .filter { $0.json["receipt"]?["bid"] != nil }
    }

    private static func realReceipts() throws -> [[UInt8]] {
        let folder = try #require(RealCorpus.folder(besideReceipts: "transaction-receipts"))
        return try FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil)
            .filter { $0.pathExtension == "b64" }
            .map { try Base64.decode(String(contentsOf: $0, encoding: .utf8)) }
    }

    // MARK: - Steps

    private static func service(acceptsVersion2: Bool = false) -> VerificationService {
        var store = TrustStore.apple
        guard (try? store.add(pem: forge.pki.rootPEM, environments: [.production, .sandbox])) != nil,
            (try? store.add(intermediatesPEM: forge.intermediatesPEM)) != nil
        else { preconditionFailure("the forge's certificates are unusable") }
        var policy = VerificationPolicy()
        policy.acceptsTransactionReceiptVersion2 = acceptsVersion2
        return VerificationService(verifier: CurrentVerifier(ReceiptVerifier(trustStore: store, policy: policy)))
    }

    private static func text(_ receipt: [UInt8]) -> String { Data(receipt).base64EncodedString() }

    private static func answer(_ receipt: [UInt8], at now: UTCDate) throws -> Answer {
        let request = VerificationRequest(evidence: Evidence(receipt: receipt), mode: .appleFirst)
        return try service().computed(request, at: now.timestamp)
    }

    private static func dropIn(
        _ receipt: [UInt8], at now: UTCDate, _ service: VerificationService = service()
    ) throws -> Reply {
        let body = ByteBuffer(string: #"{"receipt-data":"\#(text(receipt))"}"#)
        return try reply(of: AppleFormEndpoint(), to: body, at: now, service)
    }

    private static func response(
        to contents: TransactionReceiptContents, at now: UTCDate
    ) throws -> VerifyReceiptResponse {
        try VerifyReceiptResponse(parsing: dropIn(forge.pki.sign(contents), at: now).body.bytes)
    }

    private static func verdict(_ body: String, at now: UTCDate) throws -> JSONValue {
        let reply = try reply(of: VerdictEndpoint(), to: ByteBuffer(string: body), at: now, service())
        return try JSONValue(parsing: reply.body.bytes)
    }

    private static func reply(
        of endpoint: some VerifyEndpoint, to body: ByteBuffer, at now: UTCDate, _ service: VerificationService
    ) throws -> Reply {
        switch try endpoint.read(body) {
        case .reply(let reply): return reply
        case .request(let request):
            let answer = try service.computed(request, at: now.timestamp)
            return endpoint.replies(to: request.options, with: answer, at: now.timestamp).first
        }
    }
}

extension ByteBuffer {
    fileprivate var bytes: [UInt8] { Array(buffer: self) }
}

extension VerifyReceiptResponse {
    fileprivate var names: [String] { (json.members ?? []).map(\.name.description) }

    fileprivate var receiptNames: Set<String> { Set((json["receipt"]?.members ?? []).map(\.name.description)) }
}
