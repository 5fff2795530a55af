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
        var reader = DERReader(bytes)
        var output: [UInt8] = []
        try copyElement(from: &reader, to: &output, depth: 1)
        try reader.finish()
        return output
    }

    private static let indefinite: UInt8 = 0x80

    private func copyElement(
        from reader: inout DERReader, to output: inout [UInt8], depth: Int
    ) throws(ReceiptError) {
        guard depth <= maximumDepth else { throw reader.broken(.derTooDeep) }
        guard reader.end - reader.position >= 2 else { throw reader.broken(.derTruncated) }
        guard reader.bytes[reader.position + 1] == Self.indefinite else {
            output += reader.bytes.copy(try reader.next().encoding)
            return
        }
        let tag = DERTag(byte: reader.bytes[reader.position])
        // X.690 §8.1.2.4: if the tag number takes further bytes, the second byte is no length.
        guard tag.byte & 0x1F != 0x1F else { throw reader.broken(.derUnexpectedTag) }
        guard tag.isConstructed else { throw reader.broken(.derIndefiniteLength) }
        reader.skip(2)
        guard tag != DERTag.octetString.segmented else {
            // The one segment must not be segmented again.
            output += reader.bytes.copy(try reader.next(.octetString).encoding)
            guard try reader.takeEndOfContents() else { throw reader.broken(.derConstructedString) }
            return
        }
        var contents: [UInt8] = []
        while try !reader.takeEndOfContents() { try copyElement(from: &reader, to: &contents, depth: depth + 1) }
        output.append(tag.byte)
        output += Self.length(contents.count)
        output += contents
    }

    private static func length(_ count: Int) -> [UInt8] {
        if count < 0x80 { return [UInt8(count)] }
        let bytes = (0..<4).reversed().map { UInt8(truncatingIfNeeded: count >> (8 * $0)) }.drop { $0 == 0 }
        return [0x80 | UInt8(bytes.count)] + bytes
    }
}

extension DERReader {
    /// Skips the two zero bytes that end contents of indefinite length (X.690 §8.1.5); false if other bytes are next.
    fileprivate mutating func takeEndOfContents() throws(ReceiptError) -> Bool {
        guard end - position >= 2 else { throw broken(.derTruncated) }
        guard bytes[position] == 0, bytes[position + 1] == 0 else { return false }
        skip(2)
        return true
    }
}
