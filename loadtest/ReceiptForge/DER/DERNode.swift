// SPDX-License-Identifier: Apache-2.0

/// One element of an encoding: identifier, length and contents (X.690 §8.1.1).
///
/// A plain value, so that a fault is an edit, such as another length form or tag. Invalid DER is possible on purpose.
enum DERNode: Sendable, Hashable {
    case element(tag: DERNodeTag, lengthForm: DERLengthForm, contents: [UInt8])
    /// Bytes copied as they are, for instance a finished certificate.
    case verbatim([UInt8])

    init(_ tag: DERNodeTag, _ contents: [UInt8]) {
        self = .element(tag: tag, lengthForm: .minimal, contents: contents)
    }

    init(_ tag: DERNodeTag, lengthForm: DERLengthForm = .minimal, children: [DERNode]) {
        self = .element(tag: tag, lengthForm: lengthForm, contents: children.reduce(into: []) { $0 += $1.encoded })
    }

    var encoded: [UInt8] {
        guard case .element(let tag, let lengthForm, let contents) = self else { return contents }
        var bytes = [tag.rawValue]
        bytes += lengthForm.lengthBytes(for: contents.count)
        bytes += contents
        // X.690 §8.1.5: two zero bytes end the indefinite form.
        if lengthForm == .indefinite { bytes += [0, 0] }
        return bytes
    }

    /// The contents without identifier and length.
    var contents: [UInt8] {
        switch self {
        case .element(_, _, let contents): contents
        case .verbatim(let bytes): bytes
        }
    }

    func with(lengthForm: DERLengthForm) -> DERNode {
        switch self {
        case .element(let tag, _, let contents): .element(tag: tag, lengthForm: lengthForm, contents: contents)
        case .verbatim: self
        }
    }
}

/// The form of an element's length (X.690 §8.1.3). DER allows only `minimal` (§10.1).
enum DERLengthForm: Sendable, Hashable {
    case minimal
    /// The long form with this many bytes after the first byte, padded with leading zeros.
    case long(bytes: Int)
    /// `80`, and two zero bytes after the contents.
    case indefinite

    func lengthBytes(for count: Int) -> [UInt8] {
        switch self {
        case .minimal where count < 0x80: [UInt8(count)]
        case .minimal: Self.longForm(count, bytes: (count.bitWidth - count.leadingZeroBitCount + 7) / 8)
        case .long(let bytes): Self.longForm(count, bytes: bytes)
        case .indefinite: [0x80]
        }
    }

    private static func longForm(_ count: Int, bytes: Int) -> [UInt8] {
        let digits = (0..<bytes).reversed().map { UInt8(truncatingIfNeeded: count >> ($0 * 8)) }
        return [0x80 | UInt8(bytes)] + digits
    }
}

/// The identifier byte of an element (X.690 §8.1.2). Every tag number in a receipt is below 31, so one byte suffices.
struct DERNodeTag: RawRepresentable, Sendable, Hashable {
    let rawValue: UInt8

    static let boolean = DERNodeTag(rawValue: 0x01)
    static let integer = DERNodeTag(rawValue: 0x02)
    static let bitString = DERNodeTag(rawValue: 0x03)
    static let octetString = DERNodeTag(rawValue: 0x04)
    static let null = DERNodeTag(rawValue: 0x05)
    static let objectIdentifier = DERNodeTag(rawValue: 0x06)
    static let utf8String = DERNodeTag(rawValue: 0x0C)
    static let printableString = DERNodeTag(rawValue: 0x13)
    static let ia5String = DERNodeTag(rawValue: 0x16)
    static let utcTime = DERNodeTag(rawValue: 0x17)
    static let generalizedTime = DERNodeTag(rawValue: 0x18)
    static let sequence = DERNodeTag(rawValue: 0x30)
    static let set = DERNodeTag(rawValue: 0x31)

    /// `[number]` around a primitive value, as IMPLICIT tagging of a string or integer gives.
    static func context(_ number: UInt8) -> DERNodeTag {
        DERNodeTag(rawValue: 0x80 | number)
    }

    /// `[number]` around other elements: EXPLICIT tagging, or IMPLICIT tagging of a SEQUENCE or SET.
    static func contextConstructed(_ number: UInt8) -> DERNodeTag {
        DERNodeTag(rawValue: 0xA0 | number)
    }

    /// The same tag with bit 6 set: a string in segments (X.690 §8.7.3), which DER forbids (§10.2).
    var constructed: DERNodeTag {
        DERNodeTag(rawValue: rawValue | 0x20)
    }
}
