// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

public import Receipts

/// How a verdict is known.
public struct Provenance: Hashable, Sendable {
    /// Who said so. The raw values are those of the API.
    public enum Source: String, CaseIterable, Sendable {
        /// The receipt's own signature.
        case local
        /// Apple's `verifyReceipt`.
        case apple
    }

    /// Where the answer was found. The raw values are those of the API.
    public enum Cache: String, CaseIterable, Sendable {
        /// Nowhere: it was worked out for this request.
        case miss
        /// In this process, for the same bytes.
        case near
        /// Among what Apple said of this receipt lately.
        case shared
        /// There too, but past its time.
        case stale
    }

    /// Who said so.
    public var source: Source
    /// Where the answer was found.
    public var cache: Cache
    /// When the verdict was reached.
    public var verifiedAt: Timestamp
    /// Why the source one would prefer did not answer; empty if it did.
    public var degradedReasons: [DegradedReason] = []

    /// Apple's status code, such as 0 or 21003, from the request to Apple that the answer is made of, or that did not
    /// help; nil if Apple gave none.
    public var upstreamStatus: Int?

    /// Whether the source one would prefer did not answer.
    public var isDegraded: Bool { !degradedReasons.isEmpty }
}

/// The reasons why the preferred source did not answer. The raw values are those of the API.
public enum DegradedReason: String, CaseIterable, Hashable, Sendable {
    /// The shared store cannot be reached: this node answers from its own copy, and purges by other nodes may be missing.
    case sharedStoreUnreachable = "shared_store_unreachable"
    /// Apple failed too often lately, so it is not asked for some seconds.
    case circuitOpen = "circuit_open"
    /// Apple asked for a pause (429).
    case upstreamPaused = "upstream_paused"
    /// The operator's limit for questions to Apple is reached.
    case upstreamBudget = "upstream_budget"
    /// As many questions are under way as Apple bears.
    case upstreamSaturated = "upstream_saturated"
    /// Apple takes longer than this request may wait; the question goes on without it.
    case upstreamSlow = "upstream_slow"
    /// No connection.
    case upstreamUnreachable = "upstream_unreachable"
    /// The server could not prove that it is Apple.
    case upstreamTLS = "upstream_tls"
    /// No answer before the deadline.
    case upstreamTimeout = "upstream_timeout"
    /// The connection ended before the answer did.
    case upstreamReset = "upstream_reset"
    /// HTTP status 5xx.
    case upstreamServerError = "upstream_server_error"
    /// HTML, nothing, half an answer.
    case upstreamUnusableAnswer = "upstream_unusable_answer"
    /// Apple says that it cannot tell now.
    case upstreamUnavailable = "upstream_unavailable"
    /// Apple did not accept the request itself.
    case upstreamRequestRefused = "upstream_request_refused"
    /// Apple calls a receipt malformed (21002) that is well-formed and carries its valid signature: a passing trouble.
    case upstreamCallsMalformed = "upstream_calls_malformed"
    /// Apple cannot authenticate a receipt (21003) that carries its valid signature.
    case upstreamDisagrees = "upstream_disagrees"
    /// Apple's answer says something else than the receipt it signed for it.
    case upstreamContradiction = "upstream_contradiction"
    /// Apple does not accept the app's shared secret: the operator's configuration is at fault.
    case sharedSecretRejected = "shared_secret_rejected"
    /// The gateway is stopping.
    case stopping
}

extension DegradedReason {
    init(_ failure: UpstreamFailure) {
        self =
            switch failure {
            case .unreachable: .upstreamUnreachable
            case .tls: .upstreamTLS
            case .timeout: .upstreamTimeout
            case .reset: .upstreamReset
            case .serverError: .upstreamServerError
            case .unusableAnswer: .upstreamUnusableAnswer
            case .unavailable: .upstreamUnavailable
            case .requestRefused: .upstreamRequestRefused
            case .stopping: .stopping
            }
    }
}
