// SPDX-License-Identifier: Apache-2.0

package import Gateway
package import Receipts

/// Records the signed states that lookups at Apple find: a state newer than the known state makes events.
///
/// Only chains that notifications have reported are recorded; other chains have no earlier state to compare with. The
/// client's answer does not wait for the recording.
package final class LookupStateRecorder: Sendable {
    package enum Limits {
        /// The maximum number of answers that wait to be recorded; further answers are not recorded.
        static let answers = 256
    }

    private let states: any CustomerStateStore
    private let onEvents: @Sendable (AppPartition, [Event]) -> Void
    private let clock: @Sendable () -> Timestamp
    private let answers = AsyncStream.makeStream(
        of: UpstreamAnswer.self, bufferingPolicy: .bufferingOldest(Limits.answers))

    package init(
        _ states: any CustomerStateStore, onEvents: @escaping @Sendable (AppPartition, [Event]) -> Void,
        clock: @escaping @Sendable () -> Timestamp
    ) {
        (self.states, self.onEvents, self.clock) = (states, onEvents, clock)
    }

    package func recording(_ lookup: any CustomerLookup) -> any CustomerLookup {
        RecordedLookup(lookup: lookup) { self.answers.continuation.yield($0) }
    }

    package func run() async {
        for await answer in answers.stream { await record(answer) }
    }

    private func record(_ answer: UpstreamAnswer) async {
        let updates = answer.updates(cause: EventCause(source: .verification, signedDate: clock()))
        for (update, result) in zip(updates, await states.merge(updates)) {
            guard let outcome = try? result.get(), !outcome.events.isEmpty else { continue }
            onEvents(update.chain.partition, outcome.events)
        }
    }
}

private struct RecordedLookup: CustomerLookup {
    let lookup: any CustomerLookup
    let record: @Sendable (UpstreamAnswer) -> Void

    func hasKey(forApp bundleID: String) -> Bool { lookup.hasKey(forApp: bundleID) }

    func purchases(_ request: CustomerRequest, deadline: ContinuousClock.Instant) async -> UpstreamResult {
        let result = await lookup.purchases(request, deadline: deadline)
        // Where an item is missing, a state stands that Apple did not sign.
        if case .answered(let answer) = result, !answer.lacksItems { record(answer) }
        return result
    }
}

extension UpstreamAnswer {
    /// Returns the signed states of its newest chains, subscriptions first: a history has every consumable as a chain.
    func updates(cause: EventCause) -> [CustomerStateUpdate] {
        guard environment.isApples else { return [] }
        let signed = transactions.filter { $0.signedDate != nil }
        let chains = signed.filter(\.isSubscription).chainsByAge + signed.filter { !$0.isSubscription }.chainsByAge
        return chains.prefix(SignedNotification.Limits.chains).map { id in
            let newest = signed.filter { $0.chainID == id }.sorted { $0.expiryOrder > $1.expiryOrder }
            let plans = renewals.filter { $0.originalTransactionID == id && $0.signedDate != nil }
            return CustomerStateUpdate(
                chain: PurchaseChain(bundleID: bundleID, environment: environment, originalTransactionID: id),
                items: newest.prefix(SignedNotification.Limits.transactions).map(SignedStateItem.transaction)
                    + plans.map(SignedStateItem.renewal),
                cause: cause)
        }
    }
}
