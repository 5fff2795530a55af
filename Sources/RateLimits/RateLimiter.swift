// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// Decides whether a request may go on, by the token buckets it is charged to.
///
/// A decision never fails and never waits longer than a command to the store may take: what happens while the store
/// cannot be asked is part of each policy.
public protocol RateLimiter: Sendable {
    /// Takes the tokens of all charges or of none.
    ///
    /// Policies in shadow mode have no say in it: they are told what was admitted by the others, take their tokens if
    /// they have them, and only say so if they have not.
    ///
    /// - Parameter charges: what the request costs; no bucket twice, and all of one tenant. None at all is admitted.
    func admit(_ charges: [RateCharge]) async -> RateAdmission

    /// The same for who cannot wait: nil, and nothing taken, if that could not be decided at once.
    func admitAtOnce(_ charges: [RateCharge]) -> RateAdmission?

    /// The refusal that these charges are known to get now; nil if they may be admitted. Takes nothing, and never asks the
    /// store.
    func knownRefusal(of charges: [RateCharge]) -> RateAdmission?
}

/// One bucket that a request is charged to.
public struct RateCharge: Hashable, Sendable {
    /// Which bucket.
    public let bucket: RateBucket
    /// How many tokens the request takes, at least 1.
    public let cost: Int

    /// A charge. What costs less than one token costs one.
    public init(_ bucket: RateBucket, cost: Int = 1) {
        self.bucket = bucket
        self.cost = max(1, cost)
    }
}

/// Which bucket: two with the same three parts are one, for the whole fleet.
public struct RateBucket: Hashable, Sendable {
    /// The client it belongs to. All buckets of a tenant lie in one place of the store.
    public var tenant: String
    /// What it is filled with, and how fast. Another policy is another bucket, full at first.
    public var policy: RatePolicy
    /// What it counts within the tenant, such as an app or an address; empty for the tenant itself.
    public var subject: String

    /// A bucket.
    public init(tenant: String, policy: RatePolicy, subject: String = "") {
        self.tenant = tenant
        self.policy = policy
        self.subject = subject
    }
}
