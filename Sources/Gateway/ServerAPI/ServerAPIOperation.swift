// SPDX-License-Identifier: Apache-2.0

/// The operations of the App Store Server API: calls that share a limit, a right and an effect. The raw values appear in
/// metrics, logs and stored names.
package enum ServerAPIOperation: String, CaseIterable, Hashable, Sendable {
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
    /// The reads of the Retention Messaging API: lists, default messages, the real-time URL, results of tests.
    case retentionMessagingInfo = "retention_messaging_info"
    /// Its changes, which concern every customer who is about to cancel.
    case retentionMessagingChange = "retention_messaging_change"
    /// The changes of the Advanced Commerce API: cancellations, revocations, refunds, prices, descriptions, migrations.
    case advancedCommerce = "advanced_commerce"

    /// Apple's limit for an app in production, in requests per second, which Apple enforces over an hour ("Identifying
    /// rate limits"). In the sandbox it is a tenth. Apple documents none for Retention Messaging and Advanced Commerce:
    /// their limits are the gateway's.
    package var requestsPerSecond: Int {
        switch self {
        case .transactionInfo, .transactionHistory, .transactionHistoryV1, .subscriptionStatuses, .appTransactionInfo,
            .notificationHistory, .consumptionInformation, .finishTransaction:
            50
        case .extendRenewalDate, .setAppAccountToken: 20
        case .orderLookup, .refundHistory, .retentionMessagingInfo, .retentionMessagingChange, .advancedCommerce: 10
        case .testNotification, .testNotificationStatus, .massExtendRenewalDates, .massExtensionStatus: 1
        }
    }

    /// True for the operations that verification itself needs.
    package var isPartOfVerification: Bool {
        switch self {
        case .transactionHistory, .transactionHistoryV1, .subscriptionStatuses, .appTransactionInfo: true
        default: false
        }
    }

    /// True for the operations of an API that Apple opens to single apps, on request.
    package var needsAccess: Bool {
        [.retentionMessagingInfo, .retentionMessagingChange, .advancedCommerce].contains(self)
    }

    /// True for the operations whose failures say nothing about the host, on which verification depends: Apple may end
    /// version 1 of the history, or suspend an API that it opens to single apps, and nothing else.
    package var failsAlone: Bool { self == .transactionHistoryV1 || needsAccess }

    /// The effect of an operation, which decides the right that a client needs for it.
    package enum Effect: Hashable, Sendable {
        case reads
        /// Changes the state of one customer.
        case writes
        /// Changes the state of many customers, or reaches a server of the app's.
        case writesForMany
        /// Changes what one customer pays, or gets back.
        case charges
    }

    package var effect: Effect {
        switch self {
        case .transactionInfo, .transactionHistory, .transactionHistoryV1, .subscriptionStatuses, .appTransactionInfo,
            .orderLookup, .refundHistory, .notificationHistory, .testNotificationStatus, .massExtensionStatus,
            .retentionMessagingInfo:
            .reads
        case .extendRenewalDate, .consumptionInformation, .setAppAccountToken, .finishTransaction: .writes
        case .massExtendRenewalDates, .testNotification, .retentionMessagingChange: .writesForMany
        case .advancedCommerce: .charges
        }
    }
}

/// One of Apple's quotas: an operation, of an app, in an environment.
package struct ServerAPIQuota: Hashable, Sendable {
    package let bundleID: String
    package let environment: UpstreamEnvironment
    package let operation: ServerAPIOperation

    package init(bundleID: String, environment: UpstreamEnvironment, operation: ServerAPIOperation) {
        self.bundleID = bundleID
        self.environment = environment
        self.operation = operation
    }
}

/// The outcome of one call of the App Store Server API. The raw values appear in metrics.
package enum ServerAPICallOutcome: String, CaseIterable, Hashable, Sendable {
    case answered
    /// Apple does not know the transaction, app or order (404).
    case notFound = "not_found"
    /// Another error with a code.
    case refused
    /// 401: Apple does not accept the token, or the app was never released in this environment.
    case unauthorized
    /// 429.
    case throttled
    case serverError = "server_error"
    /// An answer that cannot be read.
    case unusable
    /// An answer that contradicts what Apple signed, or of another app or environment.
    case tampered
    /// No answer: the network, TLS or a timeout.
    case failed
    /// Not sent: the app's budget is used up.
    case budget
    /// Not sent: a pause of the key or the quota, the circuit breaker, or no concurrency slot.
    case paused
}

/// The form of the IDs of transactions, original transactions and app transactions, wherever an ID is received.
///
/// Apple does not document it. Its IDs have up to 20 digits; letters are for those to come.
package enum TransactionIDForm {
    package static let maximumBytes = 32

    /// The form in words, as messages need it after "must be" or "consists of".
    package static let description = "1 to \(maximumBytes) letters and digits, with at least one digit"
}

extension String {
    /// True for the form of a transaction ID. A word without digits, such as a word in Apple's paths, is no transaction
    /// ID.
    package var isTransactionID: Bool {
        (1...TransactionIDForm.maximumBytes).contains(utf8.count) && utf8.allSatisfy { $0.isDigit || $0.isLetter }
            && utf8.contains(where: \.isDigit)
    }
}

extension UInt8 {
    fileprivate var isDigit: Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(self) }

    fileprivate var isLetter: Bool { (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(self | 0x20) }
}
