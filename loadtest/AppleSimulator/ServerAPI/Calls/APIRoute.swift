// SPDX-License-Identifier: Apache-2.0

internal import NIOHTTP1

/// A path of the API, and the values in it.
struct APIRoute: Hashable, Sendable {
    let operation: APIOperation
    /// The path with asterisks for its values, for operations with several paths.
    let template: String
    /// The values of the path, in order.
    let values: [String]
    /// True for the first version of a consumption request, which has other fields.
    let isFirstVersion: Bool

    enum Problem: Error, Hashable {
        case unknownPath
        case wrongMethod
    }

    /// - Parameter path: the path behind the first slash, percent-encoded, without a query.
    init(_ method: HTTPMethod, _ path: Substring) throws(Problem) {
        let parts = path.split(separator: "/").map(\.withoutPercentEncoding)
        let matches = Self.templates.filter { $0.values(in: parts) != nil }
        guard !matches.isEmpty else { throw .unknownPath }
        guard let template = matches.first(where: { $0.method == method }), let values = template.values(in: parts)
        else { throw .wrongMethod }
        (operation, self.template) = (template.operation, template.text)
        self.values = values
        isFirstVersion = parts.dropFirst().first == "v1"
    }

    private struct Template: Sendable {
        let method: HTTPMethod
        let text: String
        let parts: [Substring]
        let operation: APIOperation

        init(_ method: HTTPMethod, _ path: String, _ operation: APIOperation) {
            (self.method, text) = (method, path)
            parts = path.split(separator: "/")
            self.operation = operation
        }

        /// Returns the values for the asterisks; nil for another path. A question mark stands for any word.
        func values(in path: [String]) -> [String]? {
            guard path.count == parts.count else { return nil }
            var values: [String] = []
            for (part, template) in zip(path, parts) {
                switch template {
                case "*": values.append(part)
                case "?", part[...]: continue
                default: return nil
                }
            }
            return values
        }
    }

    private static let templates: [Template] = [
        Template(.GET, "inApps/v2/history/*", .transactionHistory),
        Template(.GET, "inApps/v1/history/*", .transactionHistoryV1),
        Template(.GET, "inApps/v1/transactions/*", .transactionInfo),
        Template(.GET, "inApps/v1/subscriptions/*", .subscriptionStatuses),
        Template(.GET, "inApps/v1/transactions/appTransactions/*", .appTransactionInfo),
        Template(.GET, "inApps/v1/lookup/*", .orderLookup),
        Template(.GET, "inApps/v2/refund/lookup/*", .refundHistory),
        Template(.POST, "inApps/v1/notifications/history", .notificationHistory),
        Template(.POST, "inApps/v1/notifications/test", .testNotification),
        Template(.GET, "inApps/v1/notifications/test/*", .testNotificationStatus),
        Template(.POST, "inApps/v1/subscriptions/extend/mass", .massExtendRenewalDates),
        Template(.PUT, "inApps/v1/subscriptions/extend/*", .extendRenewalDate),
        Template(.GET, "inApps/v1/subscriptions/extend/mass/*/*", .massExtensionStatus),
        Template(.PUT, "inApps/v2/transactions/consumption/*", .consumptionInformation),
        Template(.PUT, "inApps/v1/transactions/consumption/*", .consumptionInformation),
        Template(.PUT, "inApps/v1/transactions/*/appAccountToken", .setAppAccountToken),
        Template(.POST, "inApps/v1/transactions/*/finish", .finishTransaction),
        Template(.GET, "inApps/v1/messaging/image/list", .retentionMessagingInfo),
        Template(.PUT, "inApps/v1/messaging/image/*", .retentionMessagingChange),
        Template(.DELETE, "inApps/v1/messaging/image/*", .retentionMessagingChange),
        Template(.GET, "inApps/v1/messaging/message/list", .retentionMessagingInfo),
        Template(.PUT, "inApps/v1/messaging/message/*", .retentionMessagingChange),
        Template(.DELETE, "inApps/v1/messaging/message/*", .retentionMessagingChange),
        Template(.GET, "inApps/v1/messaging/default/*/*", .retentionMessagingInfo),
        Template(.PUT, "inApps/v1/messaging/default/*/*", .retentionMessagingChange),
        Template(.DELETE, "inApps/v1/messaging/default/*/*", .retentionMessagingChange),
        Template(.GET, "inApps/v1/messaging/realtime/url", .retentionMessagingInfo),
        Template(.PUT, "inApps/v1/messaging/realtime/url", .retentionMessagingChange),
        Template(.DELETE, "inApps/v1/messaging/realtime/url", .retentionMessagingChange),
        Template(.POST, "inApps/v1/messaging/performanceTest", .retentionMessagingChange),
        Template(.GET, "inApps/v1/messaging/performanceTest/result/*", .retentionMessagingInfo),
        Template(.POST, "advancedCommerce/v1/subscription/?/*", .advancedCommerce),
        Template(.POST, "advancedCommerce/v1/transaction/?/*", .advancedCommerce),
    ]
}

/// The operations of the App Store Server API.
///
/// Independent of the gateway's `ServerAPIOperation` on purpose: a simulator that shared its limits could not show that
/// they are wrong. A test compares both with docs/server-api.md.
enum APIOperation: String, CaseIterable, Hashable, Sendable {
    case transactionInfo = "transaction_info"
    case transactionHistory = "transaction_history"
    /// Version 1 of the history, which leaves out finished consumables.
    case transactionHistoryV1 = "transaction_history_v1"
    case subscriptionStatuses = "subscription_statuses"
    case appTransactionInfo = "app_transaction_info"
    case orderLookup = "order_lookup"
    case refundHistory = "refund_history"
    case notificationHistory = "notification_history"
    case testNotification = "test_notification"
    case testNotificationStatus = "test_notification_status"
    case extendRenewalDate = "extend_renewal_date"
    case massExtendRenewalDates = "mass_extend_renewal_dates"
    case massExtensionStatus = "mass_extension_status"
    case consumptionInformation = "consumption_information"
    case setAppAccountToken = "set_app_account_token"
    case finishTransaction = "finish_transaction"
    case retentionMessagingInfo = "retention_messaging_info"
    case retentionMessagingChange = "retention_messaging_change"
    case advancedCommerce = "advanced_commerce"

    /// Apple's limit for an app in production, in requests per second ("Identifying rate limits"). The limits of
    /// Retention Messaging and Advanced Commerce are made up: Apple documents none.
    private var requestsPerSecond: Int {
        switch self {
        case .transactionInfo, .transactionHistory, .transactionHistoryV1, .subscriptionStatuses, .appTransactionInfo,
            .notificationHistory, .consumptionInformation, .finishTransaction:
            50
        case .extendRenewalDate, .setAppAccountToken: 20
        case .orderLookup, .refundHistory, .retentionMessagingInfo, .retentionMessagingChange, .advancedCommerce: 10
        case .testNotification, .testNotificationStatus, .massExtendRenewalDates, .massExtensionStatus: 1
        }
    }

    /// Returns Apple's limit for an app in an hour; the sandbox has a tenth.
    func requestsPerHour(at endpoint: Endpoint) -> Int {
        3600 * requestsPerSecond / (endpoint == .sandbox ? 10 : 1)
    }
}
