// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import HTTPServer
internal import HTTPTypes
internal import Resilience

extension RateAdmission {
    /// Returns the header fields that show a client its limits: `RateLimit-Policy` and `RateLimit`
    /// (draft-ietf-httpapi-ratelimit-headers), lists of structured fields (RFC 9651). Policies in shadow mode are left
    /// out.
    /// - Parameter withLegacy: adds the three older `X-RateLimit` fields, with the same values for one policy.
    func fields(withLegacy: Bool) -> HTTPFields {
        let shown = outcomes.filter { !$0.policy.isShadow }
        var fields: HTTPFields = [:]
        if !shown.isEmpty { fields[.rateLimitPolicy] = shown.map(\.policyItem).joined(separator: ", ") }
        guard let tightest = shown.tightest else { return fields }
        fields[.rateLimit] = "\"\(tightest.policy.name)\";r=\(tightest.remaining);t=\(tightest.secondsUntilReset)"
        guard withLegacy else { return fields }
        fields[.xRateLimitLimit] = String(tightest.policy.quota)
        fields[.xRateLimitRemaining] = String(tightest.remaining)
        fields[.xRateLimitReset] = String(tightest.secondsUntilReset)
        return fields
    }

    /// Returns the names of the policies with a matching outcome.
    func policies(where isMeant: (Outcome) -> Bool) -> [String] {
        outcomes.filter(isMeant).map(\.policy.name)
    }
}

extension [RateAdmission.Outcome] {
    /// The policy that refused for the longest time, else the policy with the fewest tokens left. A policy whose store
    /// failed and that lets everything pass is left out.
    fileprivate var tightest: RateAdmission.Outcome? {
        let known = filter { $0.source != .open }
        let refusals = known.filter(\.isEnforcedRefusal)
        if !refusals.isEmpty { return refusals.max { $0.secondsUntilReset < $1.secondsUntilReset } }
        return known.min { ($0.remaining, -$0.secondsUntilReset) < ($1.remaining, -$1.secondsUntilReset) }
    }
}

extension RateAdmission.Outcome {
    fileprivate var policy: RatePolicy { charge.bucket.policy }
    fileprivate var secondsUntilReset: Int { timeUntilReset.secondsRoundedUp }

    /// The name needs no escapes: the clients file accepts no other names.
    fileprivate var policyItem: String {
        "\"\(policy.name)\";q=\(policy.quota);w=\(policy.window.secondsRoundedUp)"
    }
}

extension HTTPField.Name {
    /// `RateLimit-Policy` and `RateLimit` (draft-ietf-httpapi-ratelimit-headers).
    static let rateLimitPolicy = known("RateLimit-Policy")
    static let rateLimit = known("RateLimit")
    /// The three fields that were common before this draft.
    static let xRateLimitLimit = known("X-RateLimit-Limit")
    static let xRateLimitRemaining = known("X-RateLimit-Remaining")
    static let xRateLimitReset = known("X-RateLimit-Reset")
}
