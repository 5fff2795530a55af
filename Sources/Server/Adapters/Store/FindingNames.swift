// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import Gateway
internal import Receipts
internal import Redis

/// The names of findings in the shared store: one for each key, that of the key that writes first.
struct FindingNames: Sendable {
    /// In front of the name of a finding. The number grows when the values change.
    static let findingPrefix = "rc:3:"

    private let keys: StoreKeys

    init(keys: StoreKeys) { self.keys = keys }

    /// The names of a finding, each with everything that makes another question.
    func names(of key: FindingKey) -> [String] {
        let parts = key.parts
        return keys.all.map { $0.names.name("finding", parts) }
    }

    /// The name in a key of the store; nil if the key is not that of a finding.
    static func name(inKey key: [UInt8]) -> String? {
        guard key.starts(with: findingPrefix.utf8) else { return nil }
        return String(decoding: key.dropFirst(findingPrefix.utf8.count), as: UTF8.self)
    }
}

extension RedisWord {
    /// The key of a finding.
    static func finding(_ name: String) -> RedisWord { RedisWord(FindingNames.findingPrefix + name) }
}

extension FindingKey {
    /// What tells the question from others, for a name.
    var parts: [[UInt8]] {
        [
            Array(environment.rawValue.utf8), Array(bundleID.utf8), Array("verifyReceipt".utf8),
            [excludesOldTransactions ? 1 : 0], Array(secret.map { $0.description.utf8 } ?? "".utf8),
            Array(signedContent.description.utf8),
        ]
    }
}
