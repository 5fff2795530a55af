// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// What one receipt took in memory.
struct MemoryReport: Hashable, Sendable {
    /// The receipt in DER.
    let bytes: Int
    /// The receipt's text, which was in memory before.
    let base64Bytes: Int
    /// Purchases in the receipt.
    let purchases: Int
    /// The most memory that decoding and verifying took beside the text.
    let peakBytes: Int

    /// The peak as a multiple of the receipt's size.
    var ratioToSize: Double { Double(peakBytes) / Double(bytes) }

    /// The peak and the text together as a multiple of the receipt's size.
    var ratioWithText: Double { Double(peakBytes + base64Bytes) / Double(bytes) }

    /// For readers.
    var text: String {
        """
        receipt             \(bytes.grouped) bytes, \(purchases.grouped) purchases
        base64 text         \(base64Bytes.grouped) bytes, in memory before
        decode and verify   \(peakBytes.grouped) bytes at the peak: \(ratioToSize.fixed(2)) times the receipt's size
        with the text       \(ratioWithText.fixed(2)) times the receipt's size
        """
    }
}

extension MemoryReport: Encodable {
    private enum CodingKeys: String, CodingKey {
        case memory
    }

    private enum MemoryKeys: String, CodingKey {
        case bytes, purchases
        case base64Bytes = "base64_bytes"
        case peakBytes = "peak_bytes"
        case ratioToSize = "ratio_to_size"
        case ratioWithText = "ratio_to_size_with_base64"
    }

    func encode(to encoder: any Encoder) throws {
        var root = encoder.container(keyedBy: CodingKeys.self)
        var memory = root.nestedContainer(keyedBy: MemoryKeys.self, forKey: .memory)
        try memory.encode(bytes, forKey: .bytes)
        try memory.encode(base64Bytes, forKey: .base64Bytes)
        try memory.encode(purchases, forKey: .purchases)
        try memory.encode(peakBytes, forKey: .peakBytes)
        try memory.encode(ratioToSize.rounded(toDecimals: 3), forKey: .ratioToSize)
        try memory.encode(ratioWithText.rounded(toDecimals: 3), forKey: .ratioWithText)
    }
}
