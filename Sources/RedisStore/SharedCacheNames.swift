// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import Gateway
internal import Receipts
internal import Redis
internal import Settings

/// The names of findings in the shared store: one for each key, that of the key that writes first.
package struct SharedCacheNames: Sendable {
    /// In front of the name of a finding. The number grows when the values change.
    package static let resultPrefix = "rc:4:"

    /// Of each key; the first is the one that writes.
    private let names: [StoreNames]

    init(keys: StoreKeys) { names = keys.all.map { StoreNames($0) } }

    /// The names of a finding, each with everything that makes another question.
    func names(of key: CacheKey) -> [String] {
        let parts = key.parts
        return names.map { $0.name("finding", parts) }
    }

    /// The name in a key of the store; nil if the key is not that of a finding.
    static func name(inKey key: [UInt8]) -> String? {
        guard key.starts(with: resultPrefix.utf8) else { return nil }
        return String(decoding: key.dropFirst(resultPrefix.utf8.count), as: UTF8.self)
    }
}

extension RedisWord {
    /// The key of a finding.
    static func result(_ name: String) -> RedisWord { RedisWord(SharedCacheNames.resultPrefix + name) }
}

extension CacheKey {
    /// What tells the question from others, for a name.
    var parts: [[UInt8]] {
        [
            Array((environment?.rawValue ?? "").utf8), Array((bundleID ?? "").utf8), Array(api.storedName.utf8),
            [options.excludesOldTransactions ? 1 : 0], Array((credentials?.description ?? "").utf8),
            subject.part,
        ]
    }
}

// Leases have these names in all versions, so they do not change.

extension UpstreamAPI {
    fileprivate var storedName: String {
        switch self {
        case .verifyReceipt: "verifyReceipt"
        }
    }
}

extension VerificationSubject.Identity {
    /// A digest is 64 hexadecimal digits. The kind in front keeps what a client named apart from what Apple signed.
    fileprivate var part: [UInt8] {
        switch self {
        case .signedContent(let digest): Array(digest.description.utf8)
        case .transaction(let id): Array("transaction:\(id)".utf8)
        }
    }
}
