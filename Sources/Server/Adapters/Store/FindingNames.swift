// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import Gateway
internal import Receipts
internal import Redis

/// What a finding, and the index by an original transaction, are called in the shared store: once for each key, the
/// one that writes first.
struct FindingNames: Sendable {
    /// In front of the name of a finding.
    static let findingPrefix = "rc:2:"
    /// In front of the name of a finding in its first form, which nodes may still write while a fleet is being replaced:
    /// not read any more, but forgotten with the other.
    static let formerFindingPrefix = "rc:1:"
    /// In front of the name of an index.
    static let indexPrefix = "rci:1:"

    private let keys: StoreKeys

    init(keys: StoreKeys) { self.keys = keys }

    /// The names of a finding, each with everything that makes another question.
    func names(of key: FindingKey) -> [String] {
        let parts = key.parts
        return keys.all.map { $0.names.name("finding", parts) }
    }

    /// The names of the index for an original transaction.
    func indexNames(of originalTransactionID: String) -> [String] {
        keys.all.map { $0.names.name("original transaction", [Array(originalTransactionID.utf8)]) }
    }

    /// The name in a key of the store; nil if the key is not that of a finding.
    static func name(inKey key: [UInt8]) -> String? {
        guard key.starts(with: findingPrefix.utf8) else { return nil }
        return name(key.dropFirst(findingPrefix.utf8.count))
    }

    /// The name that stands in an index; nil if it is none.
    static func name(_ bytes: some Collection<UInt8>) -> String? {
        guard bytes.count == length, bytes.allSatisfy(\.isBase64URL) else { return nil }
        return String(decoding: Array(bytes), as: UTF8.self)
    }

    /// Of base64url of 32 bytes.
    private static let length = 43
}

extension RedisWord {
    /// The key of a finding.
    static func finding(_ name: String) -> RedisWord { RedisWord(FindingNames.findingPrefix + name) }
    /// The keys of a finding, in either form.
    static func findings(_ name: String) -> [RedisWord] {
        [finding(name), RedisWord(FindingNames.formerFindingPrefix + name)]
    }
    /// The key of an index.
    static func index(_ name: String) -> RedisWord { RedisWord(FindingNames.indexPrefix + name) }
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
