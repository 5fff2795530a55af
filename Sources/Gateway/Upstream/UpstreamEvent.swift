// SPDX-License-Identifier: Apache-2.0

package import Resilience

/// Receives events about requests to Apple, for metrics. Called often and from many threads: must be fast.
package typealias UpstreamObserver = @Sendable (UpstreamEvent) -> Void

package enum UpstreamEvent: Sendable {
    case completed(UpstreamEndpoint, UpstreamOutcome, took: Duration)
    /// A request was rejected locally and not sent.
    case rejected(UpstreamEndpoint, DegradedReason)
    case retried(UpstreamEndpoint)
    case breakerChanged(UpstreamEndpoint, CircuitBreaker.Transition)
    /// Apple rejected a receipt that has a valid signature.
    case disagreed(UpstreamEndpoint, UpstreamRefusal)
    /// Apple's answer was rejected because it contradicts data that Apple signed.
    case contradicted(UpstreamEndpoint, Contradiction)
    /// An item of Apple's answer was left out because it cannot be read.
    case leftOut(UpstreamEndpoint, UnreadableItem)
    /// An answer with subscriptions came without a receipt that proves them.
    case unproven(UpstreamEndpoint)
    case joinedFlight
    case leased(LeaseOutcome)
    case lookedUp(Provenance.Cache)
    case refreshedEarly
    case purged
    case degraded(DegradedReason)
    /// A call of the App Store Server API ended, or was not sent.
    case called(ServerAPIOperation, UpstreamEnvironment, ServerAPICallOutcome)
    /// A client named a transaction ID without evidence, and Apple does not know it.
    case unknownTransaction
}

/// The outcome of one request to Apple, for metrics.
package enum UpstreamOutcome: Hashable, CaseIterable, Sendable {
    case answered
    case otherEnvironment
    case refused(UpstreamRefusal)
    case throttled
    case failed(UpstreamFailure)

    package static let allCases =
        [answered, otherEnvironment, throttled] + UpstreamRefusal.allCases.map(refused)
        + UpstreamFailure.allCases.map(failed)

    /// The outcome's name in metrics.
    package var name: String {
        switch self {
        case .answered: "answered"
        case .otherEnvironment: "other_environment"
        case .throttled: "throttled"
        case .refused(let refusal): refusal.rawValue
        case .failed(let failure): failure.rawValue
        }
    }

    package init(_ reply: UpstreamReply) {
        self =
            switch reply {
            case .answer: .answered
            case .otherEnvironment: .otherEnvironment
            case .refusal(let refusal): .refused(refusal)
            case .throttled: .throttled
            case .failure(let failure): .failed(failure)
            }
    }
}
