// SPDX-License-Identifier: Apache-2.0

import NIOHTTP1

@testable import Gateway

/// One call of each template, as a backend sends it.
struct ProxyCall: CustomStringConvertible, Sendable {
    let operation: ServerAPIOperation
    let method: HTTPMethod
    /// The path and query after `/inApps/`.
    let target: String
    var body = ""
    var contentType = "application/json"
    /// The path before the target.
    var root = "inApps"

    static let id = "2000000123456789"
    private static let uuid = "6d3f2b0e-7c0e-4c57-9a8e-0c6a1f9f1a10"

    var description: String { "\(method) \(target)" }

    static let all: [ProxyCall] = [
        ProxyCall(operation: .transactionInfo, method: .GET, target: "v1/transactions/\(id)"),
        ProxyCall(
            operation: .transactionHistory, method: .GET,
            target:
                "v2/history/\(id)?revision=a%2Bb%3D&productType=CONSUMABLE&productType=AUTO_RENEWABLE&sort=DESCENDING"),
        ProxyCall(
            operation: .transactionHistoryV1, method: .GET, target: "v1/history/\(id)?productType=CONSUMABLE"),
        ProxyCall(operation: .subscriptionStatuses, method: .GET, target: "v1/subscriptions/\(id)?status=1&status=4"),
        ProxyCall(
            operation: .appTransactionInfo, method: .GET, target: "v1/transactions/appTransactions/704346128300000123"),
        ProxyCall(operation: .orderLookup, method: .GET, target: "v1/lookup/MQ2X7Y1D3N"),
        ProxyCall(operation: .refundHistory, method: .GET, target: "v2/refund/lookup/\(id)?revision=abc"),
        ProxyCall(
            operation: .notificationHistory, method: .POST, target: "v1/notifications/history?paginationToken=abc",
            body: #"{"startDate":1700000000000,"endDate":1700000100000}"#),
        ProxyCall(operation: .testNotification, method: .POST, target: "v1/notifications/test"),
        ProxyCall(
            operation: .testNotificationStatus, method: .GET, target: "v1/notifications/test/\(uuid)_1700000000000"),
        ProxyCall(
            operation: .extendRenewalDate, method: .PUT, target: "v1/subscriptions/extend/\(id)",
            body: #"{"extendByDays":7,"extendReasonCode":1,"requestIdentifier":"\#(uuid)"}"#),
        ProxyCall(
            operation: .massExtendRenewalDates, method: .POST, target: "v1/subscriptions/extend/mass",
            body: """
                {"requestIdentifier":"\(uuid)","extendByDays":7,"extendReasonCode":1,"productId":"com.example.monthly",\
                "storefrontCountryCodes":["USA"]}
                """),
        ProxyCall(
            operation: .massExtensionStatus, method: .GET,
            target: "v1/subscriptions/extend/mass/com.example.monthly/\(uuid)"),
        ProxyCall(
            operation: .consumptionInformation, method: .PUT, target: "v2/transactions/consumption/\(id)",
            body: #"{"customerConsented":true,"deliveryStatus":"DELIVERED","sampleContentProvided":false}"#),
        ProxyCall(
            operation: .setAppAccountToken, method: .PUT, target: "v1/transactions/\(id)/appAccountToken",
            body: #"{"appAccountToken":"\#(uuid)"}"#),
        ProxyCall(operation: .finishTransaction, method: .POST, target: "v1/transactions/\(id)/finish"),
        ProxyCall(
            operation: .consumptionInformation, method: .PUT, target: "v1/transactions/consumption/\(id)",
            body: #"{"customerConsented":true,"platform":1}"#),
        ProxyCall(operation: .retentionMessagingInfo, method: .GET, target: "v1/messaging/image/list"),
        ProxyCall(operation: .retentionMessagingInfo, method: .GET, target: "v1/messaging/message/list"),
        ProxyCall(operation: .retentionMessagingInfo, method: .GET, target: "v1/messaging/default/a.monthly/de-DE"),
        ProxyCall(operation: .retentionMessagingInfo, method: .GET, target: "v1/messaging/realtime/url"),
        ProxyCall(
            operation: .retentionMessagingInfo, method: .GET, target: "v1/messaging/performanceTest/result/\(uuid)"),
        ProxyCall(
            operation: .retentionMessagingChange, method: .PUT,
            target: "v1/messaging/image/\(uuid)?imageSize=FULL_SIZE",
            body: "\u{89}PNG", contentType: "image/png"),
        ProxyCall(operation: .retentionMessagingChange, method: .DELETE, target: "v1/messaging/image/\(uuid)"),
        ProxyCall(
            operation: .retentionMessagingChange, method: .PUT, target: "v1/messaging/message/\(uuid)",
            body: #"{"header":"Stay","body":"Half the price."}"#),
        ProxyCall(operation: .retentionMessagingChange, method: .DELETE, target: "v1/messaging/message/\(uuid)"),
        ProxyCall(
            operation: .retentionMessagingChange, method: .PUT, target: "v1/messaging/default/a.monthly/de-DE",
            body: #"{"messageIdentifier":"\#(uuid)"}"#),
        ProxyCall(
            operation: .retentionMessagingChange, method: .DELETE, target: "v1/messaging/default/a.monthly/de-DE"),
        ProxyCall(
            operation: .retentionMessagingChange, method: .PUT, target: "v1/messaging/realtime/url",
            body: #"{"realtimeURL":"https://example.com/retention"}"#),
        ProxyCall(operation: .retentionMessagingChange, method: .DELETE, target: "v1/messaging/realtime/url"),
        ProxyCall(
            operation: .retentionMessagingChange, method: .POST, target: "v1/messaging/performanceTest",
            body: #"{"originalTransactionId":"\#(id)"}"#),
        ProxyCall(
            operation: .advancedCommerce, method: .POST, target: "v1/subscription/cancel/\(id)",
            body: #"{"requestInfo":{"requestReferenceId":"\#(uuid)"}}"#, root: "advancedCommerce"),
        ProxyCall(
            operation: .advancedCommerce, method: .POST, target: "v1/transaction/requestRefund/\(id)",
            body: #"{"requestInfo":{"requestReferenceId":"\#(uuid)"}}"#, root: "advancedCommerce"),
    ]

    /// The calls that change the state of one customer.
    static let changes = all.filter { [.writes, .charges].contains($0.operation.effect) }
}
