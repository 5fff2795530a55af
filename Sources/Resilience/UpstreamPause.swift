// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// The pause that an upstream requested (429 with `Retry-After`).
package struct UpstreamPause: Hashable, Sendable {
    package enum Limits {
        /// The maximum; after this time the upstream is called again, whatever it requested.
        package static let longest: Duration = .seconds(3600)
    }

    /// The end of the pause, which may be past; nil if there was none.
    package private(set) var until: Instant?

    package init() {}

    /// Pauses until `end`, but at most for `Limits.longest`. A longer pause in effect stays as it is.
    package mutating func pause(until end: Instant, at now: Instant) {
        until = min(max(end, until ?? end), now + Limits.longest)
    }

    /// Returns the rest of the pause; nil if there is none. At most `Limits.longest`, even if the clock went back.
    package mutating func remaining(at now: Instant) -> Duration? {
        guard let end = until, now < end else { return nil }
        until = min(end, now + Limits.longest)
        return until.map { now.duration(to: $0) }
    }
}
