// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import Synchronization

/// Keeps what Apple said of receipts. A cache: it may forget anything at any time, and a fault is a miss.
public protocol FindingCache: Sendable {
    /// What is known.
    func finding(for key: FindingKey) async -> KnownFinding?
    /// Keeps a finding, in place of an older one.
    func insert(_ finding: KnownFinding, for key: FindingKey) async
}

/// Keeps findings in this process, bounded in bytes.
public final class EmbeddedFindingCache: FindingCache {
    private let findings: Mutex<Generations<FindingKey, KnownFinding>>

    /// - Parameter maximumBytes: what all findings together may take; 0 keeps none.
    public init(maximumBytes: Int) {
        findings = Mutex(Generations(maximumBytes: maximumBytes))
    }

    /// What is known.
    public func finding(for key: FindingKey) -> KnownFinding? {
        findings.withLock { $0.find(key) }
    }

    /// Keeps a finding, in place of an older one.
    public func insert(_ finding: KnownFinding, for key: FindingKey) {
        findings.withLock { $0.insert(finding, for: key, byteCount: finding.byteCount) }
    }
}

extension KnownFinding {
    /// What it takes in memory, roughly: a fixed part, and what Apple sent in its two forms.
    fileprivate var byteCount: Int {
        guard case .answered(let answer) = finding else { return Self.fixedByteCount }
        return Self.fixedByteCount + answer.body.count + (answer.latestReceipt?.count ?? 0)
            + answer.transactions.byteCount + answer.renewals.count * MemoryLayout<Renewal>.stride
    }

    private static let fixedByteCount = 512
}

extension [Transaction] {
    /// What the list takes in memory, roughly: most identifiers are longer than a string holds inside itself.
    var byteCount: Int { count * (MemoryLayout<Transaction>.stride + 128) }
}
