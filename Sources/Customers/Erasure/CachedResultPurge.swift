// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

package import Gateway
package import Resilience

/// Invalidates the cached results about a customer of an app on all nodes. No node uses such a result afterwards, not
/// even a result that is being fetched. The results of other apps stay.
package struct CachedResultPurge: CustomerDataStore {
    package enum Limits {
        /// The maximum number of IDs that are purged individually. With more IDs all results of the app are purged, in
        /// one entry. The history keeps the newest purges only, and results from before them are misses for all apps.
        package static let ids = 16
    }

    private let purge: @Sendable ([Purge]) async throws(StoreUnreachable) -> Void

    /// - Parameter purge: invalidates the results that these purges name.
    package init(_ purge: @escaping @Sendable ([Purge]) async throws(StoreUnreachable) -> Void) { self.purge = purge }

    package init(_ resultPurges: any ResultPurges) {
        self.init { (purges) throws(StoreUnreachable) in try await resultPurges.purge(purges) }
    }

    /// - Returns: no number: each node drops its own copies.
    package func erase(_ subject: ErasureSubject) async throws(StoreUnreachable) -> ErasureCount {
        let ids = IDsToErase(of: subject).texts.sorted()
        if ids.isEmpty { return [:] }
        let isLong = ids.count > Limits.ids
        try await purge(isLong ? [.all(of: subject.bundleID)] : ids.map { Purge($0, in: subject.bundleID) })
        return [:]
    }
}
