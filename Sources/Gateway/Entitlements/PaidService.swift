// SPDX-License-Identifier: Apache-2.0

internal import Receipts

/// The paid service in a subscription group. After a year of paid service Apple's share falls from 30 to 15 % (App
/// Store Connect Help, "Receiving payments for auto-renewable subscriptions").
///
/// Free trials, grace and billing retry are not paid. After a gap of more than 60 days the count starts again.
struct PaidService {
    private enum Limits {
        /// The longest gap after which the count goes on.
        static let gap: Duration = .seconds(60 * 86_400)
        static let secondsPerDay: Int64 = 86_400
    }

    private var spans: [(begin: Timestamp, end: Timestamp)] = []

    /// - Parameter timelines: the subscriptions of the group.
    init(_ timelines: [SubscriptionTimeline]) {
        spans.reserveCapacity(timelines.reduce(0) { $0 + $1.periods.count })
        for timeline in timelines {
            for period in timeline.periods where period.revocation == nil && period.isPaidByCustomer {
                guard let begin = period.start, begin < period.end else { continue }
                spans.append((begin, period.end))
            }
        }
        spans.sort { $0.begin < $1.begin }
    }

    /// Returns the whole days up to a moment. Time in several periods at once counts once.
    func days(at now: Timestamp) -> Int64 {
        var total = Duration.zero, reached = Timestamp.earliest
        for span in spans {
            let begin = max(span.begin, reached), end = min(span.end, now)
            guard begin < end else { continue }
            if reached.advanced(by: Limits.gap) < begin { total = .zero }
            total += Duration.milliseconds(end.millisecondsSince1970) - .milliseconds(begin.millisecondsSince1970)
            reached = end
        }
        return reached.advanced(by: Limits.gap) < now ? 0 : total.components.seconds / Limits.secondsPerDay
    }
}
