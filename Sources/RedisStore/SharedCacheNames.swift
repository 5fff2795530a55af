// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import Gateway
internal import JSON
internal import Receipts
internal import Redis

/// The names of cached results in Redis: a name per store key, the writing key's first.
package struct SharedCacheNames: Sendable {
    /// The key prefix. The number increases when the format of values changes.
    package static let resultPrefix = "rc:11:"

    /// The names by store key; writes use the first.
    private let names: [StoreNames]

    init(keys: StoreKeys) { names = keys.all.map { StoreNames($0) } }

    /// Returns the names of a cached result, derived from all parts of its cache key.
    func names(of key: CacheKey) -> [String] {
        let parts = key.parts
        return names.map { $0.name("finding", parts) }
    }

    /// Returns the name in a Redis key; nil if the key holds no cached result.
    static func name(inKey key: [UInt8]) -> String? {
        guard key.starts(with: resultPrefix.utf8) else { return nil }
        return String(outside: key.dropFirst(resultPrefix.utf8.count))
    }
}

extension RedisWord {
    static func result(_ name: String) -> RedisWord { RedisWord(SharedCacheNames.resultPrefix + name) }
}

extension CacheKey {
    /// The parts that distinguish requests to Apple, for a name.
    var parts: [[UInt8]] {
        [
            Array((environment?.rawValue ?? "").utf8), Array((bundleID ?? "").utf8), Array(api.storedName.utf8),
            [excludesOldTransactions ? 1 : 0], Array((credentials?.description ?? "").utf8),
            subject.part,
        ]
    }
}

// Leases use these names in all versions, so they must not change.

extension UpstreamAPI {
    fileprivate var storedName: String {
        switch self {
        case .verifyReceipt: "verifyReceipt"
        case .serverAPI: "serverAPI"
        }
    }
}

extension VerificationSubject.Identity {
    /// The identity's bytes: a digest of 64 hexadecimal digits, or a prefixed transaction ID. The prefix separates what
    /// a client named from what Apple signed.
    fileprivate var part: [UInt8] {
        switch self {
        case .signedContent(let digest): Array(digest.description.utf8)
        case .transaction(let id): Array("transaction:\(id)".utf8)
        }
    }
}
