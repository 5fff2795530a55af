// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

public import Receipts

/// The part of caches in an answer, in the terms of RFC 9211.
public struct CacheStatus: Hashable, Sendable {
    /// The outcome of the cache look-up.
    public enum Handling: Hashable, Sendable {
        /// The cache answered.
        case hit
        /// A request to Apple was needed.
        case forwarded(Reason)
    }

    /// The reason for the request to Apple (RFC 9211 §2.2). The raw values are those of the header field.
    public enum Reason: String, CaseIterable, Sendable {
        /// The cache had no result.
        case miss
        /// The cached result is past its freshness.
        case stale
        /// The cached result is fresh, but older than the caller accepts.
        case request
    }

    /// The outcome of the cache look-up.
    public let handling: Handling
    /// The time until which the cached or new result is fresh; nil without a result.
    public let freshUntil: Timestamp?
    /// True if the result was stored for other requests.
    public let isStored: Bool
    /// True if the request waited for a request to Apple that another one had started.
    public let isCollapsed: Bool
}

extension CacheStatus {
    static func hit(freshUntil: Timestamp) -> CacheStatus {
        CacheStatus(handling: .hit, freshUntil: freshUntil, isStored: false, isCollapsed: false)
    }

    /// A request to Apple was needed.
    /// - Parameter found: the result; nil if there was none.
    static func forwarded(
        _ reason: Reason, found: CachedResult? = nil, isCollapsed: Bool = false
    ) -> CacheStatus {
        let stored = found.flatMap { $0.isLasting ? $0 : nil }
        return CacheStatus(
            handling: .forwarded(reason), freshUntil: stored?.freshUntil, isStored: stored != nil,
            isCollapsed: isCollapsed)
    }
}
