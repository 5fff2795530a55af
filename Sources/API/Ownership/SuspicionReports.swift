// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import Customers
internal import Receipts
internal import Synchronization

/// A purchase that more accounts use than permitted.
struct SuspiciousUse: Sendable {
    let claim: OwnershipClaim
    let accounts: Int

    /// Returns those among the uses of claims.
    static func all(of claims: [OwnershipClaim], _ uses: [RecordedUse]) -> [Self] {
        zip(claims, uses).compactMap { claim, use in use.suspiciousAccounts.map { Self(claim: claim, accounts: $0) } }
    }
}

/// Writes events about suspicious uses while no client waits. A use that is not reported is found again at the next
/// use.
final class SuspicionReports: Sendable {
    enum Limits {
        /// The uses of one request that are reported, the newest purchases first.
        static let uses = 16
        /// The requests whose uses are reported at the same time.
        static let requests = 16
    }

    private let store: any OwnershipStore
    private let rules: OwnershipRules
    private let clock: @Sendable () -> Timestamp
    private let onEvents: @Sendable (AppPartition) -> Void
    private let running = Mutex(0)

    /// - Parameter onEvents: called after an event was written.
    init(
        _ store: any OwnershipStore, rules: OwnershipRules, clock: @escaping @Sendable () -> Timestamp,
        onEvents: @escaping @Sendable (AppPartition) -> Void
    ) {
        (self.store, self.rules, self.clock, self.onEvents) = (store, rules, clock, onEvents)
    }

    /// Begins to report the uses of a request, unless reports for too many requests are running.
    func begin(_ uses: [SuspiciousUse]) {
        guard !uses.isEmpty, beginsReport() else { return }
        Task {
            await report(uses)
            running.withLock { $0 -= 1 }
        }
    }

    private func beginsReport() -> Bool {
        running.withLock { running in
            guard running < Limits.requests else { return false }
            running += 1
            return true
        }
    }

    /// Reports uses until the store does not answer.
    func report(_ uses: [SuspiciousUse]) async {
        for use in uses.prefix(Limits.uses) {
            let chain = use.claim.chain
            let event = Event(suspecting: use.claim, usedBy: use.accounts, within: rules.window, at: clock())
            guard let isNew = try? await store.report(event, about: chain) else { return }
            if isNew { onEvents(chain.partition) }
        }
    }
}
