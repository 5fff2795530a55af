// SPDX-License-Identifier: Apache-2.0

/// Hexadecimal digits and safe characters in ASCII text.
package enum ASCII {
    /// Returns the value of a hexadecimal digit, 0...15; nil for any other byte.
    package static func hexadecimalValue(of byte: UInt8) -> UInt8? {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): byte - UInt8(ascii: "a") + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): byte - UInt8(ascii: "A") + 10
        default: nil
        }
    }

    /// Returns true for letters, digits, `.`, `_` and `-`, which are safe in log lines and header fields.
    package static func isSafe(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: "-"):
            true
        default: false
        }
    }

    /// Decodes pairs of digits; nil if a byte is no digit or has no partner.
    package static func bytes(hexadecimal digits: [UInt8]) -> [UInt8]? {
        guard digits.count.isMultiple(of: 2) else { return nil }
        var bytes: [UInt8] = []
        for index in stride(from: 0, to: digits.count, by: 2) {
            guard let high = hexadecimalValue(of: digits[index]), let low = hexadecimalValue(of: digits[index + 1])
            else { return nil }
            bytes.append(high << 4 | low)
        }
        return bytes
    }

    /// Decodes `xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx` (RFC 9562 §4), in upper or lower case; nil for anything else.
    package static func bytes(uuid text: Span<UInt8>) -> [UInt8]? {
        let hyphens = [8, 13, 18, 23]
        guard text.count == 36, hyphens.allSatisfy({ text[$0] == UInt8(ascii: "-") }) else { return nil }
        return bytes(hexadecimal: text.indices.filter { !hyphens.contains($0) }.map { text[$0] })
    }

    package static func hexadecimal(_ bytes: some Sequence<UInt8>) -> String {
        var text: [UInt8] = []
        text.reserveCapacity(2 * bytes.underestimatedCount)
        for byte in bytes {
            text.append(hexadecimalDigit(byte >> 4))
            text.append(hexadecimalDigit(byte & 0x0F))
        }
        return String(decoding: text, as: UTF8.self)
    }

    /// Returns the two decimal digits of a number below 100, the first in the lowest byte.
    @inlinable
    public static func twoDigits(of number: UInt64) -> UInt64 {
        // 103 / 1024 is close enough to a tenth up to 178.
        let tens = (number &* 103) >> 10
        return 0x3030 | tens | (number &- tens &* 10) << 8
    }

    /// Appends the sixteen lowercase digits of a number, the highest bits first.
    package static func append(hexadecimal number: UInt64, to text: inout [UInt8]) {
        text.append(addingCapacity: 16) { text in
            text.append(bigEndian: hexadecimalDigits(of: UInt32(truncatingIfNeeded: number >> 32)))
            text.append(bigEndian: hexadecimalDigits(of: UInt32(truncatingIfNeeded: number)))
        }
    }

    /// Returns the eight lowercase digits of a number, the first in the highest byte.
    package static func hexadecimalDigits(of number: UInt32) -> UInt64 {
        // Each half byte in its own byte.
        var digits = UInt64(number)
        digits = (digits | digits << 16) & 0x0000_FFFF_0000_FFFF
        digits = (digits | digits << 8) & 0x00FF_00FF_00FF_00FF
        digits = (digits | digits << 4) & 0x0F0F_0F0F_0F0F_0F0F
        // 1 in the bytes from 10 on, which become letters.
        let letters = (digits &+ 0x0606_0606_0606_0606) >> 4 & 0x0101_0101_0101_0101
        return digits &+ 0x3030_3030_3030_3030 &+ letters &* UInt64(UInt8(ascii: "a") - UInt8(ascii: "0") - 10)
    }

    private static func hexadecimalDigit(_ value: UInt8) -> UInt8 {
        value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "a") + value - 10
    }
}

extension StaticString {
    /// The UTF-8 of a text of the program.
    package var bytes: Span<UInt8> {
        @_lifetime(immortal)
        get {
            // SAFETY: a static string has that many bytes, for as long as the program runs.
            unsafe _overrideLifetime(Span(_unsafeStart: utf8Start, count: utf8CodeUnitCount), borrowing: ())
        }
    }
}

extension Span<UInt8> {
    /// Decodes percent-encoded bytes (RFC 3986 §2.1); nil for a `%` without two digits.
    package func percentDecoded(writingSpacesAs space: UInt8 = UInt8(ascii: " ")) -> [UInt8]? {
        var decoded: [UInt8] = []
        decoded.reserveCapacity(count)
        var index = 0
        while index < count {
            var byte = self[index]
            if byte == UInt8(ascii: "%") {
                guard count - index > 2, let high = ASCII.hexadecimalValue(of: self[index + 1]),
                    let low = ASCII.hexadecimalValue(of: self[index + 2])
                else { return nil }
                byte = high << 4 | low
                index += 2
            }
            decoded.append(byte == UInt8(ascii: " ") ? space : byte)
            index += 1
        }
        return decoded
    }
}
