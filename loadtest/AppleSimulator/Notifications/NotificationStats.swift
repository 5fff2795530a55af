// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// The counts of server notifications in `GET /stats`.
package struct NotificationStats: Hashable, Sendable, Codable {
    /// Attempts that ended.
    package var sent = 0
    /// Attempts that were acknowledged with a status from 200 to 206.
    package var succeeded = 0
    /// Attempts that ended otherwise.
    package var failed = 0
    /// Notifications before or in their first attempt, and retries in flight.
    package var pending = 0
    /// Notifications that wait for a retry.
    package var pendingRetries = 0

    package init() {}

    mutating func count(_ result: SendAttemptResult) {
        sent += 1
        result == .success ? (succeeded += 1) : (failed += 1)
    }
}
