// SPDX-License-Identifier: Apache-2.0

package import JSON
package import Receipts
internal import Synchronization

/// The deprecation and sunset dates of Apple's endpoints: the operator's, and those Apple announced in its answers.
///
/// A new announcement replaces the endpoint's previous announcement, so Apple can postpone. Apple withdraws an
/// announcement by leaving it out of its answers for six hours.
package final class UpstreamLifecycle: Sendable {
    package struct State: Hashable, Sendable {
        /// The dates in effect: the earlier of each.
        package var dates: LifecycleDates
        package var announced = LifecycleDates()
        /// The targets of Apple's `Link` header with relation `deprecation`, `sunset` or `successor-version`.
        package var links: [LifecycleLink] = []
    }

    enum Limits {
        /// The time without an announcement after which it counts as withdrawn: some of Apple's servers may lack it.
        static let absence: Duration = .seconds(6 * 3600)
        /// The time between two receipts for an endpoint that is used no longer.
        static let checkInterval: Duration = .seconds(600)
    }

    private struct Announcement {
        var state: State
        /// The time of the first answer without the announcement since the last answer with it. Nil if every answer
        /// since had it.
        var missingSince: Timestamp?
    }

    private let configured: LifecycleDates
    private let announcements = Mutex<[UpstreamEndpoint: Announcement]>([:])
    private let nextChecks = Mutex<[UpstreamEndpoint: Timestamp]>([:])

    /// - Parameter configured: the operator's dates for `verifyReceipt`.
    package init(configured: LifecycleDates = LifecycleDates()) { self.configured = configured }

    /// - Returns: true if it is new.
    @discardableResult
    package func record(
        _ dates: LifecycleDates, links: [LifecycleLink], of endpoint: UpstreamEndpoint
    ) -> Bool {
        guard let new = announcement(dates, links, of: endpoint) else { return false }
        return announcements.withLock { $0.updateValue(new, forKey: endpoint) }?.state != new.state
    }

    /// Returns nil without dates and links.
    private func announcement(
        _ dates: LifecycleDates, _ links: [LifecycleLink], of endpoint: UpstreamEndpoint
    ) -> Announcement? {
        guard dates != LifecycleDates() || !links.isEmpty else { return nil }
        return Announcement(
            state: State(dates: configured(for: endpoint).earliest(dates), announced: dates, links: links))
    }

    /// Records a usable answer of an endpoint that announces nothing.
    /// - Returns: true if this withdraws an announcement.
    package func recordAbsence(of endpoint: UpstreamEndpoint, at now: Timestamp) -> Bool {
        announcements.withLock { announcements in
            guard let known = announcements[endpoint] else { return false }
            let since = known.missingSince ?? now
            guard since.advanced(by: Limits.absence) <= now else {
                announcements[endpoint]?.missingSince = since
                return false
            }
            announcements[endpoint] = nil
            return true
        }
    }

    /// Takes over an announcement that another node received. Without dates and links the announcement was withdrawn.
    /// - Returns: true if it is new. A repeated announcement does not reset `missingSince`.
    package func adopt(
        _ dates: LifecycleDates, links: [LifecycleLink], of endpoint: UpstreamEndpoint
    ) -> Bool {
        let new = announcement(dates, links, of: endpoint)
        return announcements.withLock { announcements in
            guard announcements[endpoint]?.state != new?.state else { return false }
            announcements[endpoint] = new
            return true
        }
    }

    package func state(of endpoint: UpstreamEndpoint) -> State {
        announcements.withLock { $0[endpoint]?.state } ?? State(dates: configured(for: endpoint))
    }

    /// Returns true if a subject belongs to the share that no longer depends on an endpoint near its end.
    ///
    /// At the end of the ramp all subjects do, except one subject in ten minutes: its answer shows if Apple postpones
    /// or withdraws the end.
    /// - Parameter fraction: the subject as a number from 0 to below 1.
    func moves(_ fraction: @autoclosure () -> Double, from endpoint: UpstreamEndpoint, at now: Timestamp) -> Bool {
        let share = state(of: endpoint).dates.stage(at: now).rampShare
        // Nearly always nothing is announced, and the fraction is not computed.
        guard share > 0, fraction() < share else { return false }
        return share < 1 || !isDueForCheck(endpoint, at: now)
    }

    /// Records a request to an endpoint: its answer shows the announcement, so the next check is due ten minutes later.
    /// `moves` does not record it: a cached result may answer the receipt that it chooses.
    func recordRequest(to endpoint: UpstreamEndpoint, at now: Timestamp) {
        nextChecks.withLock { $0[endpoint] = now.advanced(by: Limits.checkInterval) }
    }

    private func isDueForCheck(_ endpoint: UpstreamEndpoint, at now: Timestamp) -> Bool {
        nextChecks.withLock { $0[endpoint].map { $0 <= now } ?? true }
    }

    private func configured(for endpoint: UpstreamEndpoint) -> LifecycleDates {
        endpoint.api == .verifyReceipt ? configured : LifecycleDates()
    }
}

package struct LifecycleLink: Hashable, Sendable {
    /// The subject of the link. The raw values come from RFC 9745 §3, RFC 8594 §6 and RFC 5829 §3.3.
    package enum Relation: String, CaseIterable, Hashable, Sendable {
        case deprecation
        case sunset
        case successorVersion = "successor-version"
    }

    package var relation: Relation
    /// The URL as Apple sent it, checked to be safe in a header field.
    package var target: String

    package init(_ relation: Relation, target: String) {
        self.relation = relation
        self.target = target
    }
}

extension JSONWriter {
    package mutating func link(_ link: LifecycleLink) {
        object { json in
            json.member("rel", link.relation.rawValue)
            json.member("href", link.target)
        }
    }
}

/// An endpoint's deprecation and end, from one source. Dates that were not announced are nil.
package struct LifecycleDates: Hashable, Sendable {
    /// The date from which the endpoint should no longer be used (RFC 9745).
    package var deprecation: Timestamp?
    /// The date from which the endpoint is expected to be gone (RFC 8594).
    package var sunset: Timestamp?

    package init(deprecation: Timestamp? = nil, sunset: Timestamp? = nil) {
        self.deprecation = deprecation
        self.sunset = sunset
    }

    /// Returns the earlier of each: a client prepared for the earlier date is ready at the later date.
    func earliest(_ other: LifecycleDates) -> LifecycleDates {
        LifecycleDates(
            deprecation: [deprecation, other.deprecation].compactMap(\.self).min(),
            sunset: [sunset, other.sunset].compactMap(\.self).min())
    }

    private static let rampBegins = Duration.seconds(-30 * 86_400)
    private static let rampEnds = Duration.seconds(-7 * 86_400)

    package func stage(at now: Timestamp) -> LifecycleStage {
        guard let sunset else { return deprecation == nil ? .current : .deprecated }
        let begin = sunset.advanced(by: Self.rampBegins), end = sunset.advanced(by: Self.rampEnds)
        if now >= sunset { return .past }
        if now >= end { return .drained }
        if now <= begin { return .announced }
        let passed = begin.duration(to: now).wholeMilliseconds, whole = begin.duration(to: end).wholeMilliseconds
        return .ramping(share: Double(passed) / Double(whole))
    }
}

/// An endpoint's progress towards its end.
package enum LifecycleStage: Hashable, Sendable {
    /// Nothing was announced.
    case current
    /// It should no longer be used; no end is announced.
    case deprecated
    /// Its end is more than thirty days away.
    case announced
    /// This share of the receipts, above 0 and below 1, is answered without the endpoint.
    case ramping(share: Double)
    /// The endpoint is only the fallback.
    case drained
    case past

    /// The share of receipts that is answered without the endpoint where possible, from 0 to 1.
    package var rampShare: Double {
        switch self {
        case .current, .deprecated, .announced: 0
        case .ramping(let share): share
        case .drained, .past: 1
        }
    }

    /// The stage's name in the API and in metrics.
    package var name: String {
        switch self {
        case .current: "current"
        case .deprecated: "deprecated"
        case .announced: "announced"
        case .ramping: "ramping"
        case .drained: "drained"
        case .past: "past"
        }
    }
}
