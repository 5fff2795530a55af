// SPDX-License-Identifier: Apache-2.0

package import Gateway
package import Resilience

package struct ClientLimits: Hashable, Sendable {
    /// The rate limits; none means unlimited.
    package var policies: [ClientPolicy] = []
    /// The maximum number of its requests in flight over all nodes; nil for unlimited.
    package var concurrency: Int?
    /// The number of signed items, beyond a request's first, that one further token pays for.
    package var itemsPerToken = 10
    /// The maximum number of transaction IDs in a minute that Apple does not know.
    package var unknownIDsPerMinute = 20

    /// The limits of a client whose key is in apps, if it has no limits of its own: form accounts and plugins. They are per
    /// address, because anyone may have the key, and wide, because the customers of a mobile network share addresses.
    package static let ofApps = ClientLimits(policies: [
        ClientPolicy(subject: .address, rate: RatePolicy(name: "address", quota: 600, window: .seconds(60)))
    ])

    /// True if requests take neither tokens nor slots.
    package var isUnlimited: Bool { policies.isEmpty && concurrency == nil }

    /// The policies that apply whatever app a request names: policies per client and per address.
    package var policiesWithoutApp: [ClientPolicy] { policies.filter { $0.subject != .app } }
}

/// A rate limit of a client, per client, per app or per client address.
package struct ClientPolicy: Hashable, Sendable {
    package enum Subject: String, CaseIterable, Hashable, Sendable {
        case client
        /// Each app that requests name.
        case app
        /// Each address that requests come from.
        case address
    }

    package let subject: Subject
    /// The size and refill rate of the buckets.
    let rate: RatePolicy
    /// The tokens that a request takes, if not 1.
    var costs: [Mode: Int] = [:]

    /// Returns the tokens this request takes, at most the tokens of a full bucket. Mode `auto` with `max_age`, without
    /// evidence or for a history may cause a request to Apple, and costs no less than mode `apple`. Many items, and a
    /// signature for this request alone, cost more.
    func cost(of options: VerificationOptions, itemsPerToken: Int) -> Int {
        let ofMode = costs[options.mode] ?? 1
        let asksApple = options.mode == .auto && (options.maximumAge != nil || options.isLookup || options.wantsHistory)
        let cost = asksApple ? max(ofMode, costs[.apple] ?? 1) : ofMode
        let ofItems = options.itemCount > 1 ? (options.itemCount - 2) / itemsPerToken + 1 : 0
        let more = ofItems + (options.hasNonce ? 1 : 0)
        return more == 0 ? cost : max(cost, min(cost + more, rate.burst))
    }

    /// The minimum cost of a request; also the cost of a request that cannot be read.
    var leastCost: Int { Mode.allCases.map { costs[$0] ?? 1 }.min() ?? 1 }
}

extension Client {
    /// The charge for a transaction ID that Apple does not know.
    package var chargeForUnknownID: RateCharge {
        let policy = RatePolicy(
            name: ClientsFile.LimitBounds.unknownIDsName, quota: limits.unknownIDsPerMinute, window: .seconds(60),
            isLeased: false)
        return RateCharge(RateBucket(client: name, policy: policy))
    }

    /// Returns the charges of a request: a charge for each policy, in order.
    package func charges(
        for options: VerificationOptions, from address: @autoclosure () -> NetworkAddress?
    ) -> [RateCharge] {
        limits.policies.map { policy in
            RateCharge(
                bucket(of: policy, app: app(of: options), address: address()),
                cost: policy.cost(of: options, itemsPerToken: limits.itemsPerToken))
        }
    }

    /// Returns the charges of a request whose body is unread or unreadable: one for each policy that is not per app.
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
            case .address: address()?.source.description ?? ""
            }
        return RateBucket(client: name, policy: policy.rate, subject: subject)
    }

    /// Returns the app that the request names, because the receipt's own is known only after verification. Naming
    /// another app gains nothing: then there is no verdict. Requests that name no app share a bucket, unless the client
    /// has only one app.
    private func app(of options: VerificationOptions) -> String {
        options.expectations.bundleID ?? apps.only ?? ""
    }
}
