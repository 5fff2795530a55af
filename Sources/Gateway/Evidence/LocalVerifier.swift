// SPDX-License-Identifier: Apache-2.0

internal import Cryptography
package import Receipts
internal import Resilience
internal import Synchronization

/// Verifies evidence from its bytes alone, under one set of trusted roots.
struct LocalVerifier: Sendable {
    let receipts: ReceiptVerifier
    private let items: SignedItemCache

    init(_ receipts: ReceiptVerifier, items: SignedItemCache) {
        self.receipts = receipts
        self.items = items
    }

    /// Returns a verifier that trusts other roots, and knows no item.
    func trusting(_ trustStore: TrustStore) -> LocalVerifier {
        LocalVerifier(receipts.trusting(trustStore), items: items.emptied)
    }

    /// Removes the items verified before. Requests in flight verify them again.
    func forgetItems() { items.removeAll() }

    /// Verifies all items of the evidence, which must be of one app and environment.
    func verify(_ evidence: Evidence, at now: Timestamp) -> LocalVerification {
        do throws(ReceiptError) {
            switch evidence {
            case .appReceipt(let bytes):
                return .verified(VerifiedEvidence(.appReceipt(try receipts.verify(bytes, at: now))))
            case .transactionReceipt(let bytes):
                return .verified(
                    VerifiedEvidence(.transactionReceipt(try receipts.verify(transactionReceipt: bytes, at: now))))
            case .jws(let jws): return .verified(VerifiedEvidence(try item(jws, .alone, at: now)))
            case .signedTransactions(let set): return verify(set, at: now)
            }
        } catch {
            return .rejected(error.rule)
        }
    }

    private func verify(_ set: SignedTransactions, at now: Timestamp) -> LocalVerification {
        var collector = ItemCollector(acceptsPart: set.acceptsPart)
        func add(_ items: [[UInt8]], to list: RejectedItem.List, _ kind: Kind) {
            for (index, jws) in items.enumerated() where collector.isOpen {
                collector.add(list, index) { () throws(ReceiptError) in try item(jws, kind, at: now) }
            }
        }
        // In this order: a renewal info belongs to one of the transactions.
        add(set.transactions, to: .transactions, .transaction)
        add(set.appTransaction.map { [$0] } ?? [], to: .appTransaction, .appTransaction)
        add(set.renewalInfos, to: .renewalInfos, .renewalInfo)
        return collector.result
    }

    fileprivate enum Kind {
        case transaction, renewalInfo, appTransaction
        /// A transaction or an app transaction, as the claims say.
        case alone
    }

    /// Verifies a JWS of this kind, unless it was verified before.
    private func item(_ jws: [UInt8], _ kind: Kind, at now: Timestamp) throws(ReceiptError) -> SignedItem {
        let tag = SignedItemCache.tag(of: jws.span)
        if let tag, let known = items.item(of: tag), known.isOf(kind) { return known }
        let item: SignedItem =
            switch kind {
            case .transaction: .transaction(try receipts.verifyTransaction(jws, at: now))
            case .renewalInfo: .renewalInfo(try receipts.verifyRenewalInfo(jws, at: now))
            case .appTransaction: .appTransaction(try receipts.verifyAppTransaction(jws, at: now))
            case .alone: try itemAlone(jws, at: now)
            }
        if let tag { items.insert(item, of: tag) }
        return item
    }

    private func itemAlone(_ jws: [UInt8], at now: Timestamp) throws(ReceiptError) -> SignedItem {
        switch try receipts.verify(jws: jws, at: now) {
        case .transaction(let transaction): .transaction(transaction)
        case .appTransaction(let appTransaction): .appTransaction(appTransaction)
        case .renewalInfo, .notification: throw ReceiptError(.payloadOfOtherKind)
        }
    }
}

extension SignedItem {
    fileprivate func isOf(_ kind: LocalVerifier.Kind) -> Bool {
        switch (self, kind) {
        case (.transaction, .transaction), (.renewalInfo, .renewalInfo), (.appTransaction, .appTransaction),
            (.transaction, .alone), (.appTransaction, .alone):
            true
        default: false
        }
    }
}

/// The items verified lately in this process, by a tag of all bytes of their JWS; bounded in bytes.
///
/// A customer's history is sent again and again with one new transaction. Only verified items are kept, so that junk
/// evicts none.
package final class SignedItemCache: Sendable {
    private enum Limits {
        /// The longest JWS that is recognised; Apple's have 6 KB.
        static let jwsBytes = 64 << 10
    }

    /// The key and the tags never leave the process, so a client can only guess.
    private static let hash = UniversalHash(maximumBytes: Limits.jwsBytes)

    private let items: Mutex<S3FIFOCache<UniversalHash.Tag, SignedItem>>
    private let maximumBytes: Int
    private let onLookup: @Sendable (_ isKnown: Bool) -> Void

    /// - Parameters:
    ///   - maximumBytes: the limit of all items together; 0 keeps none.
    ///   - onLookup: called after each look-up.
    package init(maximumBytes: Int, onLookup: @escaping @Sendable (_ isKnown: Bool) -> Void = { _ in }) {
        items = Mutex(S3FIFOCache(maximumBytes: maximumBytes))
        (self.maximumBytes, self.onLookup) = (maximumBytes, onLookup)
    }

    /// An empty cache of the same size.
    var emptied: SignedItemCache { SignedItemCache(maximumBytes: maximumBytes, onLookup: onLookup) }

    /// Returns nil for a JWS that is too long to be recognised.
    static func tag(of jws: Span<UInt8>) -> UniversalHash.Tag? { hash.tag(of: jws) }

    func item(of tag: UniversalHash.Tag) -> SignedItem? {
        let item = items.withLock { $0.find(tag) }
        onLookup(item != nil)
        return item
    }

    func insert(_ item: SignedItem, of tag: UniversalHash.Tag) {
        items.withLock { $0.insert(item, for: tag, byteCount: item.byteCount) }
    }

    func removeAll() {
        let removed = items.withLock { items in
            defer { items = S3FIFOCache(maximumBytes: maximumBytes) }
            return items
        }
        // Outside the lock.
        withExtendedLifetime(removed) {}
    }
}

/// The outcome of a local verification.
enum LocalVerification: Sendable {
    case verified(VerifiedEvidence)
    case rejected(Rule)
    /// At least one item of a set broke a rule. If the request accepts a part, the evidence has the other items.
    case itemsRejected([RejectedItem], others: VerifiedEvidence?)
}

/// A signed item of a request that breaks a rule.
package struct RejectedItem: Hashable, Sendable {
    /// The lists of items. The raw values are the names of the fields in the API.
    package enum List: String, CaseIterable, Hashable, Sendable {
        case transactions = "signed_transactions"
        case renewalInfos = "signed_renewal_infos"
        case appTransaction = "app_transaction"
    }

    package let list: List
    /// The position in the list, from 0; nil for the app transaction.
    package let index: Int?
    package let rule: Rule
}

/// Collects the verified items of a set.
private struct ItemCollector {
    let acceptsPart: Bool
    var evidence: VerifiedEvidence?
    var rejected: [RejectedItem] = []

    /// The maximum number of rejected items among which others are of use. A forged chain costs as much as ten genuine
    /// items.
    private static let maximumRejected = 4

    /// False once too many items were rejected: one item, unless a part is accepted.
    var isOpen: Bool { rejected.count < (acceptsPart ? Self.maximumRejected : 1) }

    var result: LocalVerification {
        guard rejected.isEmpty else { return .itemsRejected(rejected, others: isOpen ? evidence : nil) }
        return evidence.map(LocalVerification.verified) ?? .rejected(.claimMissing)
    }

    mutating func add(
        _ list: RejectedItem.List, _ index: Int, _ verify: () throws(ReceiptError) -> SignedItem
    ) {
        do throws(ReceiptError) {
            let item = try verify()
            if case .renewalInfo(let renewalInfo) = item { try checkBelongs(renewalInfo) }
            if evidence == nil { evidence = VerifiedEvidence(item) } else { try evidence?.add(item) }
        } catch {
            let index = list == .appTransaction ? nil : index
            rejected.append(RejectedItem(list: list, index: index, rule: error.rule))
        }
    }

    private func checkBelongs(_ renewalInfo: VerifiedRenewalInfo) throws(ReceiptError) {
        let belongs = evidence?.items.contains { item in
            if case .transaction(let transaction) = item { renewalInfo.belongs(to: transaction) } else { false }
        }
        guard belongs == true else { throw ReceiptError(.renewalInfoUnrelated) }
    }
}
