// SPDX-License-Identifier: Apache-2.0

import Gateway
import ReceiptForge
import Receipts
import Testing

@testable import AppStore

/// Answers of the App Store Server API with an item that Apple signed and that cannot be read.
struct UnreadableItemTests {
    private typealias Samples = ServerAPISamples
    private typealias Body = LocalServer.Answer

    private static let verifier = ServerAPIAnswerVerifier(
        verifier: Samples.verifier, bundleID: Samples.app, environment: .sandbox, now: Samples.now)

    /// Returns the usual transaction, edited, with a claim that has another value.
    private static func odd(
        _ claim: String, _ value: String, _ edit: (inout TransactionContents) -> Void = { _ in }
    ) throws -> String {
        var contents = TransactionContents()
        edit(&contents)
        let payload = String(decoding: contents.payload, as: UTF8.self)
        let pattern = try Regex("\"\(claim)\":(\"[^\"]*\"|[0-9]+|true|false)")
        #expect(payload.firstMatch(of: pattern) != nil)
        let changed = payload.replacing(pattern, with: "\"\(claim)\":\(value)")
        return String(decoding: Samples.pki.jws(Array(changed.utf8)), as: UTF8.self)
    }

    private static func page(_ items: [String]) throws -> ServerAPIAnswer {
        try verifier.answer(
            httpStatus: 200, body: Array(Body.page(items).body.utf8),
            to: ServerAPICall(.transactionHistory, [Samples.transactionID]))
    }

    @Test(arguments: [
        ("transactionId", "7"), ("originalTransactionId", "null"), ("productId", "[]"), ("purchaseDate", "\"soon\""),
        ("expiresDate", "{}"), ("type", "1"), ("signedDate", "null"), ("environment", "\"Mars\""),
        ("inAppOwnershipType", "false"),
    ])
    func `one item that cannot be read is left out and named`(claim: String, value: String) throws {
        let answer = try Self.page([Samples.item("7"), try Self.odd(claim, value), Samples.item("8")])
        #expect(answer.transactions.map(\.transactionID) == ["7", "8"])
        let left = try #require(answer.unreadable.first)
        #expect(answer.unreadable.count == 1 && !left.isRevoked)
        #expect(left.fault.contains(claim) || claim == "environment", "\(left.fault)")
        #expect((left.transactionID == Samples.transactionID) == (claim != "transactionId"))
        #expect((left.originalTransactionID == Samples.original) == (claim != "originalTransactionId"))
        #expect(left.mayName(Samples.original) && left.mayName("7") == claim.hasSuffix("ransactionId"))
    }

    private static func history(_ notifications: [String]) throws -> ServerAPIAnswer {
        let items = notifications.map { #"{"signedPayload":"\#($0)"}"# }.joined(separator: ",")
        let call = try ServerAPICall(
            method: "POST", path: "/inApps/v1/notifications/history", query: nil, body: Array("{}".utf8))
        return try verifier.answer(
            httpStatus: 200, body: Array(#"{"notificationHistory":[\#(items)]}"#.utf8), to: call)
    }

    @Test func `one odd notification spoils no page of the history`() throws {
        let payload = String(decoding: NotificationContents().payload, as: UTF8.self)
            .replacing(/"signedDate":[0-9]+/, with: #""signedDate":"soon""#)
        let odd = String(decoding: Samples.pki.jws(Array(payload.utf8)), as: UTF8.self)
        let answer = try Self.history([Samples.notification(), odd])
        #expect(answer.signedPayloads.count == 2 && answer.unreadable.count == 1)
    }

    @Test func `a plan of another subscription in a notification shows no interception`() throws {
        let payload = """
            {"notificationType":"DID_RENEW","notificationUUID":"0f2b7a52-8c14-4b8e-8a5e-1c9d3e7f6a03",
             "signedDate":\(TransactionContents.signedByDefault.millisecondsSince1970),
             "data":{"bundleId":"\(Samples.app)","environment":"Sandbox",
              "signedTransactionInfo":"\(Samples.item("7"))","signedRenewalInfo":"\(Samples.renewalInfo())"}}
            """
        let unrelated = String(decoding: Samples.pki.jws(Array(payload.utf8)), as: UTF8.self)
        #expect(throws: ServerAPIAnswerFault.contradiction(.otherTransaction)) { try Self.history([unrelated]) }
    }

    @Test func `an element that is no text is left out`() throws {
        let body = #"{"signedTransactions":[1,"\#(Samples.item("7"))",null,{}]}"#
        let answer = try Self.verifier.answer(
            httpStatus: 200, body: Array(body.utf8), to: ServerAPICall(.transactionHistory, [Samples.transactionID]))
        #expect(answer.transactions.map(\.transactionID) == ["7"] && answer.unreadable.count == 3)
        #expect(answer.unreadable.allSatisfy { $0.mayName("1") && !$0.isRevoked })
    }

    @Test(arguments: [("revocationDate", "\"yesterday\""), ("revocationReason", "[]"), ("expiresDate", "\"never\"")])
    func `a refund that cannot be read is known as one`(claim: String, value: String) throws {
        let item = try Self.odd(claim, value) {
            $0.revocationDate = Samples.now.advanced(by: .seconds(-60))
            $0.revocationReason = 0
        }
        #expect(try Self.page([item]).unreadable.map(\.isRevoked) == [true])
    }

    @Test func `an ID as a number, a name that appears twice and too many claims hide no refund`() throws {
        let payload = String(String(decoding: Self.refunded.payload, as: UTF8.self).dropLast())
        let surplus = (0..<300).map { ",\"x\($0)\":1" }.joined()
        let id = Samples.transactionID, members = String(payload.dropFirst())
        let texts: [String] = [
            payload.replacing("\"\(id)\"", with: id) + "}", payload + ",\"productId\":\"p\"}", payload + surplus + "}",
            "{\"price\":1,\"price\":2," + members + "}",
        ]
        for text in texts {
            let item = String(decoding: Samples.pki.jws(Array(text.utf8)), as: UTF8.self)
            let unreadable = try Self.page([item]).unreadable
            #expect(unreadable.map(\.isRevoked) == [true] && unreadable.map(\.transactionID) == [id], "\(text)")
        }
    }

    private static let refunded = {
        var contents = TransactionContents()
        contents.revocationDate = Samples.now.advanced(by: .seconds(-60))
        return contents
    }()

    @Test(arguments: [
        ("bundleId", "\"com.example.other\"", Contradiction.otherApp),
        ("environment", "\"Production\"", .otherEnvironment),
    ])
    func `an item of another app or environment is not Apple's answer, readable or not`(
        claim: String, value: String, contradiction: Contradiction
    ) throws {
        let payload = String(decoding: TransactionContents().payload, as: UTF8.self)
        let changed = payload.replacing(try Regex("\"\(claim)\":\"[^\"]*\""), with: "\"\(claim)\":\(value)")
            .replacing(/"expiresDate":[0-9]+/, with: "\"expiresDate\":{}")
        let item = String(decoding: Samples.pki.jws(Array(changed.utf8)), as: UTF8.self)
        #expect(throws: ServerAPIAnswerFault.contradiction(contradiction)) { try Self.page([item]) }
        let stranger = String(decoding: TransactionPKI(seed: 99).jws(Array(changed.utf8)), as: UTF8.self)
        #expect(throws: ServerAPIAnswerFault.contradiction(.itemNotSigned)) { try Self.page([stranger]) }
    }

    @Test func `a transaction without an app has that of its chain, and is left out alone`() throws {
        let nameless = try Self.odd("bundleId", "null")
        let later = Samples.transaction { $0.transactionID = "2000000900000003" }
        let answer = try Self.page([nameless, later])
        #expect(answer.transactions.map(\.bundleID) == [Samples.app, Samples.app] && answer.unreadable.isEmpty)
        let alone = try Self.page([nameless, Samples.item("7")])
        #expect(alone.transactions.map(\.transactionID) == ["7"])
        #expect(alone.unreadable.map(\.transactionID) == [Samples.transactionID])
        #expect(throws: ReceiptError.self) {
            try Samples.verifier.verifyTransaction(Array(nameless.utf8), at: Samples.now)
        }
    }

    @Test func `statuses go on without an item or a plan that cannot be read`() throws {
        func answer(_ transaction: String, _ renewalInfo: String) throws -> ServerAPIAnswer {
            try Self.verifier.answer(
                httpStatus: 200, body: Array(Body.statuses(transaction, renewalInfo).body.utf8),
                to: ServerAPICall(.subscriptionStatuses, [Samples.transactionID]))
        }
        let payload = String(decoding: RenewalInfoContents().payload, as: UTF8.self)
            .replacing(/"autoRenewStatus":[0-9]/, with: "\"autoRenewStatus\":\"on\"")
        let plan = String(decoding: Samples.pki.jws(Array(payload.utf8)), as: UTF8.self)
        let withoutPlan = try answer(Samples.transaction(), plan)
        #expect(withoutPlan.transactions.count == 1 && withoutPlan.renewals.isEmpty)
        #expect(withoutPlan.unreadable.map(\.originalTransactionID) == [Samples.original])
        let without = try answer(try Self.odd("expiresDate", "[]"), Samples.renewalInfo())
        #expect(
            without.transactions.isEmpty && without.renewals.map(\.status) == [nil] && without.unreadable.count == 1)
    }

    // MARK: - What is left

    private static func answer(_ transactions: [Transaction]) -> UpstreamAnswer {
        UpstreamAnswer(
            environment: .sandbox, bundleID: Samples.app, transactions: transactions, renewals: [], latestReceipt: nil,
            body: [], revision: "r1")
    }

    @Test func `a refund that cannot be read ends the older copies, and adds one if there is none`() throws {
        let item = UnreadableItem(
            transactionID: "1", originalTransactionID: "1", productID: "p", isRevoked: true, fault: "f")
        var (known, unknown) = (Self.answer([Transaction(productID: "p", transactionID: "1")]), Self.answer([]))
        known.leaveOut([item, item], at: Samples.now)
        unknown.leaveOut([item], at: Samples.now)
        for answer in [known, unknown] {
            #expect(answer.lacksItems && answer.revision == nil && answer.transactions.count == 1)
            let transaction = answer.transactions[0]
            #expect(transaction.transactionID == "1" && transaction.productID == "p")
            #expect(transaction.cancellationDate == Samples.now && transaction.signedDate == Samples.now)
        }
        var nameless = Self.answer([Transaction(productID: "p", transactionID: "1")])
        nameless.leaveOut([UnreadableItem(isRevoked: true, fault: "f")], at: Samples.now)
        #expect(nameless.lacksItems && nameless.transactions[0].cancellationDate == nil)
        var whole = Self.answer([])
        whole.leaveOut([], at: Samples.now)
        #expect(!whole.lacksItems && whole.revision == "r1")
    }
}
