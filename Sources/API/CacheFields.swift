// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import Gateway
internal import HTTPServer
internal import HTTPTypes
internal import Receipts

// The provenance of an answer in standard header fields: `Cache-Status` (RFC 9211) and `Age` (RFC 9111 §5.1).

extension Reply {
    /// Returns the reply with the fields for the caches involved and the age of Apple's answer.
    consuming func withCacheFields(of provenance: CacheProvenance, at now: Timestamp) -> Reply {
        if let field = provenance.cacheStatusField(at: now) {
            added.append(HTTPField(name: .cacheStatus, value: field))
        }
        guard provenance.source != .local else { return self }
        let age = max(0, provenance.verifiedAt.wholeSeconds(until: now))
        added.append(HTTPField(name: .age, value: String(age)))
        return self
    }
}

/// The provenance of an answer, as needed for header fields.
struct CacheProvenance: Sendable {
    let source: Provenance.Source
    fileprivate let verifiedAt: Timestamp
    private let cacheStatus: CacheStatus?
    /// RFC 9211 §2.3: the status of the upstream, or without an answer the status that a gateway would return.
    private let forwardStatus: Int

    init(_ answer: Answer) {
        source = answer.provenance.source
        verifiedAt = answer.provenance.verifiedAt
        cacheStatus = answer.cacheStatus
        forwardStatus = answer.provenance.degradedReasons.first?.status.code ?? 200
    }

    /// Returns `receipt-gateway; hit; ttl=412` and the like; nil if neither a cache nor Apple was needed.
    func cacheStatusField(at now: Timestamp) -> String? {
        guard let cacheStatus else { return nil }
        var field = "receipt-gateway"
        switch cacheStatus.handling {
        case .hit: field += "; hit"
        case .forwarded(let reason): field += "; fwd=\(reason.rawValue); fwd-status=\(forwardStatus)"
        }
        if cacheStatus.isStored { field += "; stored" }
        if cacheStatus.isCollapsed { field += "; collapsed" }
        if let end = cacheStatus.freshUntil { field += "; ttl=\(now.wholeSeconds(until: end))" }
        return field
    }
}

extension Timestamp {
    /// Returns the time until another point in whole seconds; negative if that is past.
    fileprivate func wholeSeconds(until other: Timestamp) -> Int64 {
        duration(to: other).components.seconds
    }
}
