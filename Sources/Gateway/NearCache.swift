// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import Receipts
internal import Synchronization

/// The answers this process gave lately, bounded in bytes.
///
/// Rejections have a small share of their own, so that a flood of junk pushes out nobody's genuine answer.
final class NearCache: Sendable {
    /// The same key means the same answer, whoever asks: the client's permissions are checked on what is found.
    struct Key: Hashable, Sendable {
        private let evidence: Fingerprint
        // As bytes: texts that Unicode holds to be equivalent are different expectations.
        private let bundleID: [UInt8]?
        private let applicationVersion: [UInt8]?
        private let deviceIdentifier: [UInt8]?
        private let mode: Mode
        private let excludesOldTransactions: Bool
        private let callersSecret: Fingerprint?

        init(_ request: VerificationRequest) {
            switch request.evidence {
            case .appReceipt(let bytes): evidence = Fingerprint(of: bytes.span)
            }
            bundleID = request.expectations.bundleID.map { Array($0.utf8) }
            applicationVersion = request.expectations.applicationVersion.map { Array($0.utf8) }
            deviceIdentifier = request.expectations.deviceIdentifier
            mode = request.mode
            excludesOldTransactions = request.excludesOldTransactions
            callersSecret = request.callersSecret?.fingerprint
        }

        /// What the key takes beside its fixed part: callers choose how long their expectations are.
        fileprivate var byteCount: Int {
            (bundleID?.count ?? 0) + (applicationVersion?.count ?? 0) + (deviceIdentifier?.count ?? 0)
        }
    }

    private let genuine: Mutex<Generations<Key, Answer>>
    private let others: Mutex<Generations<Key, Answer>>

    /// - Parameter maximumBytes: what all answers together may take; 0 keeps none.
    init(maximumBytes: Int) {
        let share = maximumBytes / 16
        genuine = Mutex(Generations(maximumBytes: maximumBytes - share))
        others = Mutex(Generations(maximumBytes: share))
    }

    /// The answer to the same question, if it is fresh at `now` and not older than `maximumAge`.
    func answer(for key: Key, maximumAge: Duration?, at now: Timestamp) -> Answer? {
        guard let found = genuine.withLock({ $0.find(key) }) ?? others.withLock({ $0.find(key) }),
            now < found.freshUntil, found.stamp?.isCurrent ?? true,
            found.provenance.verifiedAt.isAccepted(at: now, maximumAge: maximumAge)
        else { return nil }
        return found
    }

    /// Remembers an answer.
    func insert(_ answer: Answer, for key: Key) {
        let byteCount = answer.byteCount + key.byteCount
        if answer.verdict == .genuine {
            genuine.withLock { $0.insert(answer, for: key, byteCount: byteCount) }
        } else {
            others.withLock { $0.insert(answer, for: key, byteCount: byteCount) }
        }
    }
}

extension Answer {
    /// What the answer takes in memory, roughly: the receipt, and a fixed part for everything around it.
    fileprivate var byteCount: Int {
        Self.fixedByteCount + (receipt?.byteCount ?? 0) + transactions.byteCount
            + subscriptions.count * MemoryLayout<Subscription>.stride + (upstreamBody?.count ?? 0)
    }

    private static let fixedByteCount = 1024
}
