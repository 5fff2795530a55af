// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

// ECDSA-Sig-Value ::= SEQUENCE { r INTEGER, s INTEGER }          -- RFC 3279 §2.2.3

/// The DER form of an ECDSA signature, as in certificates.
enum ECDSASigValue {
    /// Encodes a JWS signature r ‖ s, two numbers of equal length (RFC 7518 §3.4), in DER.
    ///
    /// - Parameter numbers: at most 122 bytes, so that every length takes one byte.
    static func encode(_ numbers: Span<UInt8>) -> [UInt8] {
        var contents: [UInt8] = []
        contents.reserveCapacity(numbers.count + 6)
        append(numbers.extracting(0..<numbers.count / 2), to: &contents)
        append(numbers.extracting(numbers.count / 2..<numbers.count), to: &contents)
        return [DERTag.sequence.byte, UInt8(contents.count)] + contents
    }

    /// Appends a positive INTEGER in its shortest form (X.690 §8.3.2).
    private static func append(_ number: Span<UInt8>, to contents: inout [UInt8]) {
        let start = number.indices.first { number[$0] != 0 } ?? number.count
        let needsZero = start == number.count || number[start] & 0x80 != 0
        contents += [DERTag.integer.byte, UInt8(number.count - start + (needsZero ? 1 : 0))]
        if needsZero { contents.append(0) }
        contents += number.copy(start..<number.count)
    }
}
