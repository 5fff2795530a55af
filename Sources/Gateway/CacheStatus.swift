// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

public import Receipts

/// What part caches had in an answer, in the words of RFC 9211.
public struct CacheStatus: Hashable, Sendable {
    /// How the cache handled the request.
    public enum Handling: Hashable, Sendable {
        /// It answered.
        case hit
        /// Apple was to be asked.
        case forwarded(Reason)
    }

    /// Why Apple was to be asked (RFC 9211 §2.2). The raw values are those of the header field.
    public enum Reason: String, CaseIterable, Sendable {
        /// Nothing was known.
        case miss
        /// What was known is past its time.
        case stale
        /// What was known is fresh, and older than the caller accepts.
        case request
    }

    /// How the cache handled the request.
    public let handling: Handling
    /// Until when what was found, or has just been found out, is fresh; nil if that is nothing.
    public let freshUntil: Timestamp?
    /// Whether the answer was kept for others.
    public let isStored: Bool
    /// Whether the request waited for a question that another one had started.
    public let isCollapsed: Bool
}

extension CacheStatus {
    /// What was found answered the request.
    static func hit(freshUntil: Timestamp) -> CacheStatus {
        CacheStatus(handling: .hit, freshUntil: freshUntil, isStored: false, isCollapsed: false)
    }

    /// Apple was to be asked, and did not help.
    static func forwarded(_ reason: Reason, isCollapsed: Bool = false) -> CacheStatus {
        CacheStatus(handling: .forwarded(reason), freshUntil: nil, isStored: false, isCollapsed: isCollapsed)
    }

    /// Apple was asked, and this was found out.
    static func forwarded(_ reason: Reason, found: CachedResult, isCollapsed: Bool) -> CacheStatus {
        CacheStatus(
            handling: .forwarded(reason), freshUntil: found.isLasting ? found.freshUntil : nil,
            isStored: found.isLasting, isCollapsed: isCollapsed)
    }
}
