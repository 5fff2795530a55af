// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import Gateway
internal import Tracing

/// The shared cache with a span for each search in it.
struct TracedFindingCache: FindingCache {
    let cache: any FindingCache
    let tracer: any Tracer

    func lookUp(_ key: CacheKey, naming originalTransactionIDs: [String]) async -> FindingLookup {
        await tracer.withSpan("GET", ofKind: .client) { span in
            let found = await cache.lookUp(key, naming: originalTransactionIDs)
            span.updateAttributes { attributes in
                attributes["db.system.name"] = "redis"
                attributes["db.operation.name"] = "GET"
                attributes["receipt_gateway.cache"] = (found.finding == nil ? Provenance.Cache.miss : .shared).rawValue
            }
            return found
        }
    }

    func insert(_ finding: KnownFinding, for key: CacheKey) async {
        await tracer.withSpan("SET", ofKind: .client) { span in
            span.updateAttributes { attributes in
                attributes["db.system.name"] = "redis"
                attributes["db.operation.name"] = "SET"
            }
            await cache.insert(finding, for: key)
        }
    }

    func purge(originalTransactionID: String) async throws(StoreUnreachable) {
        try await cache.purge(originalTransactionID: originalTransactionID)
    }

    var purgePosition: PurgePosition { cache.purgePosition }

    func judge(_ finding: KnownFinding, naming originalTransactionIDs: [String]) -> PurgeJudgement {
        cache.judge(finding, naming: originalTransactionIDs)
    }

    func stamp(for key: CacheKey) -> InvalidationStamp { cache.stamp(for: key) }
}
