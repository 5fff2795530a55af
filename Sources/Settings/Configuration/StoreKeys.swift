// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import Receipts

/// The keys that name and encrypt everything in Redis, as in `GATEWAY_CACHE_KEYS`: `id:base64,id:base64`, 32 random
/// bytes each. The first encrypts, all decrypt.
package struct StoreKeys: Sendable {
    /// At least one; the first encrypts.
    package let all: [StoreKey]

    package enum Limits {
        /// The maximum number of keys: two during a rotation, and two in reserve.
        static let keys = 4
        /// The length of an ID, which precedes every encrypted value.
        static let idCharacters = 1...16
        package static let keyBytes = 32
    }

    package init(_ text: String) throws(StoreKeysFault) {
        let items = text.split(separator: ",", omittingEmptySubsequences: false).map { $0.filter { !$0.isWhitespace } }
        guard items.count <= Limits.keys else { throw .tooMany }
        var keys: [StoreKey] = []
        var secrets: Set<[UInt8]> = []
        for (index, item) in items.enumerated() {
            let (id, secret) = try Self.parts(of: item, number: index + 1)
            guard !keys.contains(where: { $0.id == id }) else { throw .idTwice(number: index + 1) }
            guard secrets.insert(secret).inserted else { throw .keyTwice(number: index + 1) }
            keys.append(StoreKey(id: id, secret: secret))
        }
        all = keys
    }

    package var first: StoreKey { all[0] }

    func key(id: some Sequence<UInt8>) -> StoreKey? { all.first { $0.id.utf8.elementsEqual(id) } }

    private static func parts(of item: String, number: Int) throws(StoreKeysFault) -> (id: String, secret: [UInt8]) {
        let parts = item.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.count == 2 else { throw .noID(number: number) }
        guard Limits.idCharacters.contains(parts[0].utf8.count), parts[0].utf8.allSatisfy(\.isBase64URL) else {
            throw .badID(number: number)
        }
        let secret: [UInt8]
        do throws(Base64Error) {
            secret = try Base64.decode(String(parts[1]))
        } catch {
            throw .notBase64(number: number)
        }
        guard secret.count == Limits.keyBytes else { throw .wrongLength(number: number) }
        return (String(parts[0]), secret)
    }
}

package struct StoreKey: Sendable {
    /// The ID, which precedes every value encrypted with the key.
    package let id: String
    package let secret: [UInt8]
}

extension StoreKey: CustomStringConvertible, CustomReflectable {
    /// The ID, and no byte of the key.
    package var description: String { "StoreKey(\(id))" }
    package var customMirror: Mirror { Mirror(self, children: []) }
}

/// A fault of a list of keys, with the key's number from 1. Contains no part of a key.
package enum StoreKeysFault: Error, Hashable, Sendable {
    case tooMany
    case noID(number: Int)
    /// An ID of the wrong length, or with other characters than letters, digits, `_` and `-`.
    case badID(number: Int)
    case idTwice(number: Int)
    case notBase64(number: Int)
    case wrongLength(number: Int)
    case keyTwice(number: Int)
}

extension StoreKeysFault: CustomStringConvertible {
    /// The fault in words that follow the setting's name.
    package var description: String {
        switch self {
        case .tooMany: "holds more than \(StoreKeys.Limits.keys) keys"
        case .noID(let number): "lacks an ID and a colon before key \(number)"
        case .badID(let number):
            "needs an ID of 1 to 16 letters, digits, _ and - before key \(number)"
        case .idTwice(let number): "has the ID of key \(number) twice"
        case .notBase64(let number): "has a key that is not base64: key \(number)"
        case .wrongLength(let number): "has a key that is not 32 bytes long: key \(number)"
        case .keyTwice(let number): "has key \(number) twice, under two IDs"
        }
    }
}
