// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// Base64url without padding (RFC 4648 §5).
package enum Base64URL {
    private static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)

    /// Encodes bytes.
    package static func encode(_ bytes: [UInt8]) -> String {
        var characters: [UInt8] = []
        for start in stride(from: 0, to: bytes.count, by: 3) {
            let group = bytes[start..<min(start + 3, bytes.count)]
            let bits = (0..<3).reduce(UInt32(0)) { $0 << 8 | UInt32(start + $1 < bytes.count ? bytes[start + $1] : 0) }
            for position in 0...group.count {
                characters.append(alphabet[Int(bits >> UInt32(18 - 6 * position) & 63)])
            }
        }
        return String(decoding: characters, as: UTF8.self)
    }
}

extension UInt8 {
    /// True for letters, digits, `-` and `_`.
    var isBase64URL: Bool {
        switch self {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"):
            true
        default: false
        }
    }
}
