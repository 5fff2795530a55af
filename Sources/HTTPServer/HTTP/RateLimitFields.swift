// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import Gateway
package import HTTPTypes
package import RateLimits

/// What a client is told of its limits in the header fields of an answer: `RateLimit-Policy` and `RateLimit`
/// (draft-ietf-httpapi-ratelimit-headers), lists of structured fields (RFC 9651). Policies in shadow mode are not shown.
package struct RateLimitFields {
    private let shown: [RateAdmission.Outcome]

    /// What is told of this admission.
    package init(_ admission: RateAdmission) {
        shown = admission.outcomes.filter { !$0.charge.bucket.policy.isShadow }
    }

    /// The fields; none where every policy is in shadow mode.
    /// - Parameter withLegacy: adds the three fields that were common before, which say the same of one policy.
    package func fields(withLegacy: Bool) -> HTTPFields {
        var fields: HTTPFields = [:]
        if !shown.isEmpty { fields[.rateLimitPolicy] = shown.map(Self.policyItem).joined(separator: ", ") }
        guard let tightest else { return fields }
        fields[.rateLimit] = "\"\(tightest.policy.name)\";r=\(tightest.remaining);t=\(tightest.secondsUntilReset)"
        guard withLegacy else { return fields }
        fields[.xRateLimitLimit] = String(tightest.policy.quota)
        fields[.xRateLimitRemaining] = String(tightest.remaining)
        fields[.xRateLimitReset] = String(tightest.secondsUntilReset)
        return fields
    }

    /// The name is one that needs no escapes: the clients file takes no other.
    private static func policyItem(_ outcome: RateAdmission.Outcome) -> String {
        "\"\(outcome.policy.name)\";q=\(outcome.policy.quota);w=\(outcome.policy.window.secondsRoundedUp)"
    }

    /// The policy that ends the request, or will be the first to end another: the one that refused for the longest time, else
    /// the one with the fewest tokens left. A policy that could not be asked and lets everything pass says nothing.
    private var tightest: RateAdmission.Outcome? {
        let known = shown.filter { $0.source != .open }
        let refusals = known.filter(\.isEnforcedRefusal)
        if !refusals.isEmpty { return refusals.max { $0.secondsUntilReset < $1.secondsUntilReset } }
        return known.min { ($0.remaining, -$0.secondsUntilReset) < ($1.remaining, -$1.secondsUntilReset) }
    }
}

extension RateAdmission.Outcome {
    fileprivate var policy: RatePolicy { charge.bucket.policy }

    /// Until the bucket is full; of one that refused, until it has enough for the same request.
    fileprivate var secondsUntilReset: Int {
        guard case .refused(let wait?) = decision else { return timeUntilFull.secondsRoundedUp }
        return wait.secondsRoundedUp
    }
}

extension RateAdmission {
    /// The names of the policies with such an outcome.
    package func policies(where isMeant: (Outcome) -> Bool) -> [String] {
        outcomes.filter(isMeant).map(\.charge.bucket.policy.name)
    }
}
