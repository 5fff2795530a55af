// SPDX-License-Identifier: Apache-2.0

package import Receipts
package import Resilience
internal import Synchronization

/// Stores results of requests to Apple. It may drop any of them at any time; a fault is a miss.
///
/// A purge names a transaction by any of its IDs and reaches every result about the transaction on all nodes. It even
/// reaches results that are being fetched, or that the store lost and restored. So a result is stored with the position
/// of the purges known before its request (`PurgePosition`). Each look-up compares it with later purges.
package protocol UpstreamCache: Sendable {
    /// Returns the result, unless it is missing or purged, and the version from before the look-up.
    /// - Parameter ids: the IDs in the evidence; those in Apple's answer are in the result.
    func lookUp(_ key: CacheKey, naming ids: [String]) async -> CacheLookup
    func insert(_ result: CachedResult, for key: CacheKey) async
    func version(for key: CacheKey) -> InvalidationVersion
    /// The purges that every look-up obeys.
    var purges: any ResultPurges { get }
}

/// Invalidates every cached result that one of these purges names, on all nodes.
package typealias CachePurge = @Sendable ([Purge]) async throws(StoreUnreachable) -> Void

/// The purges of cached results on all nodes.
package protocol ResultPurges: Sendable {
    /// Invalidates every result that one of these purges names.
    func purge(_ purges: [Purge]) async throws(StoreUnreachable)
    /// Returns the purges of these IDs of an app that this node knows; `unknown` also while the store is unreachable.
    /// - Parameter time: the time from which all must be known.
    func knownPurge(of ids: [String], in bundleID: String?, since time: Timestamp) -> KnownPurge
    /// Returns a number that is larger for an ID that a later purge names; 0 for an ID that none of the known purges names.
    func lastPurge(of id: String, in bundleID: String?) -> UInt64
    /// The position of the purges that this node knows, to be read before a request to Apple.
    var position: PurgePosition { get }
    /// Compares an app's result with the purges that this node knows.
    func decision(for result: CachedResult, naming ids: [String], in bundleID: String?) -> PurgeDecision
    /// Returns the version that ends with the next purge of one of these IDs.
    func version(watching ids: [String]) -> InvalidationVersion
}

package struct CacheLookup: Sendable {
    package let result: CachedResult?
    /// The version before the look-up, to be stored with the answer made of the result.
    package let version: InvalidationVersion
    /// True if the shared store was unreachable, so that purges by other nodes may be missing.
    package let isDetached: Bool

    package init(_ result: CachedResult?, version: InvalidationVersion, isDetached: Bool = false) {
        (self.result, self.version, self.isDetached) = (result, version, isDetached)
    }
}

/// The store that all nodes share is unreachable.
package struct StoreUnreachable: Error, Hashable, Sendable {
    package init() {}
}

/// Invalidates cached results before they expire.
package struct CacheInvalidation: Sendable {
    private let purges: any ResultPurges
    private let observe: UpstreamObserver

    package init(_ purges: any ResultPurges, observe: @escaping UpstreamObserver) {
        (self.purges, self.observe) = (purges, observe)
    }

    /// Invalidates every result that names a transaction by this ID, on all nodes.
    /// - Parameter bundleID: the app whose results are invalidated; nil for all apps.
    package func purge(transactionID: String, in bundleID: String? = nil) async throws(StoreUnreachable) {
        try await purges.purge([Purge(transactionID, in: bundleID)])
        observe(.purged)
    }
}

/// Stores results in this process, bounded in bytes.
package final class EmbeddedUpstreamCache: UpstreamCache {
    private let results: Mutex<S3FIFOCache<CacheKey, CachedResult>>
    private let embeddedPurges = EmbeddedPurges()

    /// - Parameter maximumBytes: the limit of all results together; 0 keeps none.
    package init(maximumBytes: Int) {
        results = Mutex(S3FIFOCache(maximumBytes: maximumBytes))
    }

    package func lookUp(_ key: CacheKey, naming ids: [String]) -> CacheLookup {
        let version = version(for: key)
        let found = results.withLock { $0.find(key) }
        let isCurrent =
            found.map { embeddedPurges.decision(for: $0, naming: ids, in: key.bundleID) == .current } ?? false
        return CacheLookup(isCurrent ? found : nil, version: version)
    }

    package func insert(_ result: CachedResult, for key: CacheKey) {
        results.withLock { $0.insert(result, for: key, byteCount: result.byteCount) }
    }

    package func version(for key: CacheKey) -> InvalidationVersion {
        embeddedPurges.counters.version(of: CollectionOfOne(key))
    }

    package var purges: any ResultPurges { embeddedPurges }
}

private final class EmbeddedPurges: ResultPurges {
    private let history = Mutex(PurgeHistory())
    let counters = InvalidationCounters()

    func purge(_ purges: [Purge]) {
        // The history first: a version taken between the two steps is compared with it.
        history.withLock { history in for purge in purges { history.append(purge) } }
        for purge in purges { counters.invalidate(purge) }
    }

    func knownPurge(of ids: [String], in bundleID: String?, since time: Timestamp) -> KnownPurge {
        history.withLock { $0.names(ids, in: bundleID) ? .named : $0.isComplete(after: 0) ? .none : .unknown }
    }

    func lastPurge(of id: String, in bundleID: String?) -> UInt64 {
        history.withLock { $0.lastPurge(of: id, in: bundleID) }
    }

    var position: PurgePosition { history.withLock { $0.position } }

    func decision(for result: CachedResult, naming ids: [String], in bundleID: String?) -> PurgeDecision {
        history.withLock { $0.purgeDecision(for: result, naming: ids, in: bundleID) }
    }

    func version(watching ids: [String]) -> InvalidationVersion { counters.version(watching: ids) }
}

extension PurgeHistory {
    /// Compares a result with the purges of the IDs in the evidence and in Apple's answer.
    package func purgeDecision(for result: CachedResult, naming ids: [String], in bundleID: String?) -> PurgeDecision {
        let evidence = purgeDecision(for: result.purges, naming: ids, in: bundleID)
        guard evidence == .current, result.purges.number < position.number else { return evidence }
        return purgeDecision(for: result.purges, naming: Array(result.transactionIDs), in: bundleID)
    }
}

extension CachedResult {
    /// The bytes in memory, estimated: a fixed part, the roots, and Apple's answer in its two forms.
    package var byteCount: Int {
        let fixed = Self.fixedByteCount + roots.count * EstimatedBytes.root
        guard case .answered(let answer) = result else { return fixed }
        return fixed + answer.body.count + (answer.latestReceipt?.count ?? 0)
            + (answer.revision?.utf8.count ?? 0) + answer.unfinishedConsumables.byteCount
            + answer.transactions.byteCount + answer.renewals.byteCount
            + transactionIDs.count * EstimatedBytes.setElement
    }

    private static let fixedByteCount = 512
}

/// The bytes of values in memory, estimated.
private enum EstimatedBytes {
    /// A text of its own: most identifiers are too long for Swift's inline strings.
    static let text = 64
    /// A text in a set, without its bytes: up to half of the places are free.
    static let setElement = 2 * MemoryLayout<String>.stride
    static let root = 2 * MemoryLayout<OperatorsRoot>.stride

    /// A value with two such texts.
    static func value<Value>(_: Value.Type) -> Int { MemoryLayout<Value>.stride + 2 * text }
}

extension UnfinishedConsumables {
    fileprivate var byteCount: Int {
        guard case .known(let ids) = self else { return 0 }
        return ids.count * (MemoryLayout<String>.stride + EstimatedBytes.text)
    }
}

extension [Transaction] {
    var byteCount: Int {
        var bytes = count * EstimatedBytes.value(Transaction.self)
        for index in indices {
            guard let fields = self[index].signedFields?.value else { continue }
            bytes += EstimatedBytes.value(SignedTransactionFields.self) + (fields.advancedCommerceInfo?.count ?? 0)
        }
        return bytes
    }
}

extension [Renewal] {
    /// The bytes in memory, estimated. A list of offers has any length.
    var byteCount: Int {
        let signed = compactMap { $0.signedFields?.value }
        let offers = signed.reduce(0) { $0 + ($1.eligibleWinBackOfferIDs?.count ?? 0) }
        let objects = signed.reduce(0) { $0 + ($1.advancedCommerceInfo?.count ?? 0) }
        return count * EstimatedBytes.value(Renewal.self)
            + signed.count * EstimatedBytes.value(SignedRenewalFields.self)
            + offers * (MemoryLayout<String>.stride + EstimatedBytes.text) + objects
    }
}
