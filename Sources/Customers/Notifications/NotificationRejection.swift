// SPDX-License-Identifier: Apache-2.0

package import JSON
package import Receipts

/// The reason why a notification is not accepted. Contains no byte of the notification.
package enum NotificationRejection: Error, Hashable, Sendable {
    case malformed(JSONFault)
    /// JSON that is a notification of neither version.
    case unknownForm
    case tooLarge(maximumBytes: Int)
    /// The JWS, a JWS inside it, or the receipt breaks a rule.
    case notGenuine(Rule)
    /// The password of version 1 is not the app's shared secret.
    case passwordWrong
    /// The notification names no app, or its environment is none of Apple's.
    case withoutApp
    /// The app's number at Apple is not the configured number.
    case appAppleIDMismatch
    /// The receipt in a notification of version 1 is another app's.
    case receiptOfOtherApp
    /// The receipt in a notification of version 1 is not base64.
    case receiptNotBase64
    /// Of an app that is not served. Genuine if the app is signed; nil in version 1, not verified then.
    case appNotConfigured(signedApp: String?)
    case notStored(NotificationStoreFault)

    /// True if nothing proves that Apple sent the notification.
    package var isUnproven: Bool {
        switch self {
        case .malformed, .unknownForm, .tooLarge, .notGenuine, .passwordWrong: true
        case .appNotConfigured(let signedApp): signedApp == nil
        // After the signature of version 2, or the password of version 1.
        case .withoutApp, .appAppleIDMismatch, .receiptOfOtherApp, .receiptNotBase64, .notStored: false
        }
    }

    var outcome: IntakeOutcome {
        switch self {
        case .malformed, .unknownForm, .tooLarge, .notGenuine, .passwordWrong, .withoutApp, .appAppleIDMismatch,
            .receiptOfOtherApp, .receiptNotBase64:
            .invalid
        case .appNotConfigured: .unknownApp
        case .notStored: .refused
        }
    }
}
