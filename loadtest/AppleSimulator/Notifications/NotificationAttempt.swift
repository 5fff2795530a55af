// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import Receipts

/// One try to deliver a notification, as the notification history has it.
struct NotificationAttempt: Hashable, Sendable {
    let date: Timestamp
    let result: SendAttemptResult

    /// The most attempts of a notification: the first attempt, and five retries.
    static let maximumCount = 6
}

/// A value of `sendAttemptResult`.
enum SendAttemptResult: String, CaseIterable, Hashable, Sendable {
    case success = "SUCCESS"
    case timedOut = "TIMED_OUT"
    case tlsIssue = "TLS_ISSUE"
    case circularRedirect = "CIRCULAR_REDIRECT"
    case noResponse = "NO_RESPONSE"
    case socketIssue = "SOCKET_ISSUE"
    case unsupportedCharset = "UNSUPPORTED_CHARSET"
    case invalidResponse = "INVALID_RESPONSE"
    case prematureClose = "PREMATURE_CLOSE"
    case unsuccessfulStatus = "UNSUCCESSFUL_HTTP_RESPONSE_CODE"
    case other = "OTHER"
}

extension SendAttemptResult {
    /// The result of a complete response. Redirects are not followed.
    init(status: Int) {
        self = (200...206).contains(status) ? .success : .unsuccessfulStatus
    }
}
