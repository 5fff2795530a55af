// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

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

    /// Apple's limit for an app in production, in requests per second ("Identifying rate limits").
    private var requestsPerSecond: Int {
        switch self {
        case .transactionInfo, .transactionHistory, .transactionHistoryV1, .subscriptionStatuses, .appTransactionInfo,
            .notificationHistory, .consumptionInformation, .finishTransaction:
            50
        case .extendRenewalDate, .setAppAccountToken: 20
        case .orderLookup, .refundHistory: 10
        case .testNotification, .testNotificationStatus, .massExtendRenewalDates, .massExtensionStatus: 1
        }
    }

    /// Returns Apple's limit for an app in an hour; the sandbox has a tenth.
    func requestsPerHour(at endpoint: Endpoint) -> Int {
        3600 * requestsPerSecond / (endpoint == .sandbox ? 10 : 1)
    }
}
