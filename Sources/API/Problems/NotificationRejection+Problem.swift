// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import Clients
internal import Customers
package import HTTPServer
internal import HTTPTypes
internal import JSON
internal import Receipts

// Apple sends a notification again after any of these.

extension NotificationRejection: ProblemError {
    package var problem: Problem { Problem(self) }
}

extension Problem {
    fileprivate init(_ rejection: NotificationRejection) {
        switch rejection {
        case .tooLarge(let maximumBytes):
            let maximum = ByteCount.bytes(maximumBytes).configurationText
            self.init(.contentTooLarge, .bodyTooLarge, "The notification is larger than \(maximum).")
        case .appNotConfigured:
            self.init(
                .serviceUnavailable, .appNotConfigured,
                "This gateway does not serve the notification's app. Name the app in the clients file.",
                headerFields: [.retryAfter: String(RetryTimes.unknownApp)])
        case .notStored(let fault):
            self.init(
                .serviceUnavailable, .notificationNotStored, fault.explanation,
                headerFields: [.retryAfter: String(RetryTimes.notStored)])
            self.fault = fault.rawValue
        case .malformed, .unknownForm, .notGenuine, .passwordWrong, .withoutApp, .appAppleIDMismatch,
            .receiptOfOtherApp, .receiptNotBase64:
            self.init(.badRequest, .invalidNotification, rejection.explanation)
            fault = rejection.faultName
            if case .malformed(let fault) = rejection { (field, position) = (fault.field, fault.position) }
        }
    }

    /// Seconds until another delivery may succeed.
    private enum RetryTimes {
        /// An operator must change the configuration.
        static let unknownApp = 3600
        static let notStored = 60
    }
}

extension NotificationRejection {
    /// The reason in a sentence, for those that are wrong by themselves.
    fileprivate var explanation: String {
        switch self {
        case .malformed(let fault): fault.description
        case .notGenuine(let rule): rule.explanation
        case .passwordWrong:
            "The password is not the app's shared secret. Set that secret, or the account's, in the configuration."
        case .withoutApp: "The notification names no app, or no environment of Apple's."
        case .appAppleIDMismatch: "The app's number is not app_apple_id in the clients file."
        case .receiptOfOtherApp: "The receipt in the notification is another app's."
        case .receiptNotBase64: "The receipt in the notification is not base64."
        case .unknownForm, .tooLarge, .appNotConfigured, .notStored:
            "This is no App Store Server Notification of version 1 or 2."
        }
    }

    fileprivate var faultName: String? {
        switch self {
        case .malformed(let fault): fault.rule.name
        case .unknownForm: "unknown_form"
        case .notGenuine(let rule): rule.rawValue
        case .passwordWrong: "password_wrong"
        case .withoutApp: "app_missing"
        case .appAppleIDMismatch: "app_apple_id_mismatch"
        case .receiptOfOtherApp: "receipt_of_other_app"
        case .receiptNotBase64: "receipt_not_base64"
        case .tooLarge, .appNotConfigured, .notStored: nil
        }
    }
}

extension NotificationStoreFault {
    fileprivate var explanation: String {
        switch self {
        case .unreachable: "The shared store is unreachable."
        case .full: "The memory of the shared store is full. Give Redis more, or look for what fills it."
        case .backlog: "Too many notifications wait to be applied: gateway.notifications.backlog."
        case .evicts: "The shared store may evict notifications. Set Redis' maxmemory-policy to noeviction."
        case .replicas: "Too few replicas of Redis confirmed the notification: gateway.notifications.replicas."
        case .volatile:
            "The notification would end with this process. Configure Redis, or set gateway.notifications.allow_volatile."
        }
    }
}
