// SPDX-License-Identifier: Apache-2.0

/// The reasons why the preferred source did not answer. The raw values appear in the API.
package enum DegradedReason: String, Error, CaseIterable, Hashable, Sendable {
    /// The shared store is unreachable: this node answers from its own copy or from the evidence, and misses what other
    /// nodes have purged or learned from notifications.
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
    // As in `UpstreamFailure`, whose cases have the details.
    case upstreamUnreachable = "upstream_unreachable"
    case upstreamTLS = "upstream_tls"
    case upstreamTimeout = "upstream_timeout"
    case upstreamReset = "upstream_reset"
    case upstreamServerError = "upstream_server_error"
    case upstreamUnusableAnswer = "upstream_unusable_answer"
    /// An item of Apple's answer cannot be read; the other items count.
    case upstreamItemUnreadable = "upstream_item_unreadable"
    /// Apple's answer is larger than the gateway reads.
    case upstreamAnswerTooLarge = "upstream_answer_too_large"
    /// Apple reports a temporary fault.
    case upstreamUnavailable = "upstream_unavailable"
    /// Apple did not accept the request itself.
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
}

// MARK: - Facts

extension DegradedReason {
    /// The facts about a reason that decide about repetition.
    package struct Facts: Hashable, Sendable {
        package enum Cause: Hashable, Sendable {
            /// This node or its fleet: the shared store, the time that a request may wait, the limit for customers.
            case gateway
            /// The guards of requests to Apple: no request can be sent now, also because Apple just requested a pause.
            case guards
            /// Apple's answer, or a request to Apple that failed.
            case apple
        }

        package enum Persistence: Hashable, Sendable {
            case passing
            /// Until the operator changes a secret or a key, or Apple its mind.
            case untilRepaired
            /// The evidence has too many customers, or Apple too much or too little about it, and always will.
            case permanent
        }

        package let cause: Cause
        package let persistence: Persistence
        /// True if the reason is at Apple, so that other nodes would fail as well; false if it is local to this node.
        let concernsAllNodes: Bool
        /// True if the reason lies in the evidence, so that the next request about it would fail alike.
        package let isOfEvidence: Bool

        fileprivate init(
            _ cause: Cause, _ persistence: Persistence = .passing, allNodes: Bool, ofEvidence: Bool = false
        ) {
            (self.cause, self.persistence) = (cause, persistence)
            (concernsAllNodes, isOfEvidence) = (allNodes, ofEvidence)
        }
    }

    package var facts: Facts {
        switch self {
        case .sharedStoreUnreachable, .upstreamSlow: Facts(.gateway, allNodes: false)
        case .customerLimit: Facts(.gateway, .permanent, allNodes: false)
        case .circuitOpen, .upstreamBudget, .upstreamSaturated, .stopping: Facts(.guards, allNodes: false)
        case .upstreamPaused: Facts(.guards, allNodes: true)
        case .upstreamUnreachable, .upstreamTLS: Facts(.apple, allNodes: false)
        case .sharedSecretRejected, .serverAPIKeyRejected: Facts(.apple, .untilRepaired, allNodes: false)
        case .upstreamTimeout, .upstreamReset, .upstreamServerError, .upstreamUnusableAnswer, .upstreamUnavailable,
            .upstreamRequestRefused, .upstreamCallsMalformed, .upstreamContradiction, .transactionUnknown:
            Facts(.apple, allNodes: true)
        case .upstreamItemUnreadable: Facts(.apple, .untilRepaired, allNodes: true)
        case .upstreamDisagrees: Facts(.apple, .untilRepaired, allNodes: true, ofEvidence: true)
        case .upstreamAnswerTooLarge, .upstreamRecordBroken:
            Facts(.apple, .permanent, allNodes: true, ofEvidence: true)
        }
    }
}
