// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// A point on the clock that never goes back. No rule here reads a clock: whoever asks says what time it is.
///
/// An instant may lie anywhere within ±2^63 s of the clock's start, and the next one anywhere before or after it: what
/// a rule has stored is never further ahead of `now` than the rule's own longest span, so a jump of the clock costs at
/// most that span.
public typealias Instant = ContinuousClock.Instant

extension Comparable {
    /// The nearest value in `range`.
    func clamped(to range: ClosedRange<Self>) -> Self {
        min(max(self, range.lowerBound), range.upperBound)
    }
}

extension Duration {
    /// A span drawn evenly from all up to `longest`, which is not negative.
    static func random(upTo longest: Duration, using generator: inout some RandomNumberGenerator) -> Duration {
        Duration(attoseconds: .random(in: 0...longest.attoseconds, using: &generator))
    }

    /// Twice this, `exponent` times, but at most `longest`. This must be positive.
    func doubled(_ exponent: Int, upTo longest: Duration) -> Duration {
        var (span, remaining) = (self, exponent)
        while remaining > 0, span < longest { (span, remaining) = (span * 2, remaining - 1) }
        return min(span, longest)
    }
}
