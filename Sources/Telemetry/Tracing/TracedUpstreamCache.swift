// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import Gateway
internal import Tracing

/// The shared cache with a span for each access.
struct TracedUpstreamCache: UpstreamCache {
    let cache: any UpstreamCache
    let tracer: any Tracer

    func lookUp(_ key: CacheKey, naming originalTransactionIDs: [String]) async -> CacheLookup {
        await tracer.withSpan("GET", ofKind: .client) { span in
            let found = await cache.lookUp(key, naming: originalTransactionIDs)
            span.updateAttributes { attributes in
                attributes["db.system.name"] = "redis"
                attributes["db.operation.name"] = "GET"
                attributes["receipt_gateway.cache"] = (found.result == nil ? Provenance.Cache.miss : .shared).rawValue
            }
            return found
        }
    }

    func insert(_ result: CachedResult, for key: CacheKey) async {
        await tracer.withSpan("SET", ofKind: .client) { span in
            span.updateAttributes { attributes in
                attributes["db.system.name"] = "redis"
                attributes["db.operation.name"] = "SET"
            }
            await cache.insert(result, for: key)
        }
    }

    func purge(originalTransactionID: String) async throws(StoreUnreachable) {
        try await cache.purge(originalTransactionID: originalTransactionID)
    }

    var purgePosition: PurgePosition { cache.purgePosition }

    func judge(_ result: CachedResult, naming originalTransactionIDs: [String]) -> PurgeDecision {
        cache.judge(result, naming: originalTransactionIDs)
    }

    func version(for key: CacheKey) -> InvalidationVersion { cache.version(for: key) }
}
