// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import Crypto
internal import Settings

/// Names for what lies in the shared store, which tell nobody who reads the store what they stand for.
struct StoreNames: Sendable {
    private let key: SymmetricKey

    /// - Parameter key: secret, the same on all nodes.
    init(key: SymmetricKey) {
        self.key = key
    }

    /// The name of something: base64url of HMAC-SHA256, 43 characters.
    /// - Parameters:
    ///   - area: what kind of thing it is; the same parts in another area have another name.
    ///   - parts: what it is told from others by. `["ab", "c"]` and `["a", "bc"]` have different names.
    func name(_ area: String, _ parts: [[UInt8]]) -> String {
        var message: [UInt8] = []
        Self.append(area.utf8, to: &message)
        for part in parts { Self.append(part, to: &message) }
        return Base64URL.encode(Array(HMAC<SHA256>.authenticationCode(for: message, using: key)))
    }

    /// The length in front keeps parts apart.
    private static func append(_ part: some Collection<UInt8>, to message: inout [UInt8]) {
        for shift in stride(from: 0, to: 64, by: 8) { message.append(UInt8(truncatingIfNeeded: part.count >> shift)) }
        message.append(contentsOf: part)
    }
}

extension StoreNames {
    /// Names with a key that is derived from this one.
    init(_ key: StoreKey) {
        self.init(key: key.derived(for: "receipt-gateway names 1"))
    }
}

extension StoreKey {
    /// The key for one purpose: whoever learns it learns nothing of the others. HKDF with SHA-256 (RFC 5869).
    func derived(for purpose: String) -> SymmetricKey {
        HKDF<SHA256>.deriveKey(
            inputKeyMaterial: SymmetricKey(data: secret), info: Array(purpose.utf8),
            outputByteCount: StoreKeys.Limits.keyBytes)
    }
}

extension String {
    /// A name that nobody else has: 128 random bits.
    package static func randomName() -> String { Base64URL.encode((0..<16).map { _ in .random(in: .min ... .max) }) }
}
