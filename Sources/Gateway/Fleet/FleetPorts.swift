// SPDX-License-Identifier: Apache-2.0

package import Receipts
package import Resilience

/// The ports to the state that all nodes share: all in Redis, or all in this process.
package struct FleetPorts: Sendable {
    package var cache: any UpstreamCache
    /// The token buckets of clients, and the budget for requests to Apple.
    package var limiter: any RateLimiter
    package var leases: any FlightLeases
    package var fleetState: any FleetState
    /// The customer states that notifications have left; nil if no notifications are received.
    package var states: (any CustomerStates)?

    package init(
        cache: any UpstreamCache, limiter: any RateLimiter, leases: any FlightLeases, fleetState: any FleetState,
        states: (any CustomerStates)? = nil
    ) {
        self.cache = cache
        self.limiter = limiter
        self.leases = leases
        self.fleetState = fleetState
        self.states = states
    }
}

/// A fact about an endpoint that one node learns and all nodes need.
package enum FleetUpdate: Hashable, Sendable {
    case pause(Duration)
    /// Apple announced the endpoint's end.
    case lifecycle(LifecycleDates, links: [LifecycleLink])
}

/// Publishes such facts to the other nodes.
package protocol FleetState: Sendable {
    /// Publishes an update. Returns at once: no request waits for it, and a lost update is learnt again.
    func publish(_ update: FleetUpdate, of endpoint: UpstreamEndpoint)

    /// Publishes a pause that Apple requested for one of its quotas (429). Returns at once, too.
    func publish(pause: Duration, of quota: ServerAPIQuota)
}

/// The state of a fleet of one node: nothing is published.
package struct EmbeddedFleetState: FleetState {
    package init() {}

    package func publish(_ update: FleetUpdate, of endpoint: UpstreamEndpoint) {}

    package func publish(pause: Duration, of quota: ServerAPIQuota) {}
}

/// All transactions of one app and environment with the same original transaction ID.
package struct PurchaseChain: Hashable, Sendable {
    package let bundleID: String
    package let environment: Environment
    package let originalTransactionID: String

    package init(bundleID: String, environment: Environment, originalTransactionID: String) {
        self.bundleID = bundleID
        self.environment = environment
        self.originalTransactionID = originalTransactionID
    }
}

/// The newest signed state of a chain, as far as Apple has reported it by server notifications.
package struct CustomerState: Hashable, Sendable {
    /// The transactions that notifications were about, each in its newest signed state.
    package var transactions: [Transaction]
    /// The newest signed plan, if any. A list, because Apple may rename a chain.
    package var renewals: [Renewal]

    package init(transactions: [Transaction] = [], renewals: [Renewal] = []) {
        self.transactions = transactions
        self.renewals = renewals
    }

    /// The bytes in memory, estimated.
    package var byteCount: Int { transactions.byteCount + renewals.byteCount }

    /// The time up to which the state is known: the newest signing time. Nil for an empty state.
    package var signedDate: Timestamp? {
        (transactions.compactMap(\.signedDate) + renewals.compactMap(\.signedDate)).max()
    }
}

/// The customer states that notifications have left, for verifications.
package protocol CustomerStates: Sendable {
    /// Returns the known states of these chains; nil if the store is unreachable.
    func states(of chains: [PurchaseChain]) async -> [CustomerState]?
}
