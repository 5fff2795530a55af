// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// The delay before a retry: random, up to a ceiling that doubles each time ("full jitter"), so that failed callers do
/// not return together.
public struct Backoff: Hashable, Sendable {
    /// The ceiling before the first retry.
    public let base: Duration
    /// The maximum of the ceiling.
    public let longest: Duration

    /// Creates a backoff; values outside `Limits` are clamped.
    public init(base: Duration = .milliseconds(100), longest: Duration = .seconds(2)) {
        self.base = base.clamped(to: Limits.span)
        self.longest = longest.clamped(to: Limits.span)
    }

    /// The limits of a backoff.
    public enum Limits {
        /// The range of both durations.
        public static let span: ClosedRange<Duration> = .milliseconds(1) ... .seconds(3600)
    }

    /// Returns a delay between zero and `min(longest, base * 2^retries)`.
    ///
    /// - Parameter retries: the number of earlier retries.
    public func delay(afterRetries retries: Int, using generator: inout some RandomNumberGenerator) -> Duration {
        .random(upTo: base.doubled(retries, upTo: longest), using: &generator)
    }
}
