// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// What `rehearse --format json` prints.
struct RehearsalReport: Encodable, Sendable {
    let rows: [RehearsalRow]
    let summary: RehearsalSummary
}

/// One interval. Counts are of this interval; the breaker is as it stood at the end.
struct RehearsalRow: Encodable, Hashable, Sendable {
    /// The end of the interval, in seconds since the beginning.
    let seconds: Double
    let requests: Int
    /// Nil if no request ended.
    let p50Milliseconds: Double?
    let p99Milliseconds: Double?
    let appleAsked: Int
    let appleFailed: Int
    let breaker: String?
    let breakerTrips: Int
    let verdicts: Verdicts
    let errors: Int

    /// Genuine by source, and what is not genuine.
    struct Verdicts: Encodable, Hashable, Sendable {
        let apple, stale, degraded, local, undecided, rejected: Int
    }

    private enum CodingKeys: String, CodingKey {
        case seconds, requests, breaker, verdicts, errors
        case p50Milliseconds = "p50_ms"
        case p99Milliseconds = "p99_ms"
        case appleAsked = "apple_asked"
        case appleFailed = "apple_failed"
        case breakerTrips = "breaker_trips"
    }
}

extension RehearsalRow {
    /// - Parameters:
    ///   - end: of the interval, since the beginning.
    ///   - tally: of the interval.
    ///   - before: how things stood at its beginning.
    ///   - after: how they stood at its end.
    init(end: Duration, _ tally: Tally, _ before: Reading, _ after: Reading) {
        seconds = end.seconds.rounded(toDecimals: 1)
        requests = tally.requests
        p50Milliseconds = tally.latencies.percentile(50)?.milliseconds.rounded(toDecimals: 2)
        p99Milliseconds = tally.latencies.percentile(99)?.milliseconds.rounded(toDecimals: 2)
        appleAsked = after.asked - before.asked
        appleFailed = after.failed - before.failed
        breaker = after.breaker
        breakerTrips = max(0, after.trips - before.trips)
        verdicts = Verdicts(
            apple: tally[.apple], stale: tally[.stale], degraded: tally[.degraded], local: tally[.local],
            undecided: tally[.undecided], rejected: tally[.rejected])
        errors = tally[.error]
    }
}

/// The whole run.
struct RehearsalSummary: Encodable, Hashable, Sendable {
    /// Requests that were sent.
    let requests: Int
    /// Answered with a verdict, or with the word that there is none.
    let answered: Int
    let genuine: Int
    /// Genuine without Apple's present word, although it was wanted.
    let degraded: Int
    let appleAsked: Int
    let appleFailed: Int
    let slowestMilliseconds: Double

    private enum CodingKeys: String, CodingKey {
        case requests, answered, genuine, degraded
        case appleAsked = "apple_asked"
        case appleFailed = "apple_failed"
        case slowestMilliseconds = "slowest_ms"
    }
}

extension RehearsalSummary {
    init(_ tally: Tally, _ end: Reading) {
        requests = tally.requests
        answered = tally.requests - tally[.error]
        genuine = tally.genuine
        degraded = tally[.stale] + tally[.degraded]
        appleAsked = end.asked
        appleFailed = end.failed
        slowestMilliseconds = tally.latencies.slowest.milliseconds.rounded(toDecimals: 2)
    }

    /// Whether every genuine receipt was called genuine.
    var isGood: Bool { requests > 0 && genuine == requests }

    /// For readers.
    var text: String {
        "\(answered.grouped) of \(requests.grouped) requests answered, \(genuine.grouped) genuine, "
            + "\(degraded.grouped) of them degraded (stale or from the receipt alone); "
            + "the slowest answer took \(Int(slowestMilliseconds.rounded()).grouped) ms. "
            + "Apple was asked \(appleAsked.grouped) times and failed \(appleFailed.grouped) times."
    }
}
