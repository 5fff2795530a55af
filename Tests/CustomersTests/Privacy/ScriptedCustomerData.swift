// SPDX-License-Identifier: Apache-2.0

import Customers
import Gateway
import Synchronization

/// A store that records what it is to erase.
final class ScriptedCustomerData: CustomerDataStore {
    typealias Reply = Result<ErasureCount, StoreUnreachable>

    private let recorded = Mutex<[ErasureSubject]>([])
    private let replies: Mutex<[Reply]>

    /// - Parameter replies: those to the first calls; later ones find nothing.
    init(_ replies: [Reply] = []) { self.replies = Mutex(replies) }

    var subjects: [ErasureSubject] { recorded.withLock { $0 } }
    var erasedIDs: Set<String> { Set(subjects.flatMap(\.chains).map(\.originalTransactionID)) }

    func erase(_ subject: ErasureSubject) throws(StoreUnreachable) -> ErasureCount {
        recorded.withLock { $0.append(subject) }
        return try replies.withLock { $0.isEmpty ? .success([:]) : $0.removeFirst() }.get()
    }

    /// Returns the erasure of this store, and of the ownership by which the chains of an account are found.
    func erasure(
        _ ownership: any OwnershipStore, purge: any CustomerDataStore = ScriptedCustomerData()
    ) -> Erasure {
        Erasure([self], purge: purge, indexes: [ownership], states: nil) {
            (account, bundleID) throws(StoreUnreachable) in
            try await ownership.chains(of: account, in: bundleID)
        }
    }
}
