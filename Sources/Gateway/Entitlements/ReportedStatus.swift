// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

package import Receipts

/// The state of a subscription at one time, as Apple reported it (`status`).
///
/// It is signed in notifications. In answers of Get All Subscription Statuses it is a plain member, as trustworthy as
/// the connection. Clients cannot submit a status.
package struct ReportedStatus: Hashable, Sendable {
    package let state: SubscriptionState
    package let date: Timestamp

    package init(_ state: SubscriptionState, at date: Timestamp) { (self.state, self.date) = (state, date) }

    /// - Parameter code: Apple's number (App Store Server API, `status`). An unknown number gives nil.
    package init?(code: Int64, at date: Timestamp) {
        switch code {
        case 1: state = .active
        case 2: state = .expired
        case 3: state = .inBillingRetry
        case 4: state = .inGracePeriod
        case 5: state = .revoked
        default: return nil
        }
        self.date = date
    }
}
