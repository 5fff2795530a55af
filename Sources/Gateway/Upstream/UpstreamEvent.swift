// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

public import Resilience

/// Told what happens on the way to Apple, so that it can be counted. Called often and from many threads: must be quick.
public protocol UpstreamObserver: Sendable {
    /// Something happened.
    func observe(_ event: UpstreamEvent)
}

/// What happens on the way to Apple.
public enum UpstreamEvent: Sendable {
    /// Apple was asked, and this came of it after so long.
    case asked(UpstreamEndpoint, UpstreamOutcome, took: Duration)
    /// A question did not leave the gateway.
    case rejected(UpstreamEndpoint, DegradedReason)
    /// A question was asked again.
    case retried(UpstreamEndpoint)
    /// A circuit breaker changed its state.
    case breakerMoved(UpstreamEndpoint, CircuitBreaker.Transition)
    /// Apple called a receipt false that carries its own valid signature.
    case disagreed(UpstreamEndpoint, UpstreamRefusal)
    /// Apple's answer was refused because it says something else than what Apple signed.
    case contradicted(UpstreamEndpoint, Contradiction)
    /// An answer about subscriptions came without a receipt that Apple signed for it.
    case unproven(UpstreamEndpoint)
    /// A request joined a question that was under way.
    case joinedFlight
    /// The nodes of the fleet sorted out who asks.
    case leased(LeaseOutcome)
    /// What Apple said of a receipt was looked for among what is known.
    case lookedUp(Provenance.Cache)
    /// What Apple said is being fetched again before its time is over.
    case refreshedEarly
    /// The cached results about an original transaction were purged.
    case purged
    /// An answer was given without the source one would prefer.
    case degraded(DegradedReason)
}

/// What came of one question, for counting.
public enum UpstreamOutcome: Hashable, CaseIterable, Sendable {
    /// Apple holds the receipt to be genuine.
    case answered
    /// The receipt belongs to the other endpoint.
    case otherEnvironment
    /// Apple does not speak about the receipt's contents.
    case refused(UpstreamRefusal)
    /// Apple asks to wait.
    case throttled
    /// No answer that can be used.
    case failed(UpstreamFailure)

    /// All there are.
    public static let allCases =
        [answered, otherEnvironment, throttled] + UpstreamRefusal.allCases.map(refused)
        + UpstreamFailure.allCases.map(failed)

    /// The outcome's name in metrics.
    public var name: String {
        switch self {
        case .answered: "answered"
        case .otherEnvironment: "other_environment"
        case .throttled: "throttled"
        case .refused(let refusal): refusal.rawValue
        case .failed(let failure): failure.rawValue
        }
    }

    /// What a reply counts as.
    public init(_ reply: UpstreamReply) {
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
