// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import Gateway
internal import HTTPTypes
internal import Hummingbird
internal import Receipts

// How an answer came about, in header fields that caches and people know: `Cache-Status` (RFC 9211) and `Age`
// (RFC 9111 §5.1).

extension Response {
    /// The response with what caches had to do with the answer, and how old Apple's word is.
    func telling(of answer: Answer, at now: Timestamp) -> Response {
        var response = self
        response.headers[.cacheStatus] = answer.cacheStatusField(at: now)
        if answer.provenance.source == .apple { response.headers[.age] = String(answer.provenance.age(at: now)) }
        return response
    }
}

extension Answer {
    /// `receipt-gateway; hit; ttl=412` and the like; nil if neither a cache nor Apple was to be asked.
    func cacheStatusField(at now: Timestamp) -> String? {
        guard let cacheStatus else { return nil }
        var parameters: [String]
        switch cacheStatus.handling {
        case .hit: parameters = ["hit"]
        case .forwarded(let reason): parameters = ["fwd=\(reason.rawValue)"] + forwardStatus
        }
        if cacheStatus.isStored { parameters.append("stored") }
        if cacheStatus.isCollapsed { parameters.append("collapsed") }
        if let end = cacheStatus.freshUntil { parameters.append("ttl=\(now.wholeSeconds(until: end))") }
        return (["receipt-gateway"] + parameters).joined(separator: "; ")
    }

    /// RFC 9211 §2.3: the status of whoever was asked. Where none came, the one that a gateway answers then.
    private var forwardStatus: [String] {
        guard let reason = provenance.degradedReasons.first else { return ["fwd-status=200"] }
        return ["fwd-status=\(reason.status.code)"]
    }
}

extension DegradedReason {
    /// What a gateway would answer.
    fileprivate var status: HTTPResponse.Status {
        switch self {
        case .upstreamPaused: .tooManyRequests
        case .upstreamSlow, .upstreamTimeout: .gatewayTimeout
        case .upstreamUnreachable, .upstreamTLS, .upstreamReset, .upstreamUnusableAnswer, .upstreamRequestRefused,
            .upstreamContradiction, .upstreamCallsMalformed, .upstreamDisagrees, .sharedSecretRejected:
            .badGateway
        case .circuitOpen, .upstreamBudget, .upstreamSaturated, .upstreamServerError, .upstreamUnavailable, .stopping:
            .serviceUnavailable
        }
    }
}

extension Provenance {
    /// In whole seconds.
    fileprivate func age(at now: Timestamp) -> Int64 { max(0, verifiedAt.wholeSeconds(until: now)) }
}

extension Timestamp {
    /// The time until another point, in whole seconds; negative if that is past.
    fileprivate func wholeSeconds(until other: Timestamp) -> Int64 {
        duration(to: other).components.seconds
    }
}
