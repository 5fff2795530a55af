// SPDX-License-Identifier: Apache-2.0

package import Clients
package import Customers
package import Gateway
internal import HTTPServer
internal import JSON
package import Receipts
internal import Synchronization

/// The check of an account against the purchases of an answer, for immediate and deferred verifications.
package struct OwnershipCheck: Sendable {
    private let store: any OwnershipStore
    private let observe: OwnershipObserver
    private let reports: SuspicionReports

    package init(
        _ store: any OwnershipStore, rules: OwnershipRules, observe: @escaping OwnershipObserver,
        onEvents: @escaping @Sendable (AppPartition) -> Void, clock: @escaping @Sendable () -> Timestamp
    ) {
        (self.store, self.observe) = (store, observe)
        reports = SuspicionReports(store, rules: rules, clock: clock) { partition in
            observe(.fraudSuspected)
            onEvents(partition)
        }
    }

    /// Records the use of purchases by an account of a client, and decides on it. Purchases without a binding are bound to
    /// the account. If the store is unreachable, nothing is rejected.
    /// - Parameter claims: the `Answer.ownershipClaims`; without claims the ownership is unknown.
    package func ownership(
        of claims: [OwnershipClaim], account: Account, client: Client
    ) async -> OwnershipDecision {
        let uses = claims.isEmpty ? [] : await store.record(account, using: claims.map(\.chain))
        let decision = OwnershipDecision(claims, of: account, uses, under: client.ownership)
        observe(.checked(decision.ownership))
        if decision.isRejected { observe(.rejected) }
        reports.begin(SuspiciousUse.all(of: claims, uses ?? []))
        return decision
    }
}

extension OwnershipCheck? {
    /// True for an answer whose purchases are to be checked: a genuine answer to a request with an account.
    func concerns(_ answer: Answer, for account: Account?) -> Bool {
        self != nil && account != nil && answer.verdict == .genuine
    }

    /// Checks the purchases of an answer, unless it is not to be checked.
    /// - Returns: the answer, rejected if the client rejects purchases of other accounts; and the relation of the account
    ///   to its purchases, nil for an answer that was not checked.
    func check(
        _ answer: Answer, for account: Account?, of client: Client
    ) async -> (answer: Answer, ownership: Ownership?) {
        guard let self, let account, concerns(answer, for: account) else { return (answer, nil) }
        let decision = await self.ownership(of: answer.ownershipClaims, account: account, client: client)
        return (decision.isRejected ? answer.rejectedForAccount : answer, decision.ownership)
    }
}

extension Reply {
    /// Adds the member `ownership` to the body of an answer, as the first member; nothing for nil.
    mutating func addOwnership(_ ownership: Ownership?) {
        guard let ownership else { return }
        let json = JSONWriter.object(reservingCapacity: body.count + 32) { json in
            json.member("ownership", ownership.rawValue)
            json.members(body.bytes.dropFirst().dropLast())
        }
        body = ReplyBody(json)
    }
}

/// The purchases of a cached answer to a request with an account, which are checked each time it is sent.
final class CachedClaims: Sendable {
    let claims: [OwnershipClaim]
    let account: Account
    let kind: RequestSubject.Kind
    /// The answer to a client that rejects purchases of other accounts.
    let rejected: Answer

    /// Returns nil for an answer that is not checked.
    /// - Parameter answer: the answer as sent the second time.
    init?(_ answer: Answer, to request: VerificationRequest) {
        guard let account = request.options.account, answer.verdict == .genuine else { return nil }
        (self.account, kind) = (account, request.subject.kind)
        claims = answer.ownershipClaims
        rejected = answer.rejectedForAccount
    }

    /// The approximate memory.
    var byteCount: Int { 512 + 256 * claims.count + account.id.utf8.count }
}

/// A purchase that more accounts use than permitted.
struct SuspiciousUse: Sendable {
    let claim: OwnershipClaim
    let accounts: Int

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
