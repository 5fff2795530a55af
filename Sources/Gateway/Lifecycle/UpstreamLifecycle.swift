// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import Receipts
internal import Synchronization

/// What is known of the end of Apple's endpoints: the operator's dates, and those Apple announced in its answers.
///
/// An announcement replaces the one before it from the same endpoint, so that Apple can also postpone. An answer without
/// dates changes nothing.
public final class UpstreamLifecycle: Sendable {
    /// What is known of one endpoint.
    public struct State: Hashable, Sendable {
        /// The dates that count: the earlier of each.
        public var dates: LifecycleDates
        /// What Apple announced.
        public var announced = LifecycleDates()
        /// Where to read about it: the targets of Apple's `Link` header with relation `deprecation`, `sunset` or
        /// `successor-version`.
        public var links: [LifecycleLink] = []
    }

    private let configured: LifecycleDates
    private let learnt: Mutex<[UpstreamEndpoint: State]>

    /// - Parameter configured: the operator's dates, for all endpoints.
    public init(configured: LifecycleDates = LifecycleDates()) {
        self.configured = configured
        learnt = Mutex([:])
    }

    /// Takes note of what an answer of this endpoint announced.
    /// - Returns: whether that is new.
    @discardableResult
    public func learn(
        _ dates: LifecycleDates, links: [LifecycleLink], of endpoint: UpstreamEndpoint
    ) -> Bool {
        guard dates != LifecycleDates() || !links.isEmpty else { return false }
        let state = State(dates: configured.earliest(dates), announced: dates, links: links)
        return learnt.withLock { $0.updateValue(state, forKey: endpoint) } != state
    }

    /// What is known of an endpoint.
    public func state(of endpoint: UpstreamEndpoint) -> State {
        learnt.withLock { $0[endpoint] } ?? State(dates: configured)
    }
}

/// A link about the end of an endpoint.
public struct LifecycleLink: Hashable, Sendable {
    /// What the link is about. The raw values are those of RFC 9745 §3, RFC 8594 §6 and RFC 5829 §3.3.
    public enum Relation: String, CaseIterable, Hashable, Sendable {
        /// About the deprecation.
        case deprecation
        /// About the end.
        case sunset
        /// What to use instead.
        case successorVersion = "successor-version"
    }

    /// What it is about.
    public var relation: Relation
    /// Where it points to, as Apple sent it; checked to be safe in a header field.
    public var target: String

    /// A link.
    public init(_ relation: Relation, target: String) {
        self.relation = relation
        self.target = target
    }
}
