// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import Crypto

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
        var hmac = HMAC<SHA256>(key: key)
        for part in [Array(area.utf8)] + parts {
            // The length in front keeps parts apart.
            hmac.update(data: Self.bytes(of: part.count))
            hmac.update(data: part)
        }
        return Base64URL.encode(Array(hmac.finalize()))
    }

    private static func bytes(of count: Int) -> [UInt8] {
        (0..<8).map { UInt8(truncatingIfNeeded: count >> ($0 * 8)) }
    }
}

extension String {
    /// A name that nobody else has: 128 random bits.
    static func randomName() -> String { Base64URL.encode((0..<16).map { _ in .random(in: .min ... .max) }) }
}
