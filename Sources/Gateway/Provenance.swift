// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

package import Receipts

/// The source of a verdict.
package struct Provenance: Hashable, Sendable {
    /// The authority behind the verdict. The raw values are those of the API.
    package enum Source: String, CaseIterable, Sendable {
        /// The receipt's own signature.
        case local
        /// Apple's `verifyReceipt`.
        case apple
        /// The App Store Server API.
        case serverAPI = "app_store_server_api"
        /// A server notification of Apple, together with the evidence.
        case notification
    }

    /// The cache that answered. The raw values are those of the API.
    package enum Cache: String, CaseIterable, Sendable {
        /// None: the answer was made for this request.
        case miss
        /// The near cache in this process, for the same bytes.
        case near
        /// The cached results of requests to Apple.
        case shared
        /// The same, with a result past its freshness.
        case stale
    }

    package var source: Source
    package var cache: Cache
    package var verifiedAt: Timestamp
    /// The reasons why the preferred source did not answer; empty if it did.
    package var degradedReasons: [DegradedReason] = []
    /// Apple's status code, such as 0 or 21003, also of a request that did not help; nil if Apple gave none.
    package var upstreamStatus: Int?

    package var isDegraded: Bool { !degradedReasons.isEmpty }

    /// The provenance of the same answer when it is repeated.
    package var repeated: Provenance {
        var repeated = self
        repeated.cache = .near
        return repeated
    }
}

/// The reasons why the preferred source did not answer. The raw values are those of the API.
package enum DegradedReason: String, Error, CaseIterable, Hashable, Sendable {
    /// The shared store is unreachable: this node answers from its own copy, and purges by other nodes may be missing.
    case sharedStoreUnreachable = "shared_store_unreachable"
    /// The circuit breaker is open: Apple failed too often, so calls are suspended for some seconds.
    case circuitOpen = "circuit_open"
    /// Apple requested a pause (429).
    case upstreamPaused = "upstream_paused"
    /// The operator's limit for requests to Apple is reached.
    case upstreamBudget = "upstream_budget"
    /// The concurrency limit for requests to Apple is reached.
    case upstreamSaturated = "upstream_saturated"
    /// Apple takes longer than this request may wait; the request to Apple continues in the background.
    case upstreamSlow = "upstream_slow"
    // As in `UpstreamFailure`.
    case upstreamUnreachable = "upstream_unreachable"
    case upstreamTLS = "upstream_tls"
    case upstreamTimeout = "upstream_timeout"
    case upstreamReset = "upstream_reset"
    case upstreamServerError = "upstream_server_error"
    case upstreamUnusableAnswer = "upstream_unusable_answer"
    /// An item of Apple's answer cannot be read; the others count.
    case upstreamItemUnreadable = "upstream_item_unreadable"
    /// Apple's answer is larger than the gateway reads.
    case upstreamAnswerTooLarge = "upstream_answer_too_large"
    case upstreamUnavailable = "upstream_unavailable"
    case upstreamRequestRefused = "upstream_request_refused"
    /// Apple reports a well-formed receipt with a valid signature as malformed (21002): a temporary fault.
    case upstreamCallsMalformed = "upstream_calls_malformed"
    /// Apple cannot authenticate a receipt (21003) that has a valid signature.
    case upstreamDisagrees = "upstream_disagrees"
    /// Apple has a fault in its data about the receipt (21100 to 21199), and says that a retry is of no use.
    case upstreamRecordBroken = "upstream_record_broken"
    /// Apple's answer differs from the receipt that Apple signed for it.
    case upstreamContradiction = "upstream_contradiction"
    /// Apple rejects the app's shared secret: fix the operator's configuration.
    case sharedSecretRejected = "shared_secret_rejected"
    /// Apple rejects the app's key for the App Store Server API: fix the operator's configuration.
    case serverAPIKeyRejected = "server_api_key_rejected"
    /// The evidence has purchases of more customers than are looked up for one answer.
    case customerLimit = "customer_limit"
    /// Apple knows no transaction of the evidence, which Apple signed: a temporary fault, or a very new purchase.
    case transactionUnknown = "transaction_unknown"
    case stopping
}

extension DegradedReason {
    package init(_ failure: UpstreamFailure) {
        self =
            switch failure {
            case .unreachable: .upstreamUnreachable
            case .tls: .upstreamTLS
            case .timeout: .upstreamTimeout
            case .reset: .upstreamReset
            case .serverError: .upstreamServerError
            case .unusableAnswer: .upstreamUnusableAnswer
            case .answerTooLarge: .upstreamAnswerTooLarge
            case .unavailable: .upstreamUnavailable
            case .requestRefused: .upstreamRequestRefused
            case .stopping: .stopping
            }
    }

    /// True if the reason lies in the evidence, so that the next request about it would fail alike.
    package var isOfEvidence: Bool {
        self == .upstreamDisagrees || self == .upstreamAnswerTooLarge || self == .upstreamRecordBroken
    }
}
