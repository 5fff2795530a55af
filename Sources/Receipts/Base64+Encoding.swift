// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

extension Base64 {
    /// Appends the base64 encoding of the bytes (RFC 4648 §4), padded and without line breaks.
    package static func append(encoding bytes: [UInt8], to text: inout [UInt8]) {
        var target = text.count
        text.append(contentsOf: repeatElement(UInt8(ascii: "="), count: encodedCount(of: bytes.count)))
        let end = bytes.count / 3 * 3
        for start in stride(from: 0, to: end, by: 3) {
            let group = UInt32(bytes[start]) << 16 | UInt32(bytes[start + 1]) << 8 | UInt32(bytes[start + 2])
            write(group, digits: 4, at: target, in: &text)
            target += 4
        }
        let rest = bytes[end...]
        guard !rest.isEmpty else { return }
        let group = rest.reduce(UInt32(0)) { $0 << 8 | UInt32($1) } << UInt32(8 * (3 - rest.count))
        write(group, digits: rest.count + 1, at: target, in: &text)
    }

    /// Returns the length of the base64 text for this number of bytes.
    package static func encodedCount(of byteCount: Int) -> Int { (byteCount + 2) / 3 * 4 }

    /// Writes the first `digits` base64 digits of a group of 24 bits.
    @inline(__always)
    private static func write(_ group: UInt32, digits: Int, at start: Int, in text: inout [UInt8]) {
        for position in 0..<digits {
            text[start + position] = alphabet[Int(group >> UInt32(18 - 6 * position) & 63)]
        }
    }

    private static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)
}
