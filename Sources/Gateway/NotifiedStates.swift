// SPDX-License-Identifier: Apache-2.0

internal import Resilience

/// Adds what notifications have reported about the chains of evidence.
package struct NotifiedStates: Sendable {
    private let states: any CustomerStates
    private let purges: any ResultPurges
    private let observe: UpstreamObserver

    /// Creates the look-up in the fleet's state; nil if no notifications are received.
    package init?(_ fleet: FleetPorts, observe: @escaping UpstreamObserver) {
        guard let states = fleet.states else { return nil }
        (self.states, purges, self.observe) = (states, fleet.cache.purges, observe)
    }

    /// Answers from the evaluated request and the states that notifications have reported. Reads the states only if a
    /// notification may have arrived since the evidence was signed.
    /// - Parameter isAppleAsked: returns true if Apple's answer will show what notifications may have reported.
    func answer(
        to evaluated: EvaluatedRequest, isAppleAsked: () -> Bool,
        then next: @escaping @Sendable (EvaluatedRequest) throws -> Step<Answer, any Error>
    ) throws -> Step<Answer, any Error> {
        let ids = evaluated.lookupIDs
        // Taken first: a notification that is applied meanwhile puts the answer out of date.
        let version = purges.version(watching: ids)
        let purge = purges.knownPurge(of: ids, in: evaluated.subject.bundleID, since: evaluated.signedAfter)
        let chains = newStates(of: evaluated, purge, isAppleAsked)
        guard !chains.isEmpty else { return try next(evaluated).map { $0.joining(version) } }
        return .wait {
            let notified = await self.adding(chains, to: evaluated) ?? evaluated.lackingStates
            // Whatever a named purge was about, the evidence alone is no answer; neither is old evidence.
            if notified.lacksStates, purge != .named, !evaluated.mayHaveChanged {
                return .done(self.answerWithoutUpstream(to: notified).joining(version))
            }
            return try next(notified).map { $0.joining(version) }
        }
    }

    /// Returns the evaluated request with the states that notifications have reported for some of its chains. Nil if
    /// the states are unknown.
    func adding(_ chains: [PurchaseChain], to evaluated: EvaluatedRequest) async -> EvaluatedRequest? {
        guard !chains.isEmpty else { return evaluated }
        return await states.states(of: Array(chains.prefix(EvidenceWithNotifications.Limits.chains)))
            .map { evaluated.adding($0) }
    }

    /// Answers from the evidence and the notifications. The answer says if a state that a notification reported may be
    /// missing.
    func answerWithoutUpstream(to evaluated: EvaluatedRequest) -> Answer {
        guard evaluated.lacksStates else { return evaluated.withoutUpstream(.upstreamNotConfigured) }
        observe(.degraded(.sharedStoreUnreachable))
        return evaluated.withoutUpstream(.upstreamNotConfigured, degradedBecause: [.sharedStoreUnreachable])
    }

    /// Returns the evaluated request with the states of its chains, whatever the purges say. Nil if the states are
    /// unknown.
    func addingAll(to evaluated: EvaluatedRequest) async -> EvaluatedRequest? {
        await adding(byLastPurge(evaluated.notifiableChains), to: evaluated)
    }

    /// Returns the chains about which a notification may have reported something that the evidence lacks: it purges the
    /// results about its purchases.
    private func newStates(
        of evaluated: EvaluatedRequest, _ purge: KnownPurge, _ isAppleAsked: () -> Bool
    ) -> [PurchaseChain] {
        switch purge {
        case .none: return []
        case .unknown: return isAppleAsked() ? [] : evaluated.notifiableChains
        case .named:
            return byLastPurge(
                evaluated.notifiableChains.filter { chain in
                    let id = chain.originalTransactionID
                    return purges.knownPurge(of: [id], in: chain.bundleID, since: evaluated.signedAfter) != .none
                })
        }
    }

    /// Returns the chains that purges name, the chain of the latest purge first, then the others in their order. Of many
    /// chains only the first are looked up.
    private func byLastPurge(_ chains: [PurchaseChain]) -> [PurchaseChain] {
        let purged = chains.map { ($0, purges.lastPurge(of: $0.originalTransactionID, in: $0.bundleID)) }
        let named = purged.filter { $0.1 > 0 }.sorted { $0.1 > $1.1 }
        return (named + purged.filter { $0.1 == 0 }).map(\.0)
    }
}
