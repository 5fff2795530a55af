// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// The times of the attempts to deliver one event (Standard Webhooks, "Deliverability and reliability").
package enum DeliverySchedule {
    package enum Limits {
        /// The longest `Retry-After` that is respected.
        package static let retryAfter: Duration = .seconds(3600)
        /// The share of a delay that is added at most, so that events that failed together do not return together.
        static let jitter = 0.1
    }

    /// The time from each failed attempt to the next attempt, together 75.6 hours.
    static let delays: [Duration] = [
        .seconds(5), .seconds(5 * 60), .seconds(30 * 60), .seconds(2 * 3600), .seconds(5 * 3600), .seconds(10 * 3600),
        .seconds(14 * 3600), .seconds(20 * 3600), .seconds(24 * 3600),
    ]

    /// The number of attempts, the first attempt included.
    package static let attempts = delays.count + 1

    /// Returns the time from a failed attempt to the next attempt; nil after the last attempt.
    /// - Parameters:
    ///   - attempts: the attempts so far, at least 1.
    ///   - retryAfter: the delay that the endpoint requested.
    static func delay(
        afterAttempts attempts: Int, retryAfter: Duration?, using generator: inout some RandomNumberGenerator
    ) -> Duration? {
        guard attempts < Self.attempts else { return nil }
        let delay = delays[max(0, attempts - 1)]
        let requested = min(retryAfter ?? .zero, Limits.retryAfter)
        return max(delay * (1 + .random(in: 0...Limits.jitter, using: &generator)), requested)
    }
}
