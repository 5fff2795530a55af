// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// Converts the BER form of Xcode's receipts to DER.
///
/// Xcode writes the outer nodes with indefinite lengths and the content as a constructed `OCTET STRING` of one
/// primitive segment (X.690 §8.1.3.6, §8.7.3). Elements of definite length are copied unread; the DER reader checks
/// them. Used only if the operator trusts a root for environment Xcode.
struct BERNormalizer {
    let maximumDepth: Int

    /// Returns true if the bytes start with a SEQUENCE of indefinite length.
    static func recognizes(_ bytes: Span<UInt8>) -> Bool {
        bytes.count >= 2 && bytes[0] == DERTag.sequence.byte && bytes[1] == indefinite
    }

    func normalize(_ bytes: Span<UInt8>) throws(ReceiptError) -> [UInt8] {
        var cursor = Cursor(bytes: bytes, position: 0)
        var output: [UInt8] = []
        try copyElement(from: &cursor, to: &output, depth: 1)
        guard cursor.position == bytes.count else { throw cursor.broken(.derTrailingBytes) }
        return output
    }

    private static let indefinite: UInt8 = 0x80

    private struct Cursor: ~Escapable {
        let bytes: Span<UInt8>
        var position: Int

        @_lifetime(copy bytes)
        init(bytes: Span<UInt8>, position: Int) {
            self.bytes = bytes
            self.position = position
        }

        func broken(_ rule: Rule) -> ReceiptError { ReceiptError(rule, at: .offset(position)) }

        /// Skips the two zero bytes that end contents of indefinite length (X.690 §8.1.5); false if other bytes are
        /// next.
        mutating func takeEndOfContents() throws(ReceiptError) -> Bool {
            guard bytes.count - position >= 2 else { throw broken(.derTruncated) }
            guard bytes[position] == 0, bytes[position + 1] == 0 else { return false }
            position += 2
            return true
        }
    }

    private func copyElement(
        from cursor: inout Cursor, to output: inout [UInt8], depth: Int
    ) throws(ReceiptError) {
        guard depth <= maximumDepth else { throw cursor.broken(.derTooDeep) }
        guard cursor.bytes.count - cursor.position >= 2 else { throw cursor.broken(.derTruncated) }
        guard cursor.bytes[cursor.position + 1] == Self.indefinite else {
            return try copyDefinite(from: &cursor, to: &output)
        }
        let tag = DERTag(byte: cursor.bytes[cursor.position])
        // X.690 §8.1.2.4: if the tag number takes further bytes, the second byte is no length.
        guard tag.byte & 0x1F != 0x1F else { throw cursor.broken(.derUnexpectedTag) }
        guard tag.isConstructed else { throw cursor.broken(.derIndefiniteLength) }
        cursor.position += 2
        guard tag != DERTag.octetString.segmented else { return try copyOnlySegment(from: &cursor, to: &output) }
        var contents: [UInt8] = []
        while try !cursor.takeEndOfContents() {
            try copyElement(from: &cursor, to: &contents, depth: depth + 1)
        }
        output.append(tag.byte)
        output += Self.length(contents.count)
        output += contents
    }

    private func copyDefinite(from cursor: inout Cursor, to output: inout [UInt8]) throws(ReceiptError) {
        var reader = DERReader(cursor.bytes, in: cursor.position..<cursor.bytes.count)
        let element = try reader.next()
        output += cursor.bytes.copy(element.encoding)
        cursor.position = element.encoding.upperBound
    }

    /// Copies the one segment of a segmented `OCTET STRING`; it must not be segmented again.
    private func copyOnlySegment(from cursor: inout Cursor, to output: inout [UInt8]) throws(ReceiptError) {
        var reader = DERReader(cursor.bytes, in: cursor.position..<cursor.bytes.count)
        let segment = try reader.next(.octetString)
        output += cursor.bytes.copy(segment.encoding)
        cursor.position = segment.encoding.upperBound
        guard try cursor.takeEndOfContents() else { throw cursor.broken(.derConstructedString) }
    }

    private static func length(_ count: Int) -> [UInt8] {
        if count < 0x80 { return [UInt8(count)] }
        let bytes = (0..<4).reversed().map { UInt8(truncatingIfNeeded: count >> (8 * $0)) }.drop { $0 == 0 }
        return [0x80 | UInt8(bytes.count)] + bytes
    }
}
