// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// A JWS in compact serialization (RFC 7515 §7.1), as ranges of its text. Not yet verified.
struct CompactJWS {
    let header: Range<Int>
    let payload: Range<Int>
    let signature: Range<Int>

    /// The text that is signed: header and payload with the dot between them (RFC 7515 §5.1).
    var signingInput: Range<Int> { header.lowerBound..<payload.upperBound }

    init(_ text: Span<UInt8>, limits: Limits) throws(ReceiptError) {
        guard text.count <= limits.maximumJWSBytes else { throw ReceiptError(.jwsTooLarge) }
        let dot = UInt8(ascii: ".")
        guard let first = text.firstIndex(of: dot, from: 0), let second = text.firstIndex(of: dot, from: first + 1),
            text.firstIndex(of: dot, from: second + 1) == nil
        else { throw ReceiptError(.jwsNotCompact) }
        guard first <= limits.maximumJWSHeaderBytes else { throw ReceiptError(.jwsTooLarge) }
        header = 0..<first
        payload = first + 1..<second
        signature = second + 1..<text.count
    }
}
