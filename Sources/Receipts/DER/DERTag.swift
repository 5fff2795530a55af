// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

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
