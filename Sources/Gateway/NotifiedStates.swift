// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import Resilience
internal import Receipts

/// Adds what notifications have reported about the chains of evidence.
package struct NotifiedStates: Sendable {
    private let states: any CustomerStates
    private let cache: any UpstreamCache
    private let observer: any UpstreamObserver

    /// Creates the look-up in the fleet's state; nil if no notifications are received.
    package init?(_ fleet: FleetPorts, observer: any UpstreamObserver) {
        guard let states = fleet.states else { return nil }
        (self.states, cache, self.observer) = (states, fleet.cache, observer)
    }

    /// Answers with the assessment and what notifications have reported. Reads it only if one of them may have reported
    /// something since the evidence was signed.
    /// - Parameter isAppleAsked: returns true if Apple's answer will show what notifications may have reported.
    func answer(
        to assessment: Assessment, isAppleAsked: () -> Bool,
        then next: @escaping @Sendable (Assessment) throws -> Step<Answer, any Error>
    ) throws -> Step<Answer, any Error> {
        let ids = assessment.lookupIDs
        // Taken first: a notification that is applied meanwhile puts the answer out of date.
        let version = cache.version(watching: ids)
        let purge = cache.knownPurge(of: ids, in: assessment.subject.bundleID, since: assessment.signedAfter)
        let chains = newStates(of: assessment, purge, isAppleAsked)
        guard !chains.isEmpty else { return try next(assessment).map { $0.joining(version) } }
        return .wait {
            var notified = await self.adding(chains, to: assessment)
            // Whatever a named purge was about, the evidence alone is no answer; neither is old evidence.
            if notified == nil, purge == .named || assessment.mayHaveChanged { notified = assessment.lackingStates }
            return try next(notified ?? assessment).map { $0.joining(version) }
        }
    }

    /// Returns the assessment together with what notifications have reported about some of its chains; nil if that is
    /// unknown.
    func adding(_ chains: [PurchaseChain], to assessment: Assessment) async -> Assessment? {
        guard !chains.isEmpty else { return assessment }
        return await states.states(of: Array(chains.prefix(NotifiedEvidence.Limits.chains)))
            .map { assessment.adding($0) }
    }

    /// Answers from the evidence and the notifications. The answer says if a state that a notification reported is missing.
    func answerWithoutUpstream(to assessment: Assessment) -> Answer {
        guard assessment.lacksStates else { return assessment.withoutUpstream(.upstreamNotConfigured) }
        observer.observe(.degraded(.sharedStoreUnreachable))
        return assessment.withoutUpstream(.upstreamNotConfigured, degradedBecause: [.sharedStoreUnreachable])
    }

    /// Returns the chains about which a notification may have reported something that the evidence lacks: it purges the
    /// results about its purchases.
    private func newStates(
        of assessment: Assessment, _ purge: KnownPurge, _ isAppleAsked: () -> Bool
    ) -> [PurchaseChain] {
        switch purge {
        case .none: []
        case .unknown: isAppleAsked() ? [] : assessment.notifiableChains
        case .named:
            assessment.notifiableChains.filter { chain in
                let id = chain.originalTransactionID
                return cache.knownPurge(of: [id], in: chain.bundleID, since: assessment.signedAfter) != .none
            }
        }
    }
}
