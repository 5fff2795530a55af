// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// The time for which an upstream asked to be left alone (429 with `Retry-After`).
public struct UpstreamPause: Hashable, Sendable {
    /// What a pause may last.
    public enum Limits {
        /// The longest; an upstream that asks for more is asked again after this.
        public static let longest: Duration = .seconds(3600)
    }

    /// When the pause ends, or ended; absent if there was none.
    public private(set) var until: Instant?

    /// No pause.
    public init() {}

    /// Pauses until then, but at most for `Limits.longest`. A pause that lasts longer already stays as it is.
    public mutating func pause(until end: Instant, at now: Instant) {
        until = min(max(end, until ?? end), now + Limits.longest)
    }

    /// How long the pause still lasts; nil if there is none. A clock that went back does not make it longer than
    /// `Limits.longest`.
    public mutating func remaining(at now: Instant) -> Duration? {
        guard let end = until, now < end else { return nil }
        until = min(end, now + Limits.longest)
        return until.map { now.duration(to: $0) }
    }
}
