// SPDX-License-Identifier: Apache-2.0

internal import Synchronization

/// The results without an answer that the cache does not keep, because an earlier answer may still be used: until they
/// end, Apple is not asked again. For this node alone, and bounded.
final class PassingFailures: Sendable {
    private enum Limits {
        static let results = 1000
    }

    private let results = Mutex<[CacheKey: CachedResult]>([:])

    func result(for key: CacheKey) -> CachedResult? { results.withLock { $0[key] } }

    func keep(_ result: CachedResult, for key: CacheKey) {
        results.withLock { results in
            if results.count >= Limits.results {
                results = results.filter { $0.value.isFresh(at: result.fetchedAt, maximumAge: nil) }
                guard results.count < Limits.results else { return }
            }
            results[key] = result
        }
    }

    func remove(_ key: CacheKey) {
        results.withLock { results in
            if !results.isEmpty { results[key] = nil }
        }
    }
}
