// SPDX-License-Identifier: Apache-2.0

/// Reads DER elements in order without copying: it returns offsets into the bytes it borrows.
///
/// Stricter than OpenSSL's `d2i_*`: every length is in its shortest form and inside its parent (X.690 §10.1), and
/// nothing is left over. It does not recurse, so nesting costs nothing but bytes.
struct DERReader: ~Escapable {
    /// Offsets count from its start.
    let bytes: Span<UInt8>
    private(set) var position: Int
    let end: Int

    @_lifetime(copy bytes)
    init(_ bytes: Span<UInt8>) {
        self.init(bytes, in: 0..<bytes.count)
    }

    @_lifetime(copy bytes)
    init(_ bytes: Span<UInt8>, in range: Range<Int>) {
        precondition(range.lowerBound >= 0 && range.upperBound <= bytes.count)
        self.bytes = bytes
        position = range.lowerBound
        end = range.upperBound
    }

    var isAtEnd: Bool { position == end }

    /// The next element's tag, without reading it; nil at the end.
    var nextTag: DERTag? { isAtEnd ? nil : DERTag(byte: bytes[position]) }

    @inline(__always)
    mutating func next() throws(ReceiptError) -> DERElement {
        guard end - position >= 2 else { throw broken(.derTruncated) }
        let tag = DERTag(byte: bytes[position])
        // X.690 §8.1.2.4: the multi-byte form is for tag numbers from 31; receipts have none.
        guard tag.byte & 0x1F != 0x1F else { throw broken(.derUnexpectedTag) }
        let first = bytes[position + 1]
        let (length, headerLength) = first < 0x80 ? (Int(first), 2) : try longLength(first)
        let contentStart = position + headerLength
        guard length <= end - contentStart else { throw broken(.derTruncated) }
        let element = DERElement(tag: tag, start: position, contents: contentStart..<contentStart &+ length)
        position = element.contents.upperBound
        return element
    }

    /// Reads the next element, which must have this tag.
    @inline(__always)
    mutating func next(_ tag: DERTag) throws(ReceiptError) -> DERElement {
        guard let found = nextTag else { throw broken(.derTruncated) }
        guard found == tag else {
            throw broken(!tag.isConstructed && found == tag.segmented ? .derConstructedString : .derUnexpectedTag)
        }
        return try next()
    }

    mutating func nextIfPresent(_ tag: DERTag) throws(ReceiptError) -> DERElement? {
        nextTag == tag ? try next() : nil
    }

    /// Reads the next element, which must have this tag, and returns a reader of its contents.
    @_lifetime(copy self)
    @inline(__always)
    mutating func enter(_ tag: DERTag) throws(ReceiptError) -> DERReader {
        let element = try next(tag)
        return DERReader(bytes, in: element.contents)
    }

    @_lifetime(copy self)
    func reader(of element: DERElement) -> DERReader {
        DERReader(bytes, in: element.contents)
    }

    /// Throws if anything follows.
    @inline(__always)
    func finish() throws(ReceiptError) {
        guard isAtEnd else { throw broken(.derTrailingBytes) }
    }

    /// Skips `count` bytes that the caller has recognised as whole elements.
    @inline(__always)
    mutating func skip(_ count: Int) {
        precondition(count <= end &- position)
        position &+= count
    }

    /// Reads a long length: the first byte gives the number of length bytes (X.690 §8.1.3.5), at least two bytes
    /// (§10.1).
    @inline(never)
    private func longLength(_ first: UInt8) throws(ReceiptError) -> (length: Int, headerLength: Int) {
        if first == 0x82, end &- position >= 4 {  // The form purchases have.
            let length = Int(bytes[position &+ 2]) &<< 8 | Int(bytes[position &+ 3])
            if length >= 0x100 { return (length, 4) }
        }
        let count = Int(first & 0x7F)
        guard count > 0 else { throw broken(.derIndefiniteLength) }
        guard count <= 4 else { throw broken(.derLengthTooLarge) }
        guard end - position >= 2 + count else { throw broken(.derTruncated) }
        var length = 0
        for index in 0..<count { length = length << 8 | Int(bytes[position + 2 + index]) }
        guard length >= 0x80, length >> (8 * (count - 1)) != 0 else { throw broken(.derNonMinimalLength) }
        return (length, 2 + count)
    }

    func broken(_ rule: Rule) -> ReceiptError { ReceiptError(rule, at: .offset(position)) }
}

// MARK: - Values

extension DERReader {
    /// Reads an INTEGER that fits 64 bits, in its shortest form (X.690 §8.3.2).
    @inline(__always)
    mutating func integer() throws(ReceiptError) -> Int64 {
        let element = try next(.integer)
        return try bytes.derInteger(in: element.contents)
    }

    mutating func objectIdentifier() throws(ReceiptError) -> Range<Int> {
        try next(.objectIdentifier).contents
    }
}

extension Span<UInt8> {
    @inline(__always)
    func derInteger(in contents: Range<Int>) throws(ReceiptError) -> Int64 {
        if contents.count == 1 { return Int64(Int8(bitPattern: self[contents.lowerBound])) }
        return try longDERInteger(in: contents)
    }

    @inline(never)
    private func longDERInteger(in contents: Range<Int>) throws(ReceiptError) -> Int64 {
        try checkShortestForm(ofInteger: contents)
        guard contents.count <= 8 else {
            throw ReceiptError(.derIntegerOutOfRange, at: .offset(contents.lowerBound))
        }
        var value = Int64(Int8(bitPattern: self[contents.lowerBound]))
        for index in contents.dropFirst() { value = value << 8 | Int64(self[index]) }
        return value
    }

    /// Throws unless the first nine bits differ (X.690 §8.3.2) and there is at least one byte (§8.3.1).
    func checkShortestForm(ofInteger contents: Range<Int>) throws(ReceiptError) {
        guard let first = contents.first else {
            throw ReceiptError(.derTruncated, at: .offset(contents.lowerBound))
        }
        guard contents.count > 1 else { return }
        let sign = self[first], next = self[first + 1] & 0x80
        guard !(sign == 0x00 && next == 0), !(sign == 0xFF && next != 0) else {
            throw ReceiptError(.derNonMinimalInteger, at: .offset(first))
        }
    }
}

/// The identifier byte of an element (X.690 §8.1.2); all tag numbers in receipts are below 31 and fit one byte.
struct DERTag: Hashable, Sendable {
    let byte: UInt8

    static let boolean = DERTag(byte: 0x01)
    static let integer = DERTag(byte: 0x02)
    static let bitString = DERTag(byte: 0x03)
    static let octetString = DERTag(byte: 0x04)
    static let null = DERTag(byte: 0x05)
    static let objectIdentifier = DERTag(byte: 0x06)
    static let utf8String = DERTag(byte: 0x0C)
    static let ia5String = DERTag(byte: 0x16)
    static let utcTime = DERTag(byte: 0x17)
    static let generalizedTime = DERTag(byte: 0x18)
    static let sequence = DERTag(byte: 0x30)
    static let set = DERTag(byte: 0x31)

    /// `[number]`, EXPLICIT or around a constructed type.
    static func context(_ number: UInt8) -> DERTag { DERTag(byte: 0xA0 | number) }

    private static let constructedBit: UInt8 = 0x20
    var isConstructed: Bool { byte & Self.constructedBit != 0 }
    /// The constructed form of a string type, which BER allows and DER forbids.
    var segmented: DERTag { DERTag(byte: byte | Self.constructedBit) }
}

/// One element. Offsets refer to the bytes read.
struct DERElement: Hashable, Sendable {
    let tag: DERTag
    let start: Int
    let contents: Range<Int>

    var encoding: Range<Int> { start..<contents.upperBound }
}
