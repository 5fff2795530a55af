// SPDX-License-Identifier: Apache-2.0

package import Receipts

/// A span of Apple's notification history.
package struct RecoverySpan: Hashable, Sendable {
    package let start: Timestamp
    package let end: Timestamp

    package enum Limits {
        /// The time before the end of the last recovery that is read again: Apple may sign late, and clocks differ.
        package static let overlap: Duration = .seconds(600)
        /// The part that is read if nothing is known of earlier recoveries.
        package static let unknown: Duration = .seconds(86_400)
        /// The longest span. Its end is recorded before the next: Apple's order within a span is not documented.
        package static let longest: Duration = unknown + overlap
        /// Apple's limits, 180 days and 30 in the sandbox, without an hour in which pages are read.
        package static let productionHistory: Duration = .seconds(180 * 86_400 - 3600)
        package static let sandboxHistory: Duration = .seconds(30 * 86_400 - 3600)
    }

    /// Returns the span to read next; nil if there is none before `now`.
    /// - Parameter recovered: the time up to which all is read; nil if it is unknown.
    package init?(after recovered: Timestamp?, in environment: Environment, at now: Timestamp) {
        let read = recovered ?? now.advanced(by: .zero - Limits.unknown)
        let start = read.advanced(by: .zero - Limits.overlap)
        self.init(from: start, to: now, in: environment, at: now)
    }

    /// Creates the first part of a span that Apple's history may have; nil if there is none.
    package init?(from start: Timestamp, to end: Timestamp, in environment: Environment, at now: Timestamp) {
        let history = environment == .production ? Limits.productionHistory : Limits.sandboxHistory
        self.start = max(start, now.advanced(by: .zero - history))
        self.end = min(end, self.start.advanced(by: Limits.longest))
        guard self.start < self.end else { return nil }
    }
}

struct RecoverySchedule: Sendable {
    enum Limits {
        /// The delay after the first failure, which doubles with each further failure up to the interval.
        static let retry: Duration = .seconds(60)
        /// The delay if another node reads the history, or the store is unreachable or does not record a loss.
        static let leased: Duration = .seconds(30)
        static let doublings = 16
    }

    enum Outcome: Hashable, Sendable {
        /// The history is read up to this time, by this node or another node.
        case recovered(upTo: Timestamp)
        /// A limit of one run is reached.
        case interrupted
        /// Another node reads the history, or the store is unreachable.
        case leased
        /// Apple does not know the app in this environment, or rejects its key.
        case appUnknown
        case failed
    }

    private let interval: Duration
    private var nextRun: Timestamp
    /// The time up to which the history must be read whatever the interval.
    private var required: Timestamp
    private var failures = 0
    /// The time since which the store lost notifications, until it is recorded.
    private(set) var lostSince: Timestamp?
    /// True if Apple did not know the app in the last run.
    private(set) var isAppUnknown = false

    init(interval: Duration, startingAt now: Timestamp, after delay: Duration) {
        self.interval = interval
        nextRun = now.advanced(by: delay)
        required = now
    }

    /// Returns true if a run is due, also if the clock was set back.
    func isDue(at now: Timestamp) -> Bool {
        nextRun <= now || now.advanced(by: interval + RecoverySpan.Limits.overlap) < nextRun
    }

    /// Returns true if the history must be read now.
    /// - Parameter recovered: the time up to which the fleet has read it; nil if it is unknown.
    func isRequired(after recovered: Timestamp?, at now: Timestamp) -> Bool {
        guard let recovered else { return true }
        return recovered < required || recovered.advanced(by: interval) <= now
    }

    /// Requires the history to be read at once, because the store lost what came after a time.
    mutating func recordLoss(since time: Timestamp, at now: Timestamp) {
        lostSince = min(lostSince ?? time, time)
        (nextRun, required) = (now, now)
    }

    mutating func removeLoss(since time: Timestamp) {
        if lostSince == time { lostSince = nil }
    }

    mutating func record(_ outcome: Outcome, at now: Timestamp) {
        isAppUnknown = outcome == .appUnknown
        switch outcome {
        case .recovered(let end):
            failures = 0
            nextRun = isRequired(after: end, at: now) ? now : end.advanced(by: interval)
            // Reported during the run, or not recorded by the store.
            if lostSince != nil { nextRun = now.advanced(by: Limits.leased) }
        case .interrupted: nextRun = now
        case .leased: nextRun = now.advanced(by: Limits.leased)
        case .appUnknown: nextRun = now.advanced(by: interval)
        case .failed:
            nextRun = now.advanced(by: min(interval, Limits.retry * (1 << failures)))
            failures = min(failures + 1, Limits.doublings)
        }
    }
}
