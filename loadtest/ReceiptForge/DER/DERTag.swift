// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// The identifier byte of an element (X.690 §8.1.2). Every tag number in a receipt is below 31, so one byte suffices.
struct DERTag: RawRepresentable, Sendable, Hashable {
    let rawValue: UInt8

    static let boolean = DERTag(rawValue: 0x01)
    static let integer = DERTag(rawValue: 0x02)
    static let bitString = DERTag(rawValue: 0x03)
    static let octetString = DERTag(rawValue: 0x04)
    static let null = DERTag(rawValue: 0x05)
    static let objectIdentifier = DERTag(rawValue: 0x06)
    static let utf8String = DERTag(rawValue: 0x0C)
    static let printableString = DERTag(rawValue: 0x13)
    static let ia5String = DERTag(rawValue: 0x16)
    static let utcTime = DERTag(rawValue: 0x17)
    static let generalizedTime = DERTag(rawValue: 0x18)
    static let sequence = DERTag(rawValue: 0x30)
    static let set = DERTag(rawValue: 0x31)

    /// `[number]` around a primitive value, as IMPLICIT tagging of a string or integer gives.
    static func context(_ number: UInt8) -> DERTag {
        DERTag(rawValue: 0x80 | number)
    }

    /// `[number]` around other elements: EXPLICIT tagging, or IMPLICIT tagging of a SEQUENCE or SET.
    static func contextConstructed(_ number: UInt8) -> DERTag {
        DERTag(rawValue: 0xA0 | number)
    }

    /// The same tag with bit 6 set: a string in segments (X.690 §8.7.3), which DER forbids (§10.2).
    var constructed: DERTag {
        DERTag(rawValue: rawValue | 0x20)
    }
}
