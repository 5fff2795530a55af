// SPDX-License-Identifier: Apache-2.0

/// Base64url without padding (RFC 7515 §2), strict: each byte sequence has exactly one text.
package enum Base64URLDecoder {
    /// Decodes a text; nil if it has padding, white space, a character outside the alphabet, or unused bits that are
    /// not zero.
    package static func decode(_ text: Span<UInt8>) -> [UInt8]? {
        let rest = text.count % 4
        guard rest != 1 else { return nil }
        let byteCount = text.count / 4 * 3 + max(0, rest - 1)
        var isValid = true
        let bytes = unsafe [UInt8](unsafeUninitializedCapacity: byteCount) { output, count in
            // SAFETY: `decode` writes exactly `byteCount` bytes.
            isValid = unsafe decode(text, into: output)
            count = byteCount
        }
        return isValid ? bytes : nil
    }

    private static func decode(_ text: Span<UInt8>, into output: UnsafeMutableBufferPointer<UInt8>) -> Bool {
        let values = values.span
        var invalid: UInt8 = 0
        var position = 0
        var count = 0
        while text.count &- position >= 4 {
            // SAFETY: four bytes are left, there is a value for each of the 256 bytes, and four give three.
            let first = unsafe values[unchecked: Int(text[unchecked: position])]
            let second = unsafe values[unchecked: Int(text[unchecked: position &+ 1])]
            let third = unsafe values[unchecked: Int(text[unchecked: position &+ 2])]
            let fourth = unsafe values[unchecked: Int(text[unchecked: position &+ 3])]
            invalid |= first | second | third | fourth
            unsafe output[count] = first &<< 2 | second &>> 4
            unsafe output[count &+ 1] = second &<< 4 | third &>> 2
            unsafe output[count &+ 2] = third &<< 6 | fourth
            position &+= 4
            count &+= 3
        }
        guard invalid < Self.invalid else { return false }
        return unsafe decodeRest(text.extracting(position..<text.count), into: output, at: count)
    }

    /// Decodes the last two or three characters. RFC 4648 §3.5: unused bits must be zero.
    private static func decodeRest(
        _ text: Span<UInt8>, into output: UnsafeMutableBufferPointer<UInt8>, at start: Int
    ) -> Bool {
        guard text.count > 1 else { return true }
        var bits: UInt32 = 0
        for index in text.indices {
            let value = values[Int(text[index])]
            guard value < invalid else { return false }
            bits |= UInt32(value) << UInt32(18 - 6 * index)
        }
        unsafe output[start] = UInt8(truncatingIfNeeded: bits >> 16)
        if text.count == 3 { unsafe output[start + 1] = UInt8(truncatingIfNeeded: bits >> 8) }
        return bits & (text.count == 3 ? 0xFF : 0xFFFF) == 0
    }

    private static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)

    /// One bit above the six of an alphabet character.
    private static let invalid: UInt8 = 1 << 6

    /// The value of each alphabet character; `invalid` for every other byte.
    private static let values: [UInt8] = {
        var values = [UInt8](repeating: invalid, count: 256)
        for (value, character) in alphabet.enumerated() { values[Int(character)] = UInt8(value) }
        return values
    }()
}
