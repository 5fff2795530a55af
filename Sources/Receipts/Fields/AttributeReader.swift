// SPDX-License-Identifier: Apache-2.0

// ReceiptAttribute ::= SEQUENCE {
//     type     INTEGER,
//     version  INTEGER,
//     value    OCTET STRING }
//
// Payload ::= SET OF ReceiptAttribute              -- Apple, "Validating receipts on the device"

/// An attribute's type, version, and the range of its value in the receipt.
struct AttributeSlice {
    let type: Int
    let version: Int
    let value: Range<Int>
}

/// Reads the attributes of a payload or a purchase, in their order.
struct AttributeReader: ~Escapable {
    private var reader: DERReader

    @_lifetime(copy receipt)
    init(_ receipt: Span<UInt8>, in range: Range<Int>) throws(ReceiptError) {
        var outer = DERReader(receipt, in: range)
        let set = try outer.next(.set)
        try outer.finish()
        reader = DERReader(receipt, in: set.contents)
    }

    @inline(__always)
    mutating func next() throws(ReceiptError) -> AttributeSlice? {
        if let attribute = reader.shortAttribute() { return attribute }
        return reader.isAtEnd ? nil : try nextOfAnyForm()
    }

    @inline(never)
    private mutating func nextOfAnyForm() throws(ReceiptError) -> AttributeSlice {
        var fields = try reader.enter(.sequence)
        let type = try fields.integer()
        let version = try fields.integer()
        let value = try fields.next(.octetString).contents
        try fields.finish()
        // A type truncated to 32 bits could pass for another: 2^32 + 2 for the bundle ID.
        guard let number = Int32(exactly: type), number >= 0 else { throw ReceiptError(.attributeTypeOutOfRange) }
        return AttributeSlice(type: Int(number), version: Int(version), value: value)
    }
}

extension DERReader {
    /// Reads an attribute of the usual form, recognised with two comparisons:
    /// `30 L 02 02 t t 02 01 v 04 l …`, a type of two bytes and a value below 128 bytes that ends with its attribute.
    /// Leaves every other form, faulty forms included, to the full reader.
    @inline(__always)
    fileprivate mutating func shortAttribute() -> AttributeSlice? {
        guard end &- position >= 12 else { return nil }
        // SAFETY: `position` and `end` lie within `bytes`, and twelve bytes lie between them.
        let start = unsafe bytes.load64(uncheckedAt: position)  // 30 L 02 02 t t 02 01
        let rest = unsafe bytes.load32(uncheckedAt: position &+ 8)  // v 04 l and a byte of the value
        let length = Int(UInt8(truncatingIfNeeded: start >> 8))
        let valueLength = Int(UInt8(truncatingIfNeeded: rest >> 16))
        let type = Int(UInt16(truncatingIfNeeded: start >> 32).byteSwapped)
        guard start & 0xFFFF_0000_FFFF_00FF == 0x0102_0000_0202_0030, rest & 0xFF00 == 0x0400,
            length == valueLength &+ 9, length < 0x80, length &+ 2 <= end &- position,
            type >= 0x80, type < 0x8000  // Positive, and in its shortest form.
        else { return nil }
        let value = position &+ 11..<position &+ 2 &+ length
        skip(length &+ 2)
        return AttributeSlice(type: type, version: Int(Int8(truncatingIfNeeded: rest)), value: value)
    }
}

/// The attribute types seen in a set, to reject duplicates: readers disagree about which of two counts.
struct SeenAttributes {
    /// `common` has one bit for each of the 64 types from `first`, which are nearly all of a set.
    private let first: Int
    private var common: UInt64 = 0
    private var others: Set<Int> = []
    private let limit: Int

    /// - Parameters:
    ///   - first: 0 for the attributes of a payload, 1700 for the attributes of a purchase.
    ///   - limit: the maximum number of attributes of other types.
    init(first: Int, limit: Int) {
        self.first = first
        self.limit = limit
    }

    @inline(__always)
    mutating func insert(_ type: Int) throws(ReceiptError) {
        let index = UInt(bitPattern: type &- first)
        guard index < 64 else { return try insertOther(type) }
        let bit: UInt64 = 1 &<< UInt64(index)
        guard common & bit == 0 else { throw ReceiptError(.attributeDuplicate, at: .attribute(type)) }
        common |= bit
    }

    @inline(never)
    private mutating func insertOther(_ type: Int) throws(ReceiptError) {
        guard others.insert(type).inserted else { throw ReceiptError(.attributeDuplicate, at: .attribute(type)) }
        guard others.count <= limit else { throw ReceiptError(.tooManyAttributes) }
    }
}
