// SPDX-License-Identifier: Apache-2.0

import Gateway
import JSON
import ReceiptForge
import Receipts
import Testing

@testable import AppStore

/// Answers of the sandbox, and their faults.
struct ServerAPIAnswerTests {
    private typealias Samples = ServerAPISamples
    private typealias Body = LocalServer.Answer

    struct Faulty: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let fault: ServerAPIAnswerFault
        let path: String
        let body: String
        var method = "GET"
        var sent = ""

        init(
            _ description: String, _ fault: ServerAPIAnswerFault, _ path: String, _ body: String,
            method: String = "GET",
            sent: String = ""
        ) {
            (testDescription, self.fault, self.path, self.body) = (description, fault, path, body)
            (self.method, self.sent) = (method, sent)
        }
    }

    private static let transactionPath = "/inApps/v1/transactions/\(Samples.transactionID)"
    private static let historyPath = "/inApps/v2/history/\(Samples.transactionID)"
    private static let statusesPath = "/inApps/v1/subscriptions/\(Samples.transactionID)"
    private static let appTransactionPath = "/inApps/v1/transactions/appTransactions/\(Samples.appTransactionID)"
    private static let commercePath = "/advancedCommerce/v1/subscription/cancel/\(Samples.transactionID)"
    private static let notificationsPath = "/inApps/v1/notifications/history"

    private static let stranger = String(
        decoding: TransactionPKI(seed: 99).jws(TransactionContents()), as: UTF8.self)

    private static let tampered: [Faulty] = [
        Faulty(
            "a transaction that another authority signed", .contradiction(.itemNotSigned), transactionPath,
            Body.transactionInfo(stranger).body),
        Faulty(
            "a transaction without its signature", .contradiction(.itemNotSigned), transactionPath,
            Body.transactionInfo(String(Samples.transaction().dropLast(86))).body),
        Faulty(
            "a renewal info in place of a transaction", .contradiction(.itemNotSigned), transactionPath,
            Body.transactionInfo(Samples.renewalInfo()).body),
        Faulty(
            "a transaction from the future", .contradiction(.itemNotSigned), transactionPath,
            Body.transactionInfo(
                Samples.transaction { $0.signedDate = Samples.now.advanced(by: .seconds(301)) }
            ).body),
        Faulty(
            "another app's transaction", .contradiction(.otherApp), transactionPath,
            Body.transactionInfo(Samples.transaction { $0.bundleID = "com.example.other" }).body),
        Faulty(
            "another environment's transaction", .contradiction(.otherEnvironment), transactionPath,
            Body.transactionInfo(Samples.transaction { $0.environment = "Production" }).body),
        Faulty(
            "another transaction than the one asked for", .contradiction(.otherTransaction), transactionPath,
            Body.transactionInfo(Samples.item("7")).body),
        Faulty(
            "a page whose last item is another app's", .contradiction(.otherApp), historyPath,
            Body.page([Samples.transaction(), Samples.item("7") { $0.bundleID = "com.example.other" }]).body),
        Faulty(
            "a page that names another environment", .contradiction(.otherEnvironment), historyPath,
            Body.page([Samples.transaction()], environment: "Production").body),
        Faulty(
            "a page that names another app", .contradiction(.otherApp), historyPath,
            #"{"signedTransactions":[],"bundleId":"com.example.other"}"#),
        Faulty(
            "statuses with another subscription's plan", .contradiction(.otherTransaction), statusesPath,
            Body.statuses(Samples.transaction(), Samples.renewalInfo { $0.originalTransactionID = "7" }).body),
        Faulty(
            "statuses with a plan of another environment", .contradiction(.otherEnvironment), statusesPath,
            Body.statuses(Samples.transaction(), Samples.renewalInfo { $0.environment = "Production" }).body),
        Faulty(
            "statuses with an unsigned plan", .contradiction(.itemNotSigned), statusesPath,
            Body.statuses(Samples.transaction(), "a.b.c").body),
        Faulty(
            "another app's app transaction", .contradiction(.otherApp), appTransactionPath,
            Body.appTransactionInfo(Samples.appTransaction { $0.bundleID = "com.example.other" }).body),
        Faulty(
            "an app transaction of another environment", .contradiction(.otherEnvironment), appTransactionPath,
            Body.appTransactionInfo(Samples.appTransaction { $0.receiptType = "Production" }).body),
        Faulty(
            "another app's notification", .contradiction(.otherApp), notificationsPath,
            #"{"notificationHistory":[{"signedPayload":""#
                + Samples.notification { $0.data?.bundleID = "com.example.other" } + #""}]}"#,
            method: "POST", sent: "{}"),
        Faulty(
            "a notification of another environment", .contradiction(.otherEnvironment), notificationsPath,
            #"{"notificationHistory":[{"signedPayload":""#
                + Samples.notification { $0.data?.environment = "Production" } + #""}]}"#,
            method: "POST", sent: "{}"),
        Faulty(
            "an unsigned test notification", .contradiction(.itemNotSigned), "/inApps/v1/notifications/test/t",
            #"{"signedPayload":"a.b.c"}"#),
        Faulty(
            "another app's transaction after a change", .contradiction(.otherApp), commercePath,
            Body.transactionInfo(Samples.transaction { $0.bundleID = "com.example.other" }).body, method: "POST",
            sent: "{}"),
        Faulty(
            "an unsigned plan after a change", .contradiction(.itemNotSigned), commercePath,
            #"{"signedRenewalInfo":"a.b.c"}"#, method: "POST", sent: "{}"),
        Faulty(
            "another subscription's plan after a change", .contradiction(.otherTransaction), commercePath,
            #"{"signedTransactionInfo":"\#(Samples.transaction())","signedRenewalInfo":""#
                + Samples.renewalInfo { $0.originalTransactionID = "7" } + #""}"#, method: "POST", sent: "{}"),
    ]

    private static let unusable: [Faulty] = [
        Faulty("no body", .unusable(.empty), transactionPath, ""),
        Faulty("a web page", .unusable(.html), transactionPath, "<html></html>"),
        Faulty("half a body", .unusable(.truncated), transactionPath, #"{"signedTransactionInfo":"a"#),
        Faulty("a list", .unusable(.notAnObject), transactionPath, "[]"),
        Faulty("no transaction", .unusable(.missing("signedTransactionInfo")), transactionPath, "{}"),
        Faulty(
            "a number as a transaction", .unusable(.unreadable("signedTransactionInfo")), transactionPath,
            #"{"signedTransactionInfo":1}"#),
        Faulty("no list", .unusable(.missing("signedTransactions")), historyPath, "{}"),
        Faulty(
            "too many items", .unusable(.unreadable("signedTransactions")), historyPath,
            #"{"signedTransactions":["# + Array(repeating: "1", count: 1001).joined(separator: ",") + "]}"),
        Faulty(
            "a text as a flag", .unusable(.unreadable("hasMore")), historyPath,
            #"{"signedTransactions":[],"hasMore":"true"}"#),
        Faulty(
            "a number as an app", .unusable(.unreadable("bundleId")), historyPath,
            #"{"signedTransactions":[],"bundleId":1}"#),
        Faulty(
            "a write's answer that is no JSON", .unusable(.html), "/inApps/v1/transactions/1/finish", "<html>",
            method: "POST"),
        Faulty(
            "a body above the limit", .unusable(.tooLarge), transactionPath,
            "{}" + String(repeating: " ", count: 4 << 20)),
    ]

    @Test(arguments: tampered + unusable)
    func `a broken answer is not returned`(_ faulty: Faulty) throws {
        let call = try ServerAPICall(
            method: faulty.method, path: faulty.path, query: nil, body: Array(faulty.sent.utf8))
        #expect(throws: faulty.fault) {
            try Self.sandbox.answer(httpStatus: 200, body: Array(faulty.body.utf8), to: call)
        }
    }

    @Test func `a page has its transactions and its position`() throws {
        let body = Body.page([Samples.transaction(), Samples.item("7")], revision: "r2", hasMore: true).body
        let answer = try Self.answer(body, to: ServerAPICall(.transactionHistory, [Samples.transactionID]))
        #expect(answer.transactions.map(\.transactionID) == [Samples.transactionID, "7"])
        #expect(answer.revision == "r2" && answer.hasMore && answer.body == Array(body.utf8))
    }

    @Test func `statuses have their transactions and plans`() throws {
        let answer = try Self.answer(
            Body.statuses().body, to: ServerAPICall(.subscriptionStatuses, [Samples.transactionID]))
        #expect(answer.transactions.map(\.transactionID) == [Samples.transactionID])
        #expect(answer.renewals.map(\.renewalInfo.originalTransactionID) == [Samples.original])
    }

    @Test(arguments: [
        ("1", SubscriptionState.active), ("2", .expired), ("3", .inBillingRetry), ("4", .inGracePeriod),
        ("5", .revoked), ("0", nil), ("6", nil), ("99999999999999999999", nil), ("\"1\"", nil), ("null", nil),
        ("{}", nil),
    ])
    func `a status has the time of the transaction beside it, and an unknown one is left out`(
        status: String, state: SubscriptionState?
    ) throws {
        let signed = Samples.now.advanced(by: .seconds(-5))
        let body = Body.statuses(Samples.transaction { $0.signedDate = signed }, status: status).body
        let answer = try Self.answer(body, to: ServerAPICall(.subscriptionStatuses, [Samples.transactionID]))
        #expect(answer.renewals.map(\.status) == [state.map { ReportedStatus($0, at: signed) }])
    }

    /// Only the signatures show the age of a status.
    @Test(arguments: [(-301, -5), (-5, -301)])
    func `a status without signatures of now does not count`(transaction: Int64, renewalInfo: Int64) throws {
        let body = Body.statuses(
            Samples.transaction { $0.signedDate = Samples.now.advanced(by: .seconds(transaction)) },
            Samples.renewalInfo { $0.signedDate = Samples.now.advanced(by: .seconds(renewalInfo)) }
        ).body
        let answer = try Self.answer(body, to: ServerAPICall(.subscriptionStatuses, [Samples.transactionID]))
        #expect(answer.renewals.map(\.status) == [nil])
    }

    @Test func `an app transaction is returned verified`() throws {
        let body = Body.appTransactionInfo().body
        let answer = try Self.answer(body, to: ServerAPICall(.appTransactionInfo, [Samples.appTransactionID]))
        #expect(answer.appTransaction?.appTransactionID == Samples.appTransactionID)
    }

    /// By any of the four.
    @Test(arguments: ["2000000900000002", "2000000900000001", "1000000000000009", "700000000000000001"])
    func `a transaction is found by its ID, its original's, its previous original's or the download's`(
        _ id: String
    ) throws {
        let body = Body.transactionInfo(Samples.transaction { $0.previousOriginalTransactionID = "1000000000000009" })
        #expect(try Self.answer(body.body, to: ServerAPICall(.transactionInfo, [id])).transactions.count == 1)
    }

    @Test func `a transaction without an environment, as in 2021, goes with any`() throws {
        let body = Body.transactionInfo(Samples.transaction { $0.environment = nil }).body
        #expect(
            try Self.answer(body, to: ServerAPICall(.transactionInfo, [Samples.transactionID])).transactions.count == 1)
    }

    @Test(
        arguments: [
            ("PUT", "/inApps/v2/transactions/consumption/1", "{}", ""),
            ("POST", "/inApps/v1/transactions/1/finish", "", ""),
            ("POST", "/inApps/v1/notifications/test", "", #"{"testNotificationToken":"t"}"#),
            (
                "GET", "/inApps/v1/subscriptions/extend/mass/p/758883e8-151b-47b7-abd0-60c4d804c2f5", "",
                #"{"complete":true}"#
            ),
            ("GET", "/inApps/v1/lookup/M1", "", #"{"status":1}"#),
            ("POST", "/inApps/v1/notifications/history", "{}", #"{"notificationHistory":[],"hasMore":false}"#),
            ("GET", "/inApps/v1/messaging/realtime/url", "", #"{"realtimeURL":"https://example.com"}"#),
            ("DELETE", "/inApps/v1/messaging/realtime/url", "", ""),
            ("POST", "/advancedCommerce/v1/subscription/cancel/1", "{}", "{}"),
        ])
    func `an answer without JWS passes as it is`(method: String, path: String, sent: String, body: String) throws {
        let call = try ServerAPICall(method: method, path: path, query: nil, body: Array(sent.utf8))
        let answer = try Self.answer(body, to: call)
        #expect(answer.body == Array(body.utf8) && answer.transactions.isEmpty)
    }

    @Test func `what a change of Advanced Commerce left behind is verified`() throws {
        let call = try ServerAPICall(method: "POST", path: Self.commercePath, query: nil, body: Array("{}".utf8))
        let both =
            #"{"signedTransactionInfo":"\#(Samples.transaction())","signedRenewalInfo":"\#(Samples.renewalInfo())"}"#
        let answer = try Self.answer(both, to: call)
        #expect(answer.transactions.count == 1 && answer.renewals.count == 1 && answer.unreadable.isEmpty)
        let refund = try Self.answer(Body.transactionInfo().body, to: call)
        #expect(refund.transactions.count == 1 && refund.renewals.isEmpty && refund.unreadable.isEmpty)
    }

    @Test func `notifications are verified, and returned as they are`() throws {
        let call = try ServerAPICall(
            method: "POST", path: Self.notificationsPath, query: nil, body: Array("{}".utf8))
        let body = #"{"notificationHistory":[{"signedPayload":"\#(Samples.notification())","sendAttempts":[]}]}"#
        #expect(try Self.answer(body, to: call).body == Array(body.utf8))
    }

    /// Answers for production that name an app's number: the page itself, an app transaction, and a notification.
    private static func numbered(_ number: Int64) -> [(path: String, method: String, sent: String, body: String)] {
        let page = #"{"signedTransactions":[],"bundleId":"\#(Samples.app)","appAppleId":\#(number)}"#
        let download = Body.appTransactionInfo(
            Samples.appTransaction { ($0.receiptType, $0.appAppleID) = ("Production", number) }
        ).body
        let notification = Samples.notification {
            $0.data?.environment = "Production"
            $0.data?.appAppleID = number
        }
        return [
            (historyPath, "GET", "", page), (appTransactionPath, "GET", "", download),
            (notificationsPath, "POST", "{}", #"{"notificationHistory":[{"signedPayload":"\#(notification)"}]}"#),
        ]
    }

    @Test(arguments: [nil, 42, 41] as [Int64?])
    func `production's number of the app is compared with the configured one`(configured: Int64?) throws {
        let verifier = ServerAPIAnswerVerifier(
            verifier: Samples.verifier, bundleID: Samples.app, appAppleID: configured, environment: .production,
            now: Samples.now)
        for (path, method, sent, body) in Self.numbered(42) {
            let call = try ServerAPICall(method: method, path: path, query: nil, body: Array(sent.utf8))
            let fault: ServerAPIAnswerFault? = configured == 41 ? .contradiction(.otherApp) : nil
            do throws(ServerAPIAnswerFault) {
                _ = try verifier.answer(httpStatus: 200, body: Array(body.utf8), to: call)
                #expect(fault == nil, "\(path)")
            } catch {
                #expect(error == fault, "\(path)")
            }
        }
    }

    private static let sandbox = ServerAPIAnswerVerifier(
        verifier: Samples.verifier, bundleID: Samples.app, environment: .sandbox, now: Samples.now)

    private static func answer(_ body: String, to call: ServerAPICall) throws -> ServerAPIAnswer {
        try sandbox.answer(httpStatus: 200, body: Array(body.utf8), to: call)
    }
}

/// Pages that become one history.
struct CustomerHistoryTests {
    private typealias Samples = ServerAPISamples

    @Test func `of several states of a transaction the one signed last counts, in any order`() throws {
        let old = try Self.verified(Samples.item("7")), other = try Self.verified(Samples.item("8"))
        let refunded = try Self.verified(
            Samples.item("7", signedAfter: 30) { $0.revocationDate = TransactionContents.signedByDefault })
        for order in [[old, refunded, other], [refunded, old, other]] {
            var history = CustomerHistory()
            history.add(order)
            #expect(history.transactions.map(\.transactionID) == ["7", "8"])
            #expect(history.transactions[0].cancellationDate != nil)
        }
    }

    @Test func `an item is no subscription, a period is one`() throws {
        var history = CustomerHistory()
        history.add([try Self.verified(Samples.item("7"))])
        #expect(!history.hasSubscription)
        history.add([try Self.verified(Samples.transaction())])
        #expect(history.hasSubscription)
    }

    @Test func `the next page needs a new position`() {
        var history = CustomerHistory()
        let pages = [("a", true), ("a", true), (nil, true), ("b", true), ("b", false), (nil, false)]
        let isUsable = pages.map { history.add(Self.page(revision: $0, hasMore: $1)) }
        #expect(isUsable == [true, false, false, true, true, true] && history.revision == "b")
    }

    private static func page(revision: String?, hasMore: Bool) -> ServerAPIAnswer {
        ServerAPIAnswer(httpStatus: 200, body: [], revision: revision, hasMore: hasMore)
    }

    private static func verified(_ jws: String) throws -> VerifiedTransaction {
        try Samples.verifier.verifyTransaction(Array(jws.utf8), at: Samples.now)
    }
}
