// SPDX-License-Identifier: Apache-2.0

package import Gateway
package import Receipts
internal import Synchronization

/// Keeps the accounts of purchases in this process, for trying the gateway out: they end with it.
package final class EmbeddedOwnershipStore: OwnershipStore {
    package enum Limits {
        /// The purchases, those used last.
        package static let chains = 100_000
    }

    private let rules: OwnershipRules
    private let maximumCount: Int
    private let log: EmbeddedEventLog
    private let clock: @Sendable () -> Timestamp
    private let records = Mutex<[PurchaseChain: OwnershipRecord]>([:])

    /// - Parameter log: receives the events about suspicious uses.
    package init(
        _ rules: OwnershipRules, log: EmbeddedEventLog, maximumCount: Int = Limits.chains,
        clock: @escaping @Sendable () -> Timestamp
    ) {
        (self.rules, self.log, self.maximumCount, self.clock) = (rules, log, maximumCount, clock)
    }

    package func record(_ account: Account, using chains: [PurchaseChain]) -> [RecordedUse]? {
        let now = clock()
        return records.withLock { records in
            let uses = chains.map { records[$0, default: OwnershipRecord()].use(by: account, at: now, rules) }
            trim(&records, at: now)
            return uses
        }
    }

    package func report(_ event: Event, about chain: PurchaseChain) -> Bool {
        let now = clock()
        let isNew = records.withLock { $0[chain]?.report(at: now, rules) ?? false }
        if isNew { log.append(event) }
        return isNew
    }

    package func transfer(_ chain: PurchaseChain, to account: Account) {
        let now = clock()
        records.withLock { records in
            records[chain, default: OwnershipRecord()].transfer(to: account, at: now, rules)
            trim(&records, at: now)
        }
    }

    package func forget(_ chain: PurchaseChain) -> Bool {
        records.withLock { $0.removeValue(forKey: chain) != nil }
    }

    package func chains(of account: Account, in bundleID: String) -> Set<PurchaseChain> {
        Set(used(by: account, in: bundleID).filter { !$0.value.isBoundToOther(than: account) }.keys)
    }

    private func used(by account: Account, in bundleID: String) -> [PurchaseChain: OwnershipRecord] {
        records.withLock { $0.filter { $0.key.bundleID == bundleID && $0.value.accounts[account] != nil } }
    }

    package func erase(_ subject: ErasureSubject) -> ErasureCount {
        let left = subject.account.map { account in used(by: account, in: subject.bundleID).map { ($0.key, account) } }
        return records.withLock { records in
            var count = subject.chains.count { records.removeValue(forKey: $0) != nil }
            for (chain, account) in left ?? [] where records[chain]?.leave(account) == true {
                count += 1
                if records[chain]?.accounts.isEmpty == true { records[chain] = nil }
            }
            return count > 0 ? [.ownership: count] : [:]
        }
    }

    /// Removes the oldest quarter of too many records, so that few uses pay for it.
    private func trim(_ records: inout [PurchaseChain: OwnershipRecord], at now: Timestamp) {
        guard records.count > maximumCount else { return }
        let newestFirst = records.sorted { $0.value.lastUse > $1.value.lastUse }
        let kept = newestFirst.prefix(max(1, maximumCount * 3 / 4)).filter { $0.value.isCurrent(at: now, rules) }
        records = Dictionary(uniqueKeysWithValues: kept.map { ($0.key, $0.value) })
    }
}

/// The accounts of one purchase. Accounts that have not used the purchase for the time of retention count as forgotten.
private struct OwnershipRecord: Sendable {
    /// The account that the purchase is bound to; nil if the account was erased.
    private var owner: Account?
    private(set) var accounts: [Account: Timestamp] = [:]
    private var reportedAt: Timestamp?

    var lastUse: Timestamp { accounts.values.max() ?? Timestamp.earliest }

    func isBoundToOther(than account: Account) -> Bool { owner != nil && owner != account }

    func isCurrent(at now: Timestamp, _ rules: OwnershipRules) -> Bool {
        lastUse >= now.advanced(by: .zero - rules.retention)
    }

    mutating func use(by account: Account, at now: Timestamp, _ rules: OwnershipRules) -> RecordedUse {
        forgetOld(at: now, rules)
        let binding: RecordedUse.Binding = owner == nil ? .new : owner == account ? .same : .other
        owner = owner ?? account
        add(account, at: now)
        return RecordedUse(binding, suspiciousAccounts: suspiciousAccounts(at: now, rules))
    }

    mutating func transfer(to account: Account, at now: Timestamp, _ rules: OwnershipRules) {
        forgetOld(at: now, rules)
        owner = account
        add(account, at: now)
    }

    /// Records a report of a suspicious use; returns false if there was one in this window.
    mutating func report(at now: Timestamp, _ rules: OwnershipRules) -> Bool {
        if isReported(at: now, rules) { return false }
        reportedAt = now
        return true
    }

    /// Removes an account, and the binding to it; returns false if it was not there.
    mutating func leave(_ account: Account) -> Bool {
        if owner == account { owner = nil }
        return accounts.removeValue(forKey: account) != nil
    }

    private mutating func forgetOld(at now: Timestamp, _ rules: OwnershipRules) {
        let oldest = now.advanced(by: .zero - rules.retention)
        accounts = accounts.filter { $0.value >= oldest }
        if owner.map({ accounts[$0] == nil }) == true { owner = nil }
    }

    private mutating func add(_ account: Account, at now: Timestamp) {
        accounts[account] = now
        guard accounts.count > OwnershipRules.Limits.accounts else { return }
        let others = accounts.filter { $0.key != account && $0.key != owner }
        if let oldest = others.min(by: { $0.value < $1.value }) { accounts[oldest.key] = nil }
    }

    private func suspiciousAccounts(at now: Timestamp, _ rules: OwnershipRules) -> Int? {
        let start = now.advanced(by: .zero - rules.window)
        let count = accounts.values.count { $0 >= start }
        return count > rules.maximumAccounts && !isReported(at: now, rules) ? count : nil
    }

    private func isReported(at now: Timestamp, _ rules: OwnershipRules) -> Bool {
        reportedAt.map { $0 > now.advanced(by: .zero - rules.window) } ?? false
    }
}
