// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import JSON
internal import Receipts

extension JSONText {
    /// Decodes the text in the encoding of its field. Without escapes, the usual case, nothing is copied.
    func bytes(
        in body: Span<UInt8>, as decode: (Span<UInt8>) throws(Base64Error) -> [UInt8]
    ) throws -> [UInt8] {
        let unescaped = isEscaped ? try JSONReader(body).unescaped(self) : nil
        guard let unescaped else { return try decode(body.extracting(range)) }
        return try decode(unescaped.span)
    }
}
