// SPDX-License-Identifier: Apache-2.0

package import Gateway

/// A customer whose data is deleted: one purchase or several, and the account they were used by.
package struct ErasureSubject: Hashable, Sendable {
    package enum Limits {
        /// The original transaction IDs of a request, and the IDs of an account.
        package static let chains = 1000
    }

    package let bundleID: String
    /// The purchases, in every environment in which they may exist.
    package var chains: Set<PurchaseChain>
    /// The account whose traces are removed from all chains, also from those that are bound to another account.
    package var account: Account?

    package init(bundleID: String, chains: Set<PurchaseChain>, account: Account? = nil) {
        (self.bundleID, self.chains, self.account) = (bundleID, chains, account)
    }
}

/// The kinds of stored data about customers. The raw values appear in the API and in metrics.
package enum CustomerData: String, CaseIterable, Hashable, Sendable {
    /// The accounts that a purchase is bound to, or was used by.
    case ownership
    /// The newest signed states.
    case customerStates = "customer_states"
    case events
    /// Notifications in the log for endpoints that receive them unchanged.
    case relayedNotifications = "relayed_notifications"
    /// Deliveries of webhooks that wait or failed for good.
    case deliveries
    /// Notifications that are not applied yet.
    case pendingNotifications = "pending_notifications"
    /// Notifications that cannot be applied.
    case deadLetters = "dead_letters"
    /// Deferred verifications: their evidence and their verdicts.
    case verifications
    /// Cached results of requests to Apple.
    case cachedResults = "cached_results"
}

/// The number of entries that were deleted, by kind; a kind without entries is absent.
package typealias ErasureCount = [CustomerData: Int]

/// A store with data about customers.
package protocol CustomerDataStore: Sendable {
    /// Deletes everything about a customer. It may be repeated.
    /// - Throws: if the store is unreachable; a part may be deleted then.
    func erase(_ subject: ErasureSubject) async throws(StoreUnreachable) -> ErasureCount
}

/// The IDs of the purchases whose data is deleted, to be found in what is stored, in any environment.
package struct IDsToErase: Sendable {
    private enum Limits {
        /// The shortest ID that is looked for in what names none of its texts. Apple's IDs are longer. In Xcode's tests
        /// they count from 0: as words, such IDs are quantities, states and years of every customer.
        static let shortestWord = 8
    }

    package let texts: Set<String>
    /// The IDs that are looked for as words.
    private let bytes: Set<ArraySlice<UInt8>>
    private let lengths: Set<Int>

    package init(of subject: ErasureSubject) {
        texts = Set(subject.chains.map(\.originalTransactionID))
        bytes = Set(texts.map { Array($0.utf8)[...] }.filter { $0.count >= Limits.shortestWord })
        lengths = Set(bytes.map(\.count))
    }

    /// Returns true for an original transaction ID of these purchases.
    package func contains(_ id: String) -> Bool { texts.contains(id) }

    /// Returns true if a whole value of JSON is one of the IDs.
    func areNamed(by value: String) -> Bool { lengths.contains(value.utf8.count) && texts.contains(value) }

    /// Returns true if any of the IDs is a whole word of these bytes: JSON, or a stored form. In DER the byte after a
    /// text may be a digit, too (`SEQUENCE` is 0x30); there the byte before it is its length.
    package func areNamed(in content: [UInt8]) -> Bool {
        var index = 0
        while let start = content[index...].firstIndex(where: \.isWordByte) {
            let end = content[start...].firstIndex { !$0.isWordByte } ?? content.count
            let length = start > 0 ? Int(content[start - 1]) : 0
            if contains(content[start..<end]) { return true }
            if length < end - start, contains(content[start..<start + length]) { return true }
            index = end
        }
        return false
    }

    private func contains(_ word: ArraySlice<UInt8>) -> Bool { lengths.contains(word.count) && bytes.contains(word) }
}

extension UInt8 {
    /// True for the characters of an ID.
    fileprivate var isWordByte: Bool {
        switch self {
        case 0x30...0x39, 0x41...0x5A, 0x61...0x7A: true
        default: false
        }
    }
}
