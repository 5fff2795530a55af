// SPDX-License-Identifier: Apache-2.0

internal import Cryptography
package import Gateway
package import Receipts

/// A call for an app in an environment.
package struct ServerAPIRequest: Sendable, Redacted {
    /// The share of the app's budget that a call may use.
    package enum Share: Hashable, Sendable {
        /// The whole budget.
        case full
        /// The part for transactions that a client named without evidence, in a request or through the proxy.
        case withoutEvidence
    }

    package var call: ServerAPICall
    package var bundleID: String
    package var environment: UpstreamEnvironment
    package var share: Share
    /// False if the receiver verifies the notifications of a history one by one, so that a forged notification does not
    /// withhold the rest.
    package var verifiesNotifications = true
    /// The verifier of the answer; nil for the verifier in force when the answer arrives.
    package var verifier: ReceiptVerifier?

    package init(
        _ call: ServerAPICall, bundleID: String, environment: UpstreamEnvironment, share: Share
    ) {
        self.call = call
        self.bundleID = bundleID
        self.environment = environment
        self.share = share
    }
}

/// Apple's answer with a status 2xx. Each JWS in it is verified, and of the call's app and environment, unless the
/// request leaves notifications to the receiver.
package struct ServerAPIAnswer: Sendable, Redacted {
    package var httpStatus: Int
    /// Apple's body, unchanged.
    package var body: [UInt8]
    package var transactions: [VerifiedTransaction] = []
    package var renewals: [ReportedRenewal] = []
    /// The transactions and plans that cannot be read.
    package var unreadable: [UnreadableItem] = []
    package var appTransaction: VerifiedAppTransaction?
    /// `revision`: the position in a history.
    package var revision: String?
    /// `hasMore`: true if the next page of a history waits.
    package var hasMore = false
    /// The JWS of the notifications on a page of the notification history.
    package var signedPayloads: [[UInt8]] = []
    /// `paginationToken`: the position in the notification history.
    package var paginationToken: String?
    /// The token of a test notification that was requested.
    package var testNotificationToken: String?
    /// Apple's attempts to deliver a test notification.
    package var sendAttempts: [SendAttempt] = []
}

/// A signed renewal info, and the state that Apple reports beside it.
package struct ReportedRenewal: Sendable {
    package var renewalInfo: VerifiedRenewalInfo
    package var status: ReportedStatus?
}

/// An attempt of Apple's to deliver a notification.
package struct SendAttempt: Hashable, Sendable {
    package var date: Timestamp
    /// `sendAttemptResult`, such as `SUCCESS` or `TIMED_OUT`.
    package var result: String
}

package enum ServerAPIResult: Sendable {
    case answered(ServerAPIAnswer)
    /// Apple's error with a code, and its body as Apple sent it.
    case refused(ServerAPIError, httpStatus: Int, body: [UInt8])
    /// 401: Apple does not accept the key's token, or the app was never released in this environment.
    case unauthorized(ServerAPIKey)
    /// No answer. `retryAfter` is the time after which the same call may be made again, if it is known.
    /// `mayHaveTakenEffect` is false if Apple certainly did not carry out the call.
    case unanswered(DegradedReason, retryAfter: Duration? = nil, mayHaveTakenEffect: Bool = false)
}

/// `errorCode` of an error answer, such as 4040010.
package struct ServerAPIError: Error, Hashable, Sendable {
    package let code: Int64
}
