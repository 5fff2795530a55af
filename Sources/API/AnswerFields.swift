// SPDX-License-Identifier: Apache-2.0

internal import Gateway
internal import HTTPServer
internal import HTTPTypes
internal import Receipts
internal import Resilience

extension HTTPField.Name {
    /// `Gateway-Rebuilt`: the members of an answer in Apple's form that Apple's own would have with other contents.
    static let gatewayRebuilt = known("Gateway-Rebuilt")
    /// `Gateway-Source`: the source of an answer in Apple's form; values as in `provenance.source`.
    static let gatewaySource = known("Gateway-Source")
    /// `Gateway-Degraded`: the reason why Apple's answer is missing.
    static let gatewayDegraded = known("Gateway-Degraded")
    /// `Gateway-Reason`: the part that Apple's status does not show, such as the rule a receipt breaks.
    static let gatewayReason = known("Gateway-Reason")
    /// `Deprecation` (RFC 9745).
    static let deprecation = known("Deprecation")
    /// `Link` (RFC 8288).
    static let link = known("Link")
    /// `Sunset` (RFC 8594).
    static let sunset = known("Sunset")
    /// `RateLimit-Policy` and `RateLimit` (draft-ietf-httpapi-ratelimit-headers).
    static let rateLimitPolicy = known("RateLimit-Policy")
    static let rateLimit = known("RateLimit")
    /// The three fields that were common before this draft.
    static let xRateLimitLimit = known("X-RateLimit-Limit")
    static let xRateLimitRemaining = known("X-RateLimit-Remaining")
    static let xRateLimitReset = known("X-RateLimit-Reset")
}

// MARK: - The end of an endpoint

// Apple announces the end of its endpoints to us; these fields pass it on to clients. `POST /verifyReceipt` ends with
// Apple's endpoint, and `GET /v1/status` reports only that: their answers always announce it. `POST /v1/verify` works
// after that day without Apple, so there only answers that came from Apple announce it.

extension HTTPFields {
    /// Adds what is known of the end of the endpoint an answer depends on.
    mutating func announce(_ state: UpstreamLifecycle.State) {
        guard state.dates != LifecycleDates() || !state.links.isEmpty else { return }
        // A date of structured fields (RFC 9651 §3.3.7), in whole seconds. RFC 9745 §4: the sunset is not earlier than
        // the deprecation. An endpoint is deprecated at its sunset at the latest.
        self[.deprecation] = state.dates.deprecation.map { deprecation in
            "@\(Swift.min(deprecation, state.dates.sunset ?? deprecation).millisecondsSince1970 / 1000)"
        }
        self[.sunset] = state.dates.sunset.map { HTTPDate.text($0) }
        self[.link] = state.linkField
    }
}

extension UpstreamLifecycle.State {
    /// The maximum bytes of `Link`, because clients limit the size of a header; links that do not fit are left out.
    static let maximumLinkBytes = 2048

    fileprivate var linkField: String? {
        var field = ""
        for link in links {
            let value = "<\(link.target)>; rel=\"\(link.relation.rawValue)\""
            let longer = field.isEmpty ? value : "\(field), \(value)"
            if longer.utf8.count <= Self.maximumLinkBytes { field = longer }
        }
        return field.isEmpty ? nil : field
    }
}

// MARK: - Provenance

extension Reply {
    /// Returns the reply with `Cache-Status` (RFC 9211) and the age of Apple's answer, `Age` (RFC 9111 §5.1).
    consuming func withCacheFields(of provenance: CacheProvenance, at now: Timestamp) -> Reply {
        if let cacheStatus = provenance.cacheStatus {
            add("Cache-Status") { provenance.append(cacheStatus, at: now, to: &$0) }
        }
        guard provenance.source != .local else { return self }
        let age = max(0, provenance.verifiedAt.wholeSeconds(until: now))
        add("Age") { $0.append(contentsOf: String(age).utf8) }
        return self
    }
}

/// The provenance of an answer, as needed for header fields.
struct CacheProvenance: Sendable {
    let source: Provenance.Source
    fileprivate let verifiedAt: Timestamp
    /// Nil if neither a cache nor Apple was needed.
    fileprivate let cacheStatus: CacheStatus?
    /// RFC 9211 §2.3: the status of the upstream, or without an answer the status that a gateway would return.
    private let forwardStatus: Int

    init(_ answer: Answer) {
        source = answer.provenance.source
        verifiedAt = answer.provenance.verifiedAt
        cacheStatus = answer.cacheStatus
        forwardStatus = answer.provenance.degradedReasons.first?.status.code ?? 200
    }

    /// Appends `receipt-gateway; hit; ttl=412` and the like.
    fileprivate func append(_ cacheStatus: CacheStatus, at now: Timestamp, to field: inout [UInt8]) {
        field.append("receipt-gateway")
        if let reason = cacheStatus.forwarded {
            field.append(contentsOf: "; fwd=\(reason.rawValue); fwd-status=\(forwardStatus)".utf8)
        } else {
            field.append("; hit")
        }
        if cacheStatus.isStored { field.append("; stored") }
        if cacheStatus.isCollapsed { field.append("; collapsed") }
        if let end = cacheStatus.freshUntil {
            field.append("; ttl=")
            field.append(contentsOf: String(now.wholeSeconds(until: end)).utf8)
        }
    }
}

extension Timestamp {
    /// Returns the time until another point in whole seconds; negative if that is past.
    fileprivate func wholeSeconds(until other: Timestamp) -> Int64 {
        (other.millisecondsSince1970 &- millisecondsSince1970) / 1000
    }
}

// MARK: - Limits

extension RateAdmission {
    /// Returns the header fields that show a client its limits, lists of structured fields (RFC 9651). Policies in shadow
    /// mode are left out.
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
