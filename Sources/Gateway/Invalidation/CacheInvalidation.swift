// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// Makes cached findings useless before their time.
public struct CacheInvalidation: Sendable {
    private let cache: any UpstreamCache
    private let observer: any UpstreamObserver

    /// Creates the invalidation of one cache.
    /// - Parameter observer: counts purges.
    public init(of cache: any UpstreamCache, observer: any UpstreamObserver) {
        self.cache = cache
        self.observer = observer
    }

    /// Makes every finding that names this original transaction useless, on all nodes.
    public func purge(originalTransactionID: String) async throws(StoreUnreachable) {
        try await cache.purge(originalTransactionID: originalTransactionID)
        observer.observe(.purged)
    }
}
