// SPDX-License-Identifier: Apache-2.0

internal import Cryptography
internal import Receipts

/// Encrypts the values in Redis. A reader of Redis learns only sizes and times. A writer can delete values, but not
/// change them or move a value to another name.
///
/// ```
/// 1 byte   version, 1
/// 1 byte   length of the key's id
/// n bytes  the key's id                ── the header
/// 12 bytes nonce, random
/// m bytes  AES-256-GCM of the value    ── authenticated together with the header and the entry's name
/// 16 bytes tag
/// ```
/// Each name has its own key, derived from the sealing key, so that random nonces are few for each key (NIST SP 800-38D
/// §8.3 allows 2^32).
package struct StoreSeal: Sendable {
    private let keys: [SealingKey]

    /// A key for one purpose reveals nothing about keys for other purposes: HKDF with SHA-256 (RFC 5869).
    struct SealingKey: Sendable {
        let id: String
        let key: HMACKey

        init(_ key: StoreKey) {
            id = key.id
            self.key = HMACKey(HMACKey.derive(from: key.secret, for: "receipt-gateway seal 1"))
        }
    }

    /// Encrypts with the first of these keys, and decrypts with any.
    package init(keys: StoreKeys) { self.keys = keys.all.map { SealingKey($0) } }

    package func seal(_ value: [UInt8], for name: String) -> [UInt8] {
        let first = keys[0]
        let header = [Self.version, UInt8(first.id.utf8.count)] + Array(first.id.utf8)
        return header + Self.cipher(first, for: name).seal(value, context: header + Array(name.utf8))
    }

    package func open(_ sealed: [UInt8], for name: String) throws(SharedCacheFault) -> [UInt8] {
        guard sealed.count >= 2, sealed[0] == Self.version else { throw .sealMalformed }
        let headerLength = 2 + Int(sealed[1])
        guard sealed.count >= headerLength + AES256GCM.overhead else { throw .sealMalformed }
        let id = sealed[2..<headerLength]
        guard let key = keys.first(where: { $0.id.utf8.elementsEqual(id) }) else { throw .sealUnknownKey }
        let context = Array(sealed[..<headerLength]) + Array(name.utf8)
        guard let value = Self.cipher(key, for: name).open(sealed[headerLength...], context: context) else {
            throw .sealInvalid
        }
        return value
    }

    private static func cipher(_ key: SealingKey, for name: String) -> AES256GCM {
        AES256GCM(key: key.key.code(for: name.utf8.span))
    }

    private static let version: UInt8 = 1
}

/// A fault of the shared cache. Each counts as a miss. The raw values appear in metrics.
package enum SharedCacheFault: String, Error, CaseIterable, Hashable, Sendable {
    case lookupFailed = "lookup_failed"
    case insertFailed = "insert_failed"
    /// A value that is not encrypted, or of an unknown version.
    case sealMalformed = "seal_malformed"
    /// A value encrypted with a key this node does not have.
    case sealUnknownKey = "seal_unknown_key"
    /// A value that was changed, or moved from another name.
    case sealInvalid = "seal_invalid"
    /// A decrypted value that is not a cached result.
    case unreadable
    /// A result with a longer freshness or retention than allowed, or from a clock that is hours off.
    case implausibleTimes = "implausible_times"
    case tooLarge = "too_large"
    case purged
    /// A result older than the known purges.
    case purgesUnknown = "purges_unknown"
    /// Redis lacks purges that it had.
    case purgesLost = "purges_lost"
}

/// Pseudonymous names of entries in Redis: readers of Redis cannot tell what they stand for.
package struct StoreNames: Sendable {
    /// Secret, and equal on all nodes.
    let key: HMACKey

    /// Returns a name: base64url of HMAC-SHA256, 43 characters.
    /// - Parameters:
    ///   - area: the kind of entry; equal parts in another area have another name.
    ///   - parts: the identity within the area. `["ab", "c"]` and `["a", "bc"]` have different names.
    package func name(_ area: String, _ parts: [[UInt8]]) -> String {
        var message: [UInt8] = []
        Self.append(area.utf8, to: &message)
        for part in parts { Self.append(part, to: &message) }
        return Base64.encodeURL(key.code(for: message.span))
    }

    /// Appends a part after its length, which separates parts.
    private static func append(_ part: some Collection<UInt8>, to message: inout [UInt8]) {
        for shift in stride(from: 0, to: 64, by: 8) { message.append(UInt8(truncatingIfNeeded: part.count >> shift)) }
        message.append(contentsOf: part)
    }
}

extension StoreNames {
    package init(_ key: StoreKey) {
        self.init(key: HMACKey(HMACKey.derive(from: key.secret, for: "receipt-gateway names 1")))
    }
}

/// Pseudonymous names under every cache key; the first writes.
struct EntryNames: Sendable {
    let keys: [(id: String, names: StoreNames)]

    init(_ keys: StoreKeys) { self.keys = keys.all.map { ($0.id, StoreNames($0)) } }

    func names(_ area: String, _ parts: [[UInt8]]) -> [String] { keys.map { $0.names.name(area, parts) } }
}

extension String {
    /// Returns a unique name of 128 random bits.
    package static func randomName() -> String { Base64.encodeURL((0..<16).map { _ in .random(in: .min ... .max) }) }
}
