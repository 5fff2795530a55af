// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// The pause that an upstream requested (429 with `Retry-After`).
public struct UpstreamPause: Hashable, Sendable {
    /// The limits of a pause.
    public enum Limits {
        /// The maximum; after this time the upstream is called again, whatever it requested.
        public static let longest: Duration = .seconds(3600)
    }

    /// The end of the pause, which may be past; nil if there was none.
    public private(set) var until: Instant?

    /// Creates a value without a pause.
    public init() {}

    /// Pauses until `end`, but at most for `Limits.longest`. A longer pause in effect stays as it is.
    public mutating func pause(until end: Instant, at now: Instant) {
        until = min(max(end, until ?? end), now + Limits.longest)
    }

    /// Returns the rest of the pause; nil if there is none. At most `Limits.longest`, even if the clock went back.
    public mutating func remaining(at now: Instant) -> Duration? {
        guard let end = until, now < end else { return nil }
        until = min(end, now + Limits.longest)
        return until.map { now.duration(to: $0) }
    }
}
