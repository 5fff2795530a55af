// SPDX-License-Identifier: Apache-2.0

internal import Gateway
internal import Receipts
internal import Resilience

/// The difference between Apple's clock and this node's, by the `Date` of Apple's answers.
struct ClockSkew: Hashable, Sendable {
    enum Limits {
        /// The largest correction: a clock that is further off needs an operator.
        static let correction: Duration = .seconds(86_400)
        /// A difference above this is reported, and a token that Apple rejected is made anew.
        static let tolerance: Duration = .seconds(30)
    }

    /// A change that an operator must know.
    enum Report: Hashable, Sendable {
        case exceeds(Duration)
        /// The clocks agree again.
        case ended
    }

    /// The time to add to this node's clock for Apple's; the smallest that explains Apple's last answer.
    private(set) var correction: Duration = .zero
    private var isReported = false

    /// Records the date of an answer.
    ///
    /// Apple's clock read `date`, cut to a whole second, at some moment of the exchange. Within that uncertainty, no
    /// difference is assumed.
    /// - Parameters:
    ///   - now: the time of this node's clock when the answer came.
    ///   - took: the duration of the exchange.
    mutating func record(_ date: Timestamp, receivedAt now: Timestamp, after took: Duration) -> Report? {
        let smallest = now.duration(to: date)
        let largest = smallest + .seconds(1) + max(.zero, took)
        correction = Duration.zero.clamped(to: smallest...largest)
            .clamped(to: .zero - Limits.correction...Limits.correction)
        let exceeds = correction.magnitude > Limits.tolerance
        defer { isReported = exceeds }
        if exceeds == isReported { return nil }
        return exceeds ? .exceeds(correction) : .ended
    }

    /// Returns true if a token made with another correction was too far off for Apple.
    func disagrees(with used: Duration) -> Bool { (correction - used).magnitude > Limits.tolerance }
}
