// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

// ECDSA-Sig-Value ::= SEQUENCE { r INTEGER, s INTEGER }          -- RFC 3279 §2.2.3

/// The form certificates give an ECDSA signature.
enum ECDSASigValue {
    /// The DER encoding of a signature that a JWS holds as r ‖ s, two numbers of equal length (RFC 7518 §3.4).
    ///
    /// - Parameter numbers: at most 122 bytes, so that every length takes one byte.
    static func encode(_ numbers: Span<UInt8>) -> [UInt8] {
        var contents: [UInt8] = []
        contents.reserveCapacity(numbers.count + 6)
        append(numbers.extracting(0..<numbers.count / 2), to: &contents)
        append(numbers.extracting(numbers.count / 2..<numbers.count), to: &contents)
        return [DERTag.sequence.byte, UInt8(contents.count)] + contents
    }

    /// X.690 §8.3.2: as few bytes as a positive number needs, one of which keeps it positive.
    private static func append(_ number: Span<UInt8>, to contents: inout [UInt8]) {
        let start = number.indices.first { number[$0] != 0 } ?? number.count
        let needsZero = start == number.count || number[start] & 0x80 != 0
        contents += [DERTag.integer.byte, UInt8(number.count - start + (needsZero ? 1 : 0))]
        if needsZero { contents.append(0) }
        contents += number.copy(start..<number.count)
    }
}
