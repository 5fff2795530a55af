// SPDX-License-Identifier: Apache-2.0

import Gateway
import HTTPClient
import Testing

@testable import AppStore

/// The closed list of calls.
struct ServerAPICallTests {
    struct Accepted: Sendable, CustomTestStringConvertible {
        let operation: ServerAPIOperation
        let method: String
        let path: String
        var query: String?
        var body = ""
        /// The query that is sent to Apple, if it is another one.
        var sent: String?
        var testDescription: String { "\(method) \(path)?\(query ?? "")" }
    }

    private static let uuid = "758883e8-151b-47b7-abd0-60c4d804c2f5"
    private static let history = "/inApps/v2/history/2000000900000001"
    private static let messaging = "/inApps/v1/messaging"

    private static let accepted: [Accepted] = [
        .init(operation: .transactionInfo, method: "GET", path: "/inApps/v1/transactions/2000000900000001"),
        .init(operation: .transactionHistory, method: "GET", path: history),
        .init(
            operation: .transactionHistory, method: "GET", path: history,
            query: "revision=a%2Fb%3d%3D&startDate=1760000000123&endDate=1760000000124&productId=a.b_c-1&productId=d"
                + "&productType=CONSUMABLE&productType=NON_RENEWABLE&sort=DESCENDING&subscriptionGroupIdentifier=209"
                + "&inAppOwnershipType=FAMILY_SHARED&revoked=true",
            sent: "revision=a%2Fb%3D%3D&startDate=1760000000123&endDate=1760000000124&productId=a.b_c-1&productId=d"
                + "&productType=CONSUMABLE&productType=NON_RENEWABLE&sort=DESCENDING&subscriptionGroupIdentifier=209"
                + "&inAppOwnershipType=FAMILY_SHARED&revoked=true"),
        .init(
            operation: .transactionHistoryV1, method: "GET", path: "/inApps/v1/history/2000000900000001",
            query: "productType=CONSUMABLE&revision=r"),
        .init(
            operation: .subscriptionStatuses, method: "GET", path: "/inApps/v1/subscriptions/700000000000000001",
            query: "status=1&status=4"),
        .init(
            operation: .appTransactionInfo, method: "GET",
            path: "/inApps/v1/transactions/appTransactions/700000000000000001"),
        .init(operation: .orderLookup, method: "GET", path: "/inApps/v1/lookup/MKTTTVWJHQ"),
        .init(
            operation: .refundHistory, method: "GET", path: "/inApps/v2/refund/lookup/2000000900000001",
            query: "revision=r"),
        .init(
            operation: .notificationHistory, method: "POST", path: "/inApps/v1/notifications/history",
            query: "paginationToken=a:b", body: #"{"startDate":1,"endDate":2}"#, sent: "paginationToken=a%3Ab"),
        .init(operation: .testNotification, method: "POST", path: "/inApps/v1/notifications/test"),
        .init(
            operation: .testNotificationStatus, method: "GET",
            path: "/inApps/v1/notifications/test/\(uuid)_1656711609000"),
        .init(
            operation: .extendRenewalDate, method: "PUT", path: "/inApps/v1/subscriptions/extend/2000000900000001",
            body: #"{"extendByDays":1}"#),
        .init(
            operation: .massExtendRenewalDates, method: "POST", path: "/inApps/v1/subscriptions/extend/mass",
            body: #"{"extendByDays":1}"#),
        .init(
            operation: .massExtensionStatus, method: "GET",
            path: "/inApps/v1/subscriptions/extend/mass/com.example.monthly/\(uuid)"),
        .init(
            operation: .consumptionInformation, method: "PUT",
            path: "/inApps/v2/transactions/consumption/2000000900000001", body: #"{"customerConsented":true}"#),
        .init(
            operation: .setAppAccountToken, method: "PUT",
            path: "/inApps/v1/transactions/2000000900000001/appAccountToken", body: "{}"),
        .init(
            operation: .finishTransaction, method: "POST", path: "/inApps/v1/transactions/2000000900000001/finish"),
        .init(
            operation: .consumptionInformation, method: "PUT",
            path: "/inApps/v1/transactions/consumption/2000000900000001", body: #"{"platform":1}"#),
        .init(operation: .retentionMessagingInfo, method: "GET", path: messaging + "/image/list"),
        .init(operation: .retentionMessagingInfo, method: "GET", path: messaging + "/message/list"),
        .init(operation: .retentionMessagingInfo, method: "GET", path: messaging + "/default/com.example.a/de-DE"),
        .init(operation: .retentionMessagingInfo, method: "GET", path: messaging + "/realtime/url"),
        .init(operation: .retentionMessagingInfo, method: "GET", path: messaging + "/performanceTest/result/\(uuid)"),
        .init(
            operation: .retentionMessagingChange, method: "PUT", path: messaging + "/image/\(uuid)",
            query: "imageSize=BULLET_POINT", body: "\u{89}PNG"),
        .init(operation: .retentionMessagingChange, method: "DELETE", path: messaging + "/image/\(uuid)"),
        .init(
            operation: .retentionMessagingChange, method: "PUT", path: messaging + "/message/\(uuid)",
            body: #"{"header":"h","body":"b"}"#),
        .init(operation: .retentionMessagingChange, method: "DELETE", path: messaging + "/message/\(uuid)"),
        .init(
            operation: .retentionMessagingChange, method: "PUT", path: messaging + "/default/com.example.a/zh-Hans",
            body: #"{"messageIdentifier":"\#(uuid)"}"#),
        .init(operation: .retentionMessagingChange, method: "DELETE", path: messaging + "/default/com.example.a/fr"),
        .init(
            operation: .retentionMessagingChange, method: "PUT", path: messaging + "/realtime/url",
            body: #"{"realtimeURL":"https://example.com"}"#),
        .init(operation: .retentionMessagingChange, method: "DELETE", path: messaging + "/realtime/url"),
        .init(
            operation: .retentionMessagingChange, method: "POST", path: messaging + "/performanceTest",
            body: #"{"originalTransactionId":"1"}"#),
        .init(
            operation: .advancedCommerce, method: "POST",
            path: "/advancedCommerce/v1/subscription/cancel/2000000900000001", body: "{}"),
        .init(
            operation: .advancedCommerce, method: "POST",
            path: "/advancedCommerce/v1/transaction/requestRefund/2000000900000001", body: "{}"),
    ]

    /// Calls that are sent otherwise than Apple's documents show them: with values of other libraries or of the future.
    private static let lenient: [Accepted] = [
        // Apple's Python library sends the name of its constant.
        .init(operation: .transactionHistory, method: "GET", path: history, query: "revoked=True"),
        .init(operation: .transactionHistory, method: "GET", path: history, query: "productType=BUNDLE&sort=Random"),
        .init(
            operation: .transactionHistory, method: "GET", path: history, query: "startDate=soon&inAppOwnershipType=X"),
        .init(operation: .subscriptionStatuses, method: "GET", path: "/inApps/v1/subscriptions/1", query: "status=6"),
    ]

    @Test(arguments: accepted + lenient)
    func `a request for an operation is its call`(_ request: Accepted) throws {
        let call = try ServerAPICall(
            method: request.method, path: request.path, query: request.query, body: Array(request.body.utf8))
        #expect(call.operation == request.operation && call.method.rawValue == request.method)
        #expect(call.path == request.path && call.query == request.sent ?? request.query)
        #expect(call.body == Array(request.body.utf8))
    }

    @Test func `the list has every template once, and with it every operation`() {
        let matched = Self.accepted.flatMap(Self.templates)
        let names = ServerAPITemplate.all.map { "\($0.methodName) \($0.path)" }
        #expect(Set(matched.map { "\($0.methodName) \($0.path)" }).sorted() == names.sorted())
        #expect(Set(matched.map(\.operation)) == Set(ServerAPIOperation.allCases))
    }

    @Test func `each name in a template is a parameter`() {
        for template in ServerAPITemplate.all {
            #expect(template.path(template.parameters.map { "{\($0.rawValue)}" }) == template.path)
            #expect(template.parameters.count == template.path.count { $0 == "{" }, "\(template.path)")
        }
    }

    @Test(arguments: accepted)
    func `a method and path belong to one template only`(_ request: Accepted) {
        #expect(Self.templates(of: request).map(\.operation) == [request.operation])
    }

    private static func templates(of request: Accepted) -> [ServerAPITemplate] {
        let path = request.path.split(separator: "/")
        return ServerAPITemplate.all.filter { template in
            template.methodName == request.method
                && template.values(of: path)?.allSatisfy { $0.parameter.acceptsInPath($0.value) } ?? false
        }
    }

    @Test(arguments: accepted)
    func `a slash at the end of a path is ignored`(_ request: Accepted) throws {
        let call = try ServerAPICall(
            method: request.method, path: request.path + "/", query: request.query, body: Array(request.body.utf8))
        #expect(call.path == request.path && call.operation == request.operation)
    }

    struct Rejected: Sendable, CustomTestStringConvertible {
        let fault: ServerAPICallFault
        var method = "GET"
        var path = history
        var query: String?
        var body = ""
        var testDescription: String { "\(method) \(path.prefix(80))?\(query?.prefix(80) ?? "")" }
    }

    private static let rejected: [Rejected] = [
        .init(fault: .unknownPath, path: ""), .init(fault: .unknownPath, path: "/"),
        .init(fault: .unknownPath, path: "/inApps"), .init(fault: .unknownPath, path: "/inApps/v3/history/1"),
        .init(fault: .unknownPath, path: "/InApps/v2/history/1"),
        .init(fault: .unknownPath, path: "/inApps//v2/history/1"),
        .init(fault: .unknownPath, path: "/inApps/v2/history/1//"),
        .init(fault: .unknownPath, path: "/inApps/v2/history/"),
        .init(fault: .unknownPath, path: "/advancedCommerce/v1/subscription/cancel"),
        .init(fault: .unknownPath, path: "/inApps/v1/subscription/cancel/1"),
        .init(fault: .unknownPath, path: "/advancedCommerce/v1/transactions/1"),
        .init(fault: .unknownPath, path: "/inApps/v2/history"),
        .init(fault: .unknownPath, path: "/inApps/v2/x/../history/1"),
        .init(fault: .unknownPath, path: "/inApps/v1/history/1/../../../../other"),
        .init(fault: .unknownPath, path: "inApps/v2/history/1"),
        .init(fault: .unknownPath, path: "http://other.example/inApps/v2/history/1"),
        .init(fault: .wrongMethod(allowed: ["GET"]), method: "POST"),
        .init(fault: .wrongMethod(allowed: ["GET"]), method: "get"),
        .init(fault: .wrongMethod(allowed: ["PUT"]), path: "/inApps/v1/transactions/1/appAccountToken"),
        .init(fault: .wrongMethod(allowed: ["POST"]), path: "/inApps/v1/transactions/1/finish"),
        .init(fault: .wrongMethod(allowed: ["POST"]), method: "DELETE", path: "/inApps/v1/notifications/test"),
        .init(
            fault: .wrongMethod(allowed: ["GET", "PUT", "DELETE"]), method: "POST", path: messaging + "/default/p/fr"),
        .init(fault: .invalidPathParameter(.transactionID), path: "/inApps/v2/history/.."),
        .init(fault: .invalidPathParameter(.transactionID), path: "/inApps/v2/history/1%2F2"),
        .init(fault: .invalidPathParameter(.transactionID), path: "/inApps/v2/history/%31"),
        .init(fault: .invalidPathParameter(.transactionID), path: "/inApps/v2/history/1 2"),
        .init(fault: .invalidPathParameter(.transactionID), path: "/inApps/v2/history/1\u{0}"),
        .init(fault: .invalidPathParameter(.transactionID), path: "/inApps/v2/history/１２"),
        .init(fault: .invalidPathParameter(.transactionID), path: "/inApps/v2/history/1?a"),
        .init(fault: .invalidPathParameter(.transactionID), path: "/inApps/v2/history/abc"),
        .init(
            fault: .invalidPathParameter(.transactionID),
            path: "/inApps/v2/history/" + String(repeating: "1", count: 33)),
        .init(fault: .invalidPathParameter(.transactionID), path: "/inApps/v2/history/1-2"),
        .init(fault: .invalidPathParameter(.transactionID), path: "/inApps/v2/history/1.2"),
        // A word of other templates is no ID.
        .init(fault: .invalidPathParameter(.transactionID), path: "/inApps/v1/transactions/appTransactions"),
        .init(fault: .invalidPathParameter(.transactionID), path: "/inApps/v1/subscriptions/extend"),
        .init(
            fault: .invalidPathParameter(.originalTransactionID), method: "PUT",
            path: "/inApps/v1/subscriptions/extend/masses"),
        .init(
            fault: .invalidPathParameter(.change), method: "POST",
            path: "/advancedCommerce/v1/subscription/../1", body: "{}"),
        .init(
            fault: .invalidPathParameter(.change), method: "POST",
            path: "/advancedCommerce/v1/subscription/2000000900000001/1", body: "{}"),
        .init(fault: .invalidPathParameter(.imageIdentifier), method: "DELETE", path: messaging + "/image/1"),
        .init(fault: .invalidPathParameter(.locale), path: messaging + "/default/p/.."),
        .init(fault: .invalidPathParameter(.productID), path: messaging + "/default/%70/fr"),
        .init(fault: .wrongMethod(allowed: ["POST"]), method: "PUT", path: "/inApps/v1/subscriptions/extend/mass"),
        .init(fault: .invalidPathParameter(.orderID), path: "/inApps/v1/lookup/M+K"),
        .init(
            fault: .invalidPathParameter(.productID), path: "/inApps/v1/subscriptions/extend/mass/../\(uuid)"),
        .init(fault: .invalidPathParameter(.requestIdentifier), path: "/inApps/v1/subscriptions/extend/mass/p/1"),
        .init(
            fault: .invalidPathParameter(.testNotificationToken), path: "/inApps/v1/notifications/test/a%2e%2e"),
        .init(fault: .queryTooLong, query: "revision=" + String(repeating: "a", count: 4088)),
        // Received within the limit, and longer when it is encoded.
        .init(
            fault: .queryTooLong,
            query: "revision=" + String(repeating: "/", count: 1024)
                + String(repeating: "&productId=" + String(repeating: "a", count: 100), count: 20)),
        .init(fault: .invalidQueryValue(.revision), query: "revision=" + String(repeating: "a", count: 1025)),
        .init(
            fault: .tooManyQueryItems, query: Array(repeating: "productId=a", count: 65).joined(separator: "&")),
        .init(fault: .malformedQuery, query: "revision"), .init(fault: .malformedQuery, query: "&revision=a"),
        .init(fault: .malformedQuery, query: "revision=a+b"), .init(fault: .malformedQuery, query: "revision=%4"),
        .init(fault: .malformedQuery, query: "revision=%zz"), .init(fault: .malformedQuery, query: "revision=%00"),
        .init(fault: .malformedQuery, query: "revision=%0D%0AHost:x"),
        .init(fault: .malformedQuery, query: "revision=é"),
        .init(fault: .unknownQueryName, query: "status=1"), .init(fault: .unknownQueryName, query: "x=1"),
        .init(fault: .unknownQueryName, query: "Revision=1"), .init(fault: .unknownQueryName, query: "revisio%6E=1"),
        .init(fault: .unknownQueryName, query: "transactionId=1"),
        .init(fault: .unknownQueryName, path: "/inApps/v1/transactions/1", query: "revision=1"),
        .init(fault: .repeatedQueryName(.sort), query: "sort=ASCENDING&sort=ASCENDING"),
        .init(fault: .invalidQueryValue(.revision), query: "revision="),
        .init(fault: .invalidQueryValue(.revoked), query: "revoked="),
        .init(fault: .invalidQueryValue(.productID), query: "productId=" + String(repeating: "a", count: 1025)),
        .init(fault: .unexpectedBody, body: "{}"),
        .init(fault: .unexpectedBody, method: "POST", path: "/inApps/v1/notifications/test", body: "{}"),
        .init(fault: .missingBody, method: "POST", path: "/inApps/v1/notifications/history"),
        .init(
            fault: .bodyTooLarge(maximumBytes: 64 << 10), method: "POST", path: "/inApps/v1/notifications/history",
            body: "{}" + String(repeating: " ", count: 64 << 10)),
        .init(
            fault: .bodyTooLarge(maximumBytes: 64 << 10), method: "PUT", path: messaging + "/message/\(uuid)",
            body: "{}" + String(repeating: " ", count: 64 << 10)),
        .init(
            fault: .bodyTooLarge(maximumBytes: 8 << 20), method: "PUT", path: messaging + "/image/\(uuid)",
            body: String(repeating: "a", count: 8 << 20 + 1)),
        .init(fault: .missingBody, method: "PUT", path: messaging + "/image/\(uuid)"),
    ]

    @Test(arguments: rejected)
    func `any other request is rejected with its fault`(_ request: Rejected) {
        #expect(throws: request.fault) {
            try ServerAPICall(
                method: request.method, path: request.path, query: request.query, body: Array(request.body.utf8))
        }
    }

    @Test(arguments: ["[]", "1", "{", "{}{}", #"{"a":1,"a":2}"#, "{\"a\":\"\u{1}\"}", "<a/>"])
    func `a body that is no JSON object is rejected`(_ body: String) {
        let fault = #expect(throws: ServerAPICallFault.self) {
            try ServerAPICall(
                method: "PUT", path: "/inApps/v1/transactions/1/appAccountToken", query: nil, body: Array(body.utf8))
        }
        guard case .malformedBody = fault else {
            Issue.record("\(String(describing: fault))")
            return
        }
    }

    @Test func `the gateway's own calls are those of the list`() throws {
        let id = "2000000900000001"
        let calls = try [
            ServerAPICall(.transactionHistory, [id]),
            ServerAPICall(.transactionHistory, [id], query: [(.revision, "a/b=")]),
            ServerAPICall(.subscriptionStatuses, [id]), ServerAPICall(.transactionInfo, [id]),
            ServerAPICall(.appTransactionInfo, [id]),
        ]
        for call in calls {
            let again = try ServerAPICall(
                method: call.method.rawValue, path: call.path, query: call.query, body: call.body)
            #expect(again == call && call.transactionID == id)
        }
        #expect(calls.map(\.query) == [nil, "revision=a%2Fb%3D", nil, nil, nil])
    }

    @Test(arguments: ["", "..", "1/2", "a", "1%2F", "1?x=1"])
    func `an ID of another form makes no call`(_ id: String) {
        #expect(throws: ServerAPICallFault.invalidPathParameter(.transactionID)) {
            try ServerAPICall(.transactionHistory, [id])
        }
    }

    @Test func `the media type of a body is the call's`() throws {
        let image = try ServerAPICall(
            method: "PUT", path: Self.messaging + "/image/\(Self.uuid)", query: nil, body: [0x89, 0x50, 0])
        #expect(image.bodyType == .png && image.body == [0x89, 0x50, 0] && image.transactionID == nil)
        let refund = try ServerAPICall(
            method: "POST", path: "/advancedCommerce/v1/transaction/requestRefund/7", query: nil,
            body: Array("{}".utf8))
        #expect(refund.bodyType == .json && refund.transactionID == "7" && refund.change == "requestRefund")
        #expect(image.change == nil)
    }

    @Test func `a call does not show its IDs`() throws {
        let call = try ServerAPICall(.transactionHistory, ["2000000900000001"])
        #expect("\(call)" == "ServerAPICall(transaction_history)" && !"\(String(reflecting: call))".contains("20000"))
    }
}
