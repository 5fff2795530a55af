// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// Decides whether a request is admitted, by the token buckets it is charged to.
///
/// A decision never fails, and never waits longer than a command to the store may take: each policy has a rule for an
/// unavailable store.
public protocol RateLimiter: Sendable {
    /// Takes the tokens of all charges or of none.
    ///
    /// Policies in shadow mode never refuse: if the others admit the request, they take their tokens or report a lack
    /// of them.
    ///
    /// - Parameter charges: the costs of the request; no bucket twice, all of one client. An empty list is admitted.
    func admit(_ charges: [RateCharge]) async -> RateAdmission

    /// Does the same without waiting; nil, with nothing taken, if it cannot be decided at once.
    func admitAtOnce(_ charges: [RateCharge]) -> RateAdmission?

    /// Returns the refusal that these charges would get now; nil if they may be admitted. Takes nothing, without the
    /// store.
    func knownRefusal(of charges: [RateCharge]) -> RateAdmission?
}

/// A charge of a request to one bucket.
public struct RateCharge: Hashable, Sendable {
    package let bucket: RateBucket
    /// The number of tokens that the request takes, at least 1.
    package let cost: Int

    /// Creates a charge; a cost below one token becomes one.
    package init(_ bucket: RateBucket, cost: Int = 1) {
        self.bucket = bucket
        self.cost = max(1, cost)
    }
}

/// The identity of a bucket: two with the same three parts are one, for the whole fleet.
package struct RateBucket: Hashable, Sendable {
    /// The client it belongs to. All buckets of a client are in one place of the store.
    package var client: String
    /// The capacity and the refill rate. Another policy is another bucket, full at first.
    package var policy: RatePolicy
    /// The subject counted within the client, such as an app or an address; empty for the client itself.
    package var subject: String

    package init(client: String, policy: RatePolicy, subject: String = "") {
        self.client = client
        self.policy = policy
        self.subject = subject
    }
}
