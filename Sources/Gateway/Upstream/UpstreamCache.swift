// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import Receipts
internal import Synchronization

/// Keeps what Apple said of receipts. A cache: it may forget anything at any time, and a fault is a miss.
///
/// A purge names an original transaction and reaches every finding about it, on all nodes: also one that is being fetched
/// and one that the store lost and got back. So a finding is kept with the purges that were known before Apple was asked
/// (`PurgePosition`), and is compared with those since whenever it is looked up.
public protocol UpstreamCache: Sendable {
    /// Returns the finding, if there is one and it was not purged, and the stamp from before it was looked up.
    /// - Parameter originalTransactionIDs: those the receipt names; those that Apple named are in the finding.
    func lookUp(_ key: CacheKey, naming originalTransactionIDs: [String]) async -> CacheLookup
    /// Keeps a finding, in place of an older one.
    func insert(_ result: CachedResult, for key: CacheKey) async
    /// Makes every finding that names this original transaction useless, on all nodes.
    func purge(originalTransactionID: String) async throws(StoreUnreachable)
    /// The purges that this node knows, to be taken before Apple is asked.
    var purgePosition: PurgePosition { get }
    /// Judges a finding by the purges that this node knows.
    func judge(_ result: CachedResult, naming originalTransactionIDs: [String]) -> PurgeDecision
    /// The present state of a finding.
    func version(for key: CacheKey) -> InvalidationVersion
}

/// The outcome of a look-up.
public struct CacheLookup: Sendable {
    /// The finding; nil for a miss.
    public let result: CachedResult?
    /// The state before the look-up, to be kept with the answer that is made of the finding.
    public let version: InvalidationVersion
    /// Whether the shared store could not be asked: then purges by other nodes may be missing.
    public let isDetached: Bool

    /// The outcome of a look-up.
    public init(_ result: CachedResult?, version: InvalidationVersion, isDetached: Bool = false) {
        self.result = result
        self.version = version
        self.isDetached = isDetached
    }
}

/// The store that all nodes share cannot be reached, so nothing can be said of what it holds.
public struct StoreUnreachable: Error, Hashable, Sendable {
    /// Says nothing more.
    public init() {}
}

/// Keeps findings in this process, bounded in bytes.
public final class EmbeddedUpstreamCache: UpstreamCache {
    private let results: Mutex<Generations<CacheKey, CachedResult>>
    private let history = Mutex(PurgeHistory())
    private let counters = InvalidationCounters()

    /// - Parameter maximumBytes: what all findings together may take; 0 keeps none.
    public init(maximumBytes: Int) {
        results = Mutex(Generations(maximumBytes: maximumBytes))
    }

    /// Returns the finding, unless it was purged.
    public func lookUp(_ key: CacheKey, naming originalTransactionIDs: [String]) -> CacheLookup {
        let version = version(for: key)
        guard let result = results.withLock({ $0.find(key) }),
            judge(result, naming: originalTransactionIDs) == .current
        else { return CacheLookup(nil, version: version) }
        return CacheLookup(result, version: version)
    }

    /// Keeps a finding, in place of an older one.
    public func insert(_ result: CachedResult, for key: CacheKey) {
        results.withLock { $0.insert(result, for: key, byteCount: result.byteCount) }
    }

    /// Makes every finding that names this original transaction useless.
    public func purge(originalTransactionID: String) {
        // The history first: a stamp that is taken between the two is compared with it.
        history.withLock { $0.append(originalTransactionID) }
        counters.invalidate(originalTransactionID: originalTransactionID)
    }

    /// The purges so far.
    public var purgePosition: PurgePosition { history.withLock { $0.position } }

    /// Judges a finding by the purges so far.
    public func judge(_ result: CachedResult, naming originalTransactionIDs: [String]) -> PurgeDecision {
        history.withLock { $0.judge(result, naming: originalTransactionIDs) }
    }

    /// The present state of a finding.
    public func version(for key: CacheKey) -> InvalidationVersion { counters.version(of: CollectionOfOne(key)) }
}

extension PurgeHistory {
    /// Whether a finding may be used, about the original transactions of a receipt and those that Apple named.
    public func judge(_ result: CachedResult, naming originalTransactionIDs: [String]) -> PurgeDecision {
        let receipt = judge(result.purges, naming: originalTransactionIDs)
        return receipt == .current ? judge(result.purges, naming: result.originalTransactionIDs) : receipt
    }
}

extension CachedResult {
    /// What it takes in memory, roughly: a fixed part, and what Apple sent in its two forms.
    package var byteCount: Int {
        guard case .answered(let answer) = result else { return Self.fixedByteCount }
        return Self.fixedByteCount + answer.body.count + (answer.latestReceipt?.count ?? 0)
            + answer.transactions.byteCount + answer.renewals.count * MemoryLayout<Renewal>.stride
    }

    private static let fixedByteCount = 512
}

extension [Transaction] {
    /// What the list takes in memory, roughly: most identifiers are longer than a string holds inside itself.
    var byteCount: Int { count * (MemoryLayout<Transaction>.stride + 128) }
}
