// SPDX-License-Identifier: Apache-2.0

internal import Cryptography
internal import Gateway
internal import Receipts
internal import Resilience
internal import Synchronization

/// The purchases of one customer, collected from the pages of a history and from the statuses.
struct CustomerHistory: Sendable, Redacted {
    private(set) var transactions: [Transaction] = []
    private(set) var unreadable: [UnreadableItem] = []
    private var indices: [String: Int] = [:]
    /// The position up to which the history is known; nil before the first page.
    private(set) var revision: String?

    init() {}

    /// Continues from an earlier answer; nil for an answer without a position.
    init?(continuing known: UpstreamAnswer) {
        guard let revision = known.revision else { return nil }
        self.revision = revision
        for transaction in known.transactions { transactions.addNewest(transaction, &indices) }
    }

    /// Adds a page.
    /// - Returns: false if another page waits, but the answer names no new position to continue from.
    mutating func add(_ page: ServerAPIAnswer) -> Bool {
        add(page.transactions)
        unreadable += page.unreadable
        let isNew = page.revision != nil && page.revision != revision
        revision = page.revision ?? revision
        return isNew || !page.hasMore
    }

    mutating func add(_ signed: [VerifiedTransaction]) {
        for transaction in signed { transactions.addNewest(Transaction(transaction), &indices) }
    }

    /// True if a transaction belongs to a subscription that renews: only such subscriptions have a status.
    var hasSubscription: Bool { transactions.contains(where: \.isSubscription) }

    var hasConsumables: Bool { transactions.contains(where: \.isConsumable) }

    /// Returns true if one of the transactions is of the customer of the evidence.
    func isTied(by ties: PurchaseTies?) -> Bool { ties.map { transactions.contains(where: $0.connects) } ?? false }

    /// Returns true if an ID names a transaction, the first transaction of its chain, or the customer's download of the
    /// app.
    func names(_ id: String) -> Bool { transactions.contains { $0.ids.contains(id) } }
}

/// The pages of histories that were interrupted, by the deadline or by a fault, limited in bytes. Without them a history
/// that takes longer than a deadline would never be read to its end.
final class InterruptedHistories: Sendable {
    enum Limits {
        static let bytes = 32 << 20
        /// The time after which pages are read anew. A purge does not reach them before.
        static let age: Duration = .seconds(600)
        /// The bytes of a transaction in memory, estimated.
        static let transactionBytes = 2 << 10
    }

    struct Customer: Hashable, Sendable {
        let bundleID: String
        let environment: UpstreamEnvironment
        let transactionID: String
    }

    private typealias Pages = (history: CustomerHistory, verifier: ReceiptVerifier, end: ContinuousClock.Instant)

    private let histories = Mutex(S3FIFOCache<Customer, Pages>(maximumBytes: Limits.bytes))

    func keep(_ history: CustomerHistory, of customer: Customer, verifiedBy verifier: ReceiptVerifier) {
        let byteCount = Limits.transactionBytes * (1 + history.transactions.count)
        histories.withLock { $0.insert((history, verifier, .now + Limits.age), for: customer, byteCount: byteCount) }
    }

    /// Returns the pages of an interrupted history, and removes them; nil if there is none, or other roots were trusted.
    func take(_ customer: Customer, verifiedBy verifier: ReceiptVerifier) -> CustomerHistory? {
        histories.withLock { histories in
            let pages = histories.find(customer)
            _ = histories.remove(customer)
            return pages.flatMap { .now < $0.end && $0.verifier === verifier ? $0.history : nil }
        }
    }
}
