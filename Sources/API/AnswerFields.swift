// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import Gateway
internal import HTTPServer
internal import HTTPTypes
internal import Receipts

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
}

// MARK: - The end of an endpoint

// Apple announces the end of its endpoints to us; these fields pass it on to clients. `POST /verifyReceipt` ends with
// Apple's endpoint, and `GET /v1/status` reports only that: their answers always announce it. `POST /v1/verify` works
// after that day without Apple, so there only answers that came from Apple announce it.

extension HTTPFields {
    /// Adds what is known of the end of the endpoint an answer depends on: `Deprecation` (RFC 9745), `Sunset` (RFC
    /// 8594) and `Link` (RFC 8288).
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

// The provenance of an answer in standard header fields: `Cache-Status` (RFC 9211) and `Age` (RFC 9111 §5.1).

extension Reply {
    /// Returns the reply with the fields for the caches involved and the age of Apple's answer.
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
        switch cacheStatus.handling {
        case .hit: field.append("; hit")
        case .forwarded(let reason):
            field.append(contentsOf: "; fwd=\(reason.rawValue); fwd-status=\(forwardStatus)".utf8)
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
