// SPDX-License-Identifier: Apache-2.0

package import Gateway
internal import Receipts
package import Resilience

/// Deletes everything about a customer from all stores.
///
/// ```
/// IDs, account ──▶ chains, and their other names ──▶ stores ──▶ stores again ──▶ indexes
///                                                      └─────────────┴── unreachable: the indexes stay, for a repetition
/// ```
/// The second pass finds what was written meanwhile: a notification that a node applied, or an answer of Apple. Only
/// then the cached results are purged again, because each node keeps the latest purges, whatever they name.
package struct Erasure: Sendable {
    package enum Limits {
        /// The rounds in which further names of a renamed chain are found.
        static let renamings = 8
        static let states = 64
    }

    private let stores: [any CustomerDataStore]
    private let purge: any CustomerDataStore
    private let results: [any CustomerDataStore]
    private let indexes: [any CustomerDataStore]
    private let states: (any CustomerStates)?
    private let chains: @Sendable (Account, _ bundleID: String) async throws(StoreUnreachable) -> Set<PurchaseChain>

    /// - Parameters:
    ///   - stores: in the order in which data passes through them, so that no store is refilled from a store that still
    ///     has the data.
    ///   - purge: invalidates the cached results of all nodes.
    ///   - results: the stores of cached results, which are invalid by then.
    ///   - indexes: the stores by which chains are found: customer states and ownership.
    ///   - states: the states that have other names of a renamed chain; nil if none are kept.
    ///   - chains: returns the chains that an account was seen with, without those that are bound to another account.
    package init(
        _ stores: [any CustomerDataStore], purge: any CustomerDataStore, results: [any CustomerDataStore] = [],
        indexes: [any CustomerDataStore], states: (any CustomerStates)?,
        chains: @escaping @Sendable (Account, _ bundleID: String) async throws(StoreUnreachable) -> Set<PurchaseChain>
    ) {
        (self.stores, self.purge, self.results) = (stores, purge, results)
        (self.indexes, self.states, self.chains) = (indexes, states, chains)
    }

    /// Deletes everything about purchases and an account. It may be repeated.
    /// - Throws: if a store is unreachable. All others were tried, so a repetition completes it.
    package func erase(
        _ bundleID: String, originalTransactionIDs ids: [String], account: Account?
    ) async throws(StoreUnreachable) -> ErasureCount {
        let subject = try await subject(bundleID, ids, account)
        var count = try await Self.erase(subject, from: stores + [purge] + results)
        let late = try await Self.erase(subject, from: stores + results)
        if !late.isEmpty { _ = try await purge.erase(subject) }
        count.add(late)
        count.add(try await Self.erase(subject, from: indexes))
        return count
    }

    private static func erase(
        _ subject: ErasureSubject, from stores: [any CustomerDataStore]
    ) async throws(StoreUnreachable) -> ErasureCount {
        var count: ErasureCount = [:], fault: StoreUnreachable?
        for store in stores {
            do throws(StoreUnreachable) {
                count.add(try await store.erase(subject))
            } catch {
                fault = error
            }
        }
        if let fault { throw fault }
        return count
    }

    // MARK: - Chains

    private func subject(
        _ bundleID: String, _ ids: [String], _ account: Account?
    ) async throws(StoreUnreachable) -> ErasureSubject {
        let used = if let account { try await chains(account, bundleID) } else { Set<PurchaseChain>() }
        let named = Self.chains(Set(ids).union(used.map(\.originalTransactionID)), of: bundleID)
        let chains = try await addingOtherNames(of: named, bundleID)
        return ErasureSubject(bundleID: bundleID, chains: chains, account: account)
    }

    /// Returns a chain in each environment for each ID: a request does not say in which it exists.
    private static func chains(_ ids: Set<String>, of bundleID: String) -> Set<PurchaseChain> {
        Set(
            ids.flatMap { id in
                [Environment.production, .sandbox].map {
                    PurchaseChain(bundleID: bundleID, environment: $0, originalTransactionID: id)
                }
            })
    }

    /// Adds the names that Apple gave a chain before or after.
    private func addingOtherNames(
        of named: Set<PurchaseChain>, _ bundleID: String
    ) async throws(StoreUnreachable) -> Set<PurchaseChain> {
        guard let states else { return named }
        var all = named, new = named
        for _ in 0..<Limits.renamings where !new.isEmpty {
            var known: [CustomerState] = [], waiting = Array(new)[...]
            while !waiting.isEmpty {
                guard let part = await states.states(of: Array(waiting.prefix(Limits.states))) else {
                    throw StoreUnreachable()
                }
                known += part
                waiting = waiting.dropFirst(Limits.states)
            }
            new = Self.chains(Set(known.flatMap(\.chainIDs)), of: bundleID).subtracting(all)
            all.formUnion(new)
        }
        return all
    }
}

extension CustomerState {
    /// The present and the previous names of the chain in its signed states.
    fileprivate var chainIDs: [String] {
        transactions.flatMap { [$0.chainID, $0.signedFields?.value.previousOriginalTransactionID] }.compactMap(\.self)
            + renewals.flatMap { [$0.originalTransactionID, $0.signedFields?.value.previousOriginalTransactionID] }
            .compactMap(\.self)
    }
}

extension ErasureCount {
    package mutating func add(_ other: ErasureCount) {
        for (kind, number) in other where number > 0 {
            self[kind] = self[kind, default: 0].addingWithoutOverflow(number)
        }
    }
}

/// An event in the erasure of customers' data, for metrics.
package enum ErasureEvent: Hashable, Sendable {
    case done(ErasureCount)
    /// A store was unreachable. A repetition completes it.
    case failed
}

package typealias ErasureObserver = @Sendable (ErasureEvent) -> Void

/// Invalidates the cached results about a customer of an app on all nodes. No node uses such a result afterwards, not
/// even a result that is being fetched. The results of other apps stay.
package struct CachedResultPurge: CustomerDataStore {
    package enum Limits {
        /// The maximum number of IDs that are purged individually. With more IDs all results of the app are purged, in
        /// one entry. The history keeps the newest purges only, and results from before them are misses for all apps.
        package static let ids = 16
    }

    private let purge: @Sendable ([Purge]) async throws(StoreUnreachable) -> Void

    /// - Parameter purge: invalidates the results that these purges name.
    package init(_ purge: @escaping @Sendable ([Purge]) async throws(StoreUnreachable) -> Void) { self.purge = purge }

    /// - Returns: no number: each node drops its own copies.
    package func erase(_ subject: ErasureSubject) async throws(StoreUnreachable) -> ErasureCount {
        let ids = IDsToErase(of: subject).texts.sorted()
        if ids.isEmpty { return [:] }
        let isLong = ids.count > Limits.ids
        try await purge(isLong ? [.all(of: subject.bundleID)] : ids.map { Purge($0, in: subject.bundleID) })
        return [:]
    }
}
