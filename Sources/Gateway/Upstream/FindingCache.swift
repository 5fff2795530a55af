// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import Receipts
internal import Synchronization

/// Keeps what Apple said of receipts. A cache: it may forget anything at any time, and a fault is a miss.
public protocol FindingCache: Sendable {
    /// What is known, and how things stood before it was looked up.
    func lookUp(_ key: FindingKey) async -> FindingLookup
    /// Keeps a finding, in place of an older one.
    /// - Parameter originalTransactionIDs: what it can be forgotten by, at most
    ///   `FindingCacheLimits.originalTransactionIDs`.
    func insert(_ finding: KnownFinding, for key: FindingKey, naming originalTransactionIDs: [String]) async
    /// Forgets every finding that names this original transaction, on all nodes.
    /// - Returns: how many there were.
    func forget(originalTransactionID: String) async throws(StoreUnreachable) -> Int
    /// How things stand.
    func stamp(for key: FindingKey) -> InvalidationStamp
}

/// What a look-up brought to light.
public struct FindingLookup: Sendable {
    /// What is known; nil if nothing is.
    public let finding: KnownFinding?
    /// How things stood before, to be kept with the answer that is made of it.
    public let stamp: InvalidationStamp

    /// The outcome of a look-up.
    public init(_ finding: KnownFinding?, stamp: InvalidationStamp) {
        (self.finding, self.stamp) = (finding, stamp)
    }
}

extension FindingCache {
    /// What is known.
    func finding(for key: FindingKey) async -> KnownFinding? { await lookUp(key).finding }
}

/// The store that all nodes share cannot be reached, so nothing can be said of what it holds.
public struct StoreUnreachable: Error, Hashable, Sendable {
    /// Says nothing more.
    public init() {}
}

/// What a cache of findings keeps at most.
public enum FindingCacheLimits {
    /// Original transactions that one finding can be forgotten by. A customer has a few subscriptions; one with more
    /// purchases than these is found by the latest.
    public static let originalTransactionIDs = 32
}

/// Keeps findings in this process, bounded in bytes.
public final class EmbeddedFindingCache: FindingCache {
    private let findings: Mutex<Generations<FindingKey, KnownFinding>>
    private let board = InvalidationBoard()

    /// - Parameter maximumBytes: what all findings together may take; 0 keeps none.
    public init(maximumBytes: Int) {
        findings = Mutex(Generations(maximumBytes: maximumBytes))
    }

    /// What is known, and how things stood before it was looked up.
    public func lookUp(_ key: FindingKey) -> FindingLookup {
        let stamp = stamp(for: key)
        return FindingLookup(findings.withLock { $0.find(key) }, stamp: stamp)
    }

    /// Keeps a finding, in place of an older one.
    public func insert(_ finding: KnownFinding, for key: FindingKey, naming originalTransactionIDs: [String]) {
        let size =
            finding.byteCount + originalTransactionIDs.reduce(0) { $0 + $1.utf8.count + KnownFinding.tagByteCount }
        findings.withLock { $0.insert(finding, for: key, byteCount: size, tags: originalTransactionIDs) }
    }

    /// Forgets every finding that names this original transaction.
    public func forget(originalTransactionID: String) -> Int {
        let forgotten = findings.withLock { $0.removeAll(tagged: originalTransactionID) }
        for key in forgotten { board.invalidate(key) }
        return forgotten.count
    }

    /// How things stand.
    public func stamp(for key: FindingKey) -> InvalidationStamp { board.stamp(of: CollectionOfOne(key)) }
}

extension KnownFinding {
    /// What it takes in memory, roughly: a fixed part, and what Apple sent in its two forms.
    package var byteCount: Int {
        guard case .answered(let answer) = finding else { return Self.fixedByteCount }
        return Self.fixedByteCount + answer.body.count + (answer.latestReceipt?.count ?? 0)
            + answer.transactions.byteCount + answer.renewals.count * MemoryLayout<Renewal>.stride
    }

    private static let fixedByteCount = 512
    /// A text, and its place in an index.
    fileprivate static let tagByteCount = 128
}

extension [Transaction] {
    /// What the list takes in memory, roughly: most identifiers are longer than a string holds inside itself.
    var byteCount: Int { count * (MemoryLayout<Transaction>.stride + 128) }
}
