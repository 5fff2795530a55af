// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// How long to wait before trying again: a random span up to a ceiling that doubles each time ("full jitter"), so that
/// callers who failed together do not come back together.
public struct Backoff: Hashable, Sendable {
    /// The ceiling before the first retry.
    public let base: Duration
    /// What the ceiling never exceeds.
    public let longest: Duration

    /// What lies outside `Limits` is taken for the nearest that does not.
    public init(base: Duration = .milliseconds(100), longest: Duration = .seconds(2)) {
        self.base = base.clamped(to: Limits.span)
        self.longest = longest.clamped(to: Limits.span)
    }

    /// What a backoff may say.
    public enum Limits {
        /// Both spans.
        public static let span: ClosedRange<Duration> = .milliseconds(1) ... .seconds(3600)
    }

    /// A span between zero and `min(longest, base * 2^retries)`.
    ///
    /// - Parameter retries: how many retries were made before; 0 for the first.
    public func delay(afterRetries retries: Int, using generator: inout some RandomNumberGenerator) -> Duration {
        .random(upTo: base.doubled(retries, upTo: longest), using: &generator)
    }
}
