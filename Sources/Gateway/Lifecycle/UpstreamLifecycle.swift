// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import Receipts
internal import Synchronization

/// The deprecation and sunset dates of Apple's endpoints: the operator's, and those Apple announced in its answers.
///
/// An announcement replaces the endpoint's previous one, so Apple can postpone. Answers without dates change nothing.
public final class UpstreamLifecycle: Sendable {
    /// The dates and links of one endpoint.
    public struct State: Hashable, Sendable {
        /// The dates in effect: the earlier of each.
        public var dates: LifecycleDates
        /// The dates that Apple announced.
        public var announced = LifecycleDates()
        /// The targets of Apple's `Link` header with relation `deprecation`, `sunset` or `successor-version`.
        public var links: [LifecycleLink] = []
    }

    private let configured: LifecycleDates
    private let announcements: Mutex<[UpstreamEndpoint: State]>

    /// - Parameter configured: the operator's dates, for all endpoints.
    public init(configured: LifecycleDates = LifecycleDates()) {
        self.configured = configured
        announcements = Mutex([:])
    }

    /// Records the announcement of an endpoint.
    /// - Returns: true if it is new.
    @discardableResult
    public func record(
        _ dates: LifecycleDates, links: [LifecycleLink], of endpoint: UpstreamEndpoint
    ) -> Bool {
        guard dates != LifecycleDates() || !links.isEmpty else { return false }
        let state = State(dates: configured.earliest(dates), announced: dates, links: links)
        return announcements.withLock { $0.updateValue(state, forKey: endpoint) } != state
    }

    /// Returns the dates and links of an endpoint.
    public func state(of endpoint: UpstreamEndpoint) -> State {
        announcements.withLock { $0[endpoint] } ?? State(dates: configured)
    }
}

/// A link about the end of an endpoint.
public struct LifecycleLink: Hashable, Sendable {
    /// The subject of the link. The raw values are those of RFC 9745 §3, RFC 8594 §6 and RFC 5829 §3.3.
    public enum Relation: String, CaseIterable, Hashable, Sendable {
        /// About the deprecation.
        case deprecation
        /// About the end.
        case sunset
        /// The replacement.
        case successorVersion = "successor-version"
    }

    /// The subject of the link.
    public var relation: Relation
    /// The URL as Apple sent it, checked to be safe in a header field.
    public var target: String

    /// Creates a link.
    public init(_ relation: Relation, target: String) {
        self.relation = relation
        self.target = target
    }
}
