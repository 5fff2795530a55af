// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// Invalidates cached results before they expire.
public struct CacheInvalidation: Sendable {
    private let cache: any UpstreamCache
    private let observer: any UpstreamObserver

    /// Creates the invalidation of a cache.
    /// - Parameter observer: counts purges.
    public init(of cache: any UpstreamCache, observer: any UpstreamObserver) {
        self.cache = cache
        self.observer = observer
    }

    /// Invalidates every result that names this original transaction, on all nodes.
    public func purge(originalTransactionID: String) async throws(StoreUnreachable) {
        try await cache.purge(originalTransactionID: originalTransactionID)
        observer.observe(.purged)
    }
}
