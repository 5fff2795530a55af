// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

public import Resilience

/// Receives events about requests to Apple, for metrics. Called often and from many threads: must be fast.
public protocol UpstreamObserver: Sendable {
    /// Records an event.
    func observe(_ event: UpstreamEvent)
}

/// An event about requests to Apple.
public enum UpstreamEvent: Sendable {
    /// A request to Apple ended with this outcome.
    case asked(UpstreamEndpoint, UpstreamOutcome, took: Duration)
    /// A request was rejected locally and not sent.
    case rejected(UpstreamEndpoint, DegradedReason)
    /// A request is retried.
    case retried(UpstreamEndpoint)
    /// A circuit breaker changed its state.
    case breakerMoved(UpstreamEndpoint, CircuitBreaker.Transition)
    /// Apple rejected a receipt that has a valid signature.
    case disagreed(UpstreamEndpoint, UpstreamRefusal)
    /// Apple's answer was rejected because it contradicts data that Apple signed.
    case contradicted(UpstreamEndpoint, Contradiction)
    /// An answer with subscriptions came without a receipt that proves them.
    case unproven(UpstreamEndpoint)
    /// A request joined a request to Apple that was in flight.
    case joinedFlight
    /// The fleet's lease decided which node sends a request.
    case leased(LeaseOutcome)
    /// The shared cache was looked up.
    case lookedUp(Provenance.Cache)
    /// A cached result is refreshed early.
    case refreshedEarly
    /// The cached results of an original transaction were purged.
    case purged
    /// An answer was given without the preferred source.
    case degraded(DegradedReason)
}

/// The outcome of one request to Apple, for metrics.
public enum UpstreamOutcome: Hashable, CaseIterable, Sendable {
    /// Apple confirmed the receipt.
    case answered
    /// The receipt belongs to the other endpoint.
    case otherEnvironment
    /// Apple answered without the receipt's contents.
    case refused(UpstreamRefusal)
    /// Apple asked for a pause.
    case throttled
    /// No usable answer.
    case failed(UpstreamFailure)

    /// All outcomes.
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

    /// Creates the outcome of a reply.
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
