// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

package import Gateway
package import Receipts

/// The reason why a change was found.
package struct EventCause: Hashable, Sendable {
    /// The kind of the cause. The raw values appear in events.
    package enum Source: String, CaseIterable, Hashable, Sendable {
        case notification
        case verification
        /// Dates alone, such as the end of a period.
        case schedule
    }

    package var source: Source
    /// The notification's UUID; nil in version 1.
    package var notificationUUID: String?
    /// The notification's type in Apple's words, such as `DID_RENEW`.
    package var notificationType: String?
    package var subtype: String?
    /// The parts that together identify a notification without a UUID. They do not change between deliveries.
    package var notificationIdentity: [String] = []
    /// The time at which Apple signed the notification or the newest verified item; for dates, the time of the schedule.
    package var signedDate: Timestamp
    /// The transaction that the notification is about, as the notification has it; nil if it is about none. In version
    /// 1, the newest transaction of the chain that the notification names.
    package var transaction: Transaction?
    /// Apple's report of an extension for all subscribers (`summary`): a JSON object without white space.
    package var summary: [UInt8]?
    /// Apple's token of an external purchase (`externalPurchaseToken`): a JSON object without white space.
    package var externalPurchaseToken: [UInt8]?
    /// The JWS of the transaction, as Apple sent it.
    package var signedTransaction: [UInt8]?
    /// The JWS of the renewal info, as Apple sent it.
    package var signedRenewalInfo: [UInt8]?

    package init(_ source: Source, signedDate: Timestamp) {
        self.source = source
        self.signedDate = signedDate
    }
}
