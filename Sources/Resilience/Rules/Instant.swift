// SPDX-License-Identifier: Apache-2.0

/// A point on the clock that never goes back. No rule here reads a clock: the caller passes the time.
///
/// An instant may lie anywhere within ±2^63 s of the clock's start, and the next instant before or after it. A jump of
/// the clock costs at most a rule's longest span, because no stored time is further ahead of `now` than that.
package typealias Instant = ContinuousClock.Instant

extension Comparable {
    package func clamped(to range: ClosedRange<Self>) -> Self { min(max(self, range.lowerBound), range.upperBound) }
}

extension Duration {
    /// Returns a uniformly random duration up to `longest`, which is not negative.
    package static func random(upTo longest: Duration, using generator: inout some RandomNumberGenerator) -> Duration {
        Duration(attoseconds: .random(in: 0...longest.attoseconds, using: &generator))
    }

    /// Returns this positive duration, doubled `exponent` times, but at most `longest`.
    package func doubled(_ exponent: Int, upTo longest: Duration) -> Duration {
        var (span, remaining) = (self, exponent)
        while remaining > 0, span < longest { (span, remaining) = (span * 2, remaining - 1) }
        return min(span, longest)
    }
}
