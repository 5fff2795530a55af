// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

package import Gateway
package import RateLimits

/// What a client may use of the gateway.
package struct ClientLimits: Hashable, Sendable {
    /// How often it may ask; with none as often as it likes.
    package var policies: [ClientPolicy] = []
    /// How many of its requests may be in flight at one time over all nodes; nil for any number.
    package var concurrency: Int?
}

/// How often a client may ask, or one of its apps or callers.
package struct ClientPolicy: Hashable, Sendable {
    /// What has a bucket of its own.
    package enum Subject: String, CaseIterable, Hashable, Sendable {
        /// The client as a whole.
        case client
        /// Each app it asks about.
        case app
        /// Each address it asks from.
        case address
    }

    /// What has a bucket of its own.
    package let subject: Subject
    /// What the buckets hold.
    let rate: RatePolicy
    /// The tokens that a request takes, where it is not 1.
    var costs: [Mode: Int] = [:]

    /// The tokens that this request takes. One that wants a new answer may be a question to Apple, as those in mode `apple`.
    func cost(of options: VerificationOptions) -> Int {
        let cost = costs[options.mode] ?? 1
        return options.mode == .auto && options.maximumAge != nil ? max(cost, costs[.apple] ?? 1) : cost
    }

    /// The tokens that a request takes at least, whatever it asks; and one that cannot be read.
    var leastCost: Int { Mode.allCases.map { costs[$0] ?? 1 }.min() ?? 1 }
}

extension ClientLimits {
    /// The policies that count requests whatever they ask: those of the client and of addresses.
    package var policiesWithoutApp: [ClientPolicy] { policies.filter { $0.subject != .app } }
}

extension Client {
    /// What a request takes from which buckets: one charge for each policy, in their order.
    package func charges(
        for options: VerificationOptions, from address: @autoclosure () -> NetworkAddress?
    ) -> [RateCharge] {
        limits.policies.map { policy in
            RateCharge(
                bucket(of: policy, app: app(of: options), address: address()), cost: policy.cost(of: options))
        }
    }

    /// The same for a request whose question is not known, or never will be: one charge for each policy without an app.
    package func charges(from address: @autoclosure () -> NetworkAddress?) -> [RateCharge] {
        limits.policiesWithoutApp.map { policy in
            RateCharge(bucket(of: policy, app: "", address: address()), cost: policy.leastCost)
        }
    }

    private func bucket(
        of policy: ClientPolicy, app: @autoclosure () -> String, address: @autoclosure () -> NetworkAddress?
    ) -> RateBucket {
        let subject =
            switch policy.subject {
            case .client: ""
            case .app: app()
            case .address: address()?.subscriber ?? ""
            }
        return RateBucket(tenant: name, policy: policy.rate, subject: subject)
    }

    /// The app that the request names, because the receipt's own is known only once work has been done for it. Nobody
    /// gains by naming another: then there is no verdict. Requests that name none share a bucket, unless there is but one app they
    /// can be about.
    private func app(of options: VerificationOptions) -> String {
        if let named = options.expectations.bundleID { return named }
        guard case .only(let bundleIDs) = apps, bundleIDs.count == 1 else { return "" }
        return bundleIDs.first ?? ""
    }
}
