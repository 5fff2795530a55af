// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import Cryptography
internal import Settings

/// Pseudonymous names of entries in Redis: readers of Redis cannot tell what they stand for.
struct StoreNames: Sendable {
    /// Secret, and equal on all nodes.
    let key: HMACKey

    /// Returns a name: base64url of HMAC-SHA256, 43 characters.
    /// - Parameters:
    ///   - area: the kind of entry; equal parts in another area have another name.
    ///   - parts: the identity within the area. `["ab", "c"]` and `["a", "bc"]` have different names.
    func name(_ area: String, _ parts: [[UInt8]]) -> String {
        var message: [UInt8] = []
        Self.append(area.utf8, to: &message)
        for part in parts { Self.append(part, to: &message) }
        return Base64URL.encode(key.code(for: message.span))
    }

    /// Appends a part after its length, which separates parts.
    private static func append(_ part: some Collection<UInt8>, to message: inout [UInt8]) {
        for shift in stride(from: 0, to: 64, by: 8) { message.append(UInt8(truncatingIfNeeded: part.count >> shift)) }
        message.append(contentsOf: part)
    }
}

extension StoreNames {
    /// Creates names with a key derived from this one.
    init(_ key: StoreKey) {
        self.init(key: HMACKey(key.derived(for: "receipt-gateway names 1")))
    }
}

extension StoreKey {
    /// Derives the key for one purpose, which reveals nothing about the others. HKDF with SHA-256 (RFC 5869).
    func derived(for purpose: String) -> [UInt8] {
        HMACKey.derive(from: secret, for: purpose)
    }
}

extension String {
    /// Returns a unique name of 128 random bits.
    package static func randomName() -> String { Base64URL.encode((0..<16).map { _ in .random(in: .min ... .max) }) }
}
