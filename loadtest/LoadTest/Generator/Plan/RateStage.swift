// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// A stretch of a run in which the rate stays or changes evenly.
struct RateStage: Hashable, Sendable {
    /// Requests per second at the beginning.
    let from: Double
    /// Requests per second at the end.
    let to: Double
    /// How long it takes; infinite for a run that only a number of requests ends.
    let seconds: Double

    /// How many requests are due in all of it.
    var count: Double { (from + to) / 2 * seconds }

    /// How many are due in its first seconds.
    func count(by elapsed: Double) -> Double {
        guard seconds.isFinite, elapsed < seconds else { return min(elapsed, seconds) * (from + to) / 2 }
        return from * elapsed + (to - from) * elapsed * elapsed / (2 * seconds)
    }

    /// When so many have been due, in seconds from its beginning.
    func time(ofCount count: Double) -> Double {
        guard count > 0 else { return 0 }
        let growth = seconds.isFinite && seconds > 0 ? (to - from) / seconds : 0
        // The root of `from * t + growth / 2 * t * t = count` in the form that does not cancel where growth is small.
        return 2 * count / (from + (from * from + 2 * growth * count).squareRoot())
    }
}
