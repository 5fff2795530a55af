// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

package import Gateway

/// Invalidates the cached results about a customer on all nodes. No node uses one afterwards, also of those that are
/// being fetched.
package struct CachedResultPurge: CustomerDataStore {
    private let purge: @Sendable ([String]) async throws(StoreUnreachable) -> Void

    /// - Parameter purge: invalidates the results that name any of these IDs.
    package init(_ purge: @escaping @Sendable ([String]) async throws(StoreUnreachable) -> Void) { self.purge = purge }

    package init(_ cache: any UpstreamCache) {
        self.init { (ids) throws(StoreUnreachable) in try await cache.purge(transactionIDs: ids) }
    }

    /// - Returns: no number: each node drops its own copies.
    package func erase(_ subject: ErasureSubject) async throws(StoreUnreachable) -> ErasureCount {
        let ids = ErasedIDs(of: subject).texts.sorted()
        if !ids.isEmpty { try await purge(ids) }
        return [:]
    }
}
