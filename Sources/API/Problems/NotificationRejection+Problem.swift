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
            // An operator must change the configuration.
            self.init(
                .serviceUnavailable, .appNotConfigured,
                "This gateway does not serve the notification's app. Name the app in the clients file.",
                headerFields: [.retryAfter: "3600"])
        case .notStored(let fault):
            self.init(
                .serviceUnavailable, .notificationNotStored, fault.explanation, fault: fault.rawValue,
                headerFields: [.retryAfter: "60"])
        case .malformed(let fault):
            self.init(
                .badRequest, .invalidNotification, fault.description, field: fault.field, position: fault.position,
                fault: fault.rule.name)
        case .unknownForm:
            self.init(invalid: "unknown_form", "This is no App Store Server Notification of version 1 or 2.")
        case .notGenuine(let rule): self.init(invalid: rule.rawValue, rule.explanation)
        case .passwordWrong:
            self.init(
                invalid: "password_wrong",
                "The password is not the app's shared secret. Set that secret, or the account's, in the configuration.")
        case .withoutApp:
            self.init(invalid: "app_missing", "The notification names no app, or no environment of Apple's.")
        case .appAppleIDMismatch:
            self.init(invalid: "app_apple_id_mismatch", "The app's number is not app_apple_id in the clients file.")
        case .receiptOfOtherApp:
            self.init(invalid: "receipt_of_other_app", "The receipt in the notification is another app's.")
        case .receiptNotBase64:
            self.init(invalid: "receipt_not_base64", "The receipt in the notification is not base64.")
        }
    }

    private init(invalid fault: String, _ explanation: String) {
        self.init(.badRequest, .invalidNotification, explanation, fault: fault)
    }
}

extension NotificationStoreFault {
    fileprivate var explanation: String {
        switch self {
        case .unreachable: "The shared store is unreachable."
        case .full: "The memory of the shared store is full. Give Redis more, or look for what fills it."
        case .backlog: "Too many notifications wait to be applied: gateway.notifications.backlog."
        case .evicts: "The shared store may evict notifications. \(NotificationStoreFault.evictionAdvice)"
        case .replicas: "Too few replicas of Redis confirmed the notification: gateway.notifications.replicas."
        case .volatile:
            "The notification would end with this process. Configure Redis, or set gateway.notifications.allow_volatile."
        }
    }
}
