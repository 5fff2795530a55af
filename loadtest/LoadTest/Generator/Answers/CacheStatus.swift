// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// What matters of the field Cache-Status (RFC 9211).
struct CacheStatus: OptionSet, Sendable {
    let rawValue: UInt8

    /// A cache had the answer.
    static let hit = CacheStatus(rawValue: 1)
    /// The request waited for another one's answer.
    static let collapsed = CacheStatus(rawValue: 2)

    init(rawValue: UInt8) {
        self.rawValue = rawValue
    }

    /// Reads a field's value: parameters behind the cache's name, of which those that say no more than their name count.
    init(field: Span<UInt8>) {
        self = []
        if field.containsText("; hit") { insert(.hit) }
        if field.containsText("; collapsed") { insert(.collapsed) }
    }
}
