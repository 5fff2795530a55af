// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import Receipts

/// The keys that everything in the shared store is named and sealed with, as `GATEWAY_CACHE_KEYS` gives them:
/// `id:base64,id:base64`, 32 random bytes each. The first names and seals, all open.
package struct StoreKeys: Sendable {
    /// At least one; the first is the one that writes.
    package let all: [StoreKey]

    /// What the keys may be.
    package enum Limits {
        /// How many there may be: two while one is replaced, and room for a mistake.
        static let keys = 4
        /// The characters of an id; it stands in front of every sealed value.
        static let idCharacters = 1...16
        /// The bytes of a key.
        package static let keyBytes = 32
    }

    /// Reads a list of keys.
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

    /// The key that writes.
    package var first: StoreKey { all[0] }

    /// The key with this id.
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

/// One key.
package struct StoreKey: Sendable {
    /// Its name, which stands in front of what it sealed.
    package let id: String
    /// The random bytes.
    package let secret: [UInt8]
}

extension StoreKey: CustomStringConvertible, CustomReflectable {
    /// The name, and no byte of the key.
    package var description: String { "StoreKey(\(id))" }
    /// Empty, for the same reason.
    package var customMirror: Mirror { Mirror(self, children: []) }
}

/// What is wrong with a list of keys, by the number of the key from 1. Holds nothing of a key.
package enum StoreKeysFault: Error, Hashable, Sendable {
    /// More keys than `StoreKeys.Limits.keys`.
    case tooMany
    /// No colon between an id and a key.
    case noID(number: Int)
    /// An id of the wrong length, or with something else than letters, digits, `_` and `-`.
    case badID(number: Int)
    /// The same id as an earlier one.
    case idTwice(number: Int)
    /// A key that is no base64.
    case notBase64(number: Int)
    /// A key of another length than 32 bytes.
    case wrongLength(number: Int)
    /// The same key as an earlier one.
    case keyTwice(number: Int)
}

extension StoreKeysFault: CustomStringConvertible {
    /// In words that follow the name of the setting.
    package var description: String {
        switch self {
        case .tooMany: "holds more than \(StoreKeys.Limits.keys) keys"
        case .noID(let number): "has no id and colon in front of key \(number)"
        case .badID(let number):
            "has an id of 1 to 16 letters, digits, _ and - for each key, and not for key \(number)"
        case .idTwice(let number): "has the id of key \(number) twice"
        case .notBase64(let number): "has a key that is not base64: key \(number)"
        case .wrongLength(let number): "has a key that is not 32 bytes long: key \(number)"
        case .keyTwice(let number): "has key \(number) twice, under two ids"
        }
    }
}
