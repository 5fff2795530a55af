// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// The outcome of one call of the App Store Server API. The raw values are those of metrics.
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
