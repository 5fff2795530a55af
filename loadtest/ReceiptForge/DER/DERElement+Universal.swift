// SPDX-License-Identifier: Apache-2.0

/// The universal types a receipt is made of (X.690 §8.2 to §8.23).
extension DERNode {
    static let null = DERNode(.null, [])

    static func boolean(_ value: Bool) -> DERNode {
        DERNode(.boolean, [value ? 0xFF : 0x00])
    }

    /// INTEGER in as few bytes as two's complement needs (X.690 §8.3.2).
    static func integer(_ value: Int64) -> DERNode {
        // The bits of the number, and one for its sign.
        let bits = 65 - (value < 0 ? ~value : value).leadingZeroBitCount, count = (bits + 7) / 8
        return DERNode(.integer, (1...count).map { UInt8(truncatingIfNeeded: value >> ((count - $0) * 8)) })
    }

    /// INTEGER from an unsigned magnitude of any size, most significant byte first.
    static func integer(magnitude: [UInt8]) -> DERNode {
        let significant = Array(magnitude.drop { $0 == 0 })
        let needsSignByte = significant.first.map { $0 >= 0x80 } ?? true
        return DERNode(.integer, needsSignByte ? [0] + significant : significant)
    }

    static func octetString(_ bytes: [UInt8]) -> DERNode {
        DERNode(.octetString, bytes)
    }

    /// BIT STRING of whole bytes: the first byte of the contents counts the unused bits.
    static func bitString(_ bytes: [UInt8], unusedBits: UInt8 = 0) -> DERNode {
        DERNode(.bitString, [unusedBits] + bytes)
    }

    static func utf8String(_ text: String) -> DERNode {
        DERNode(.utf8String, Array(text.utf8))
    }

    static func printableString(_ text: String) -> DERNode {
        DERNode(.printableString, Array(text.utf8))
    }

    static func ia5String(_ text: String) -> DERNode {
        DERNode(.ia5String, Array(text.utf8))
    }
}

extension DERNode {
    static func sequence(_ children: DERNode...) -> DERNode {
        DERNode(.sequence, children: children)
    }

    static func sequence(of children: [DERNode]) -> DERNode {
        DERNode(.sequence, children: children)
    }

    /// SET OF in the given order. DER requires `set(of:)`.
    static func set(asWritten children: [DERNode]) -> DERNode {
        DERNode(.set, children: children)
    }

    /// SET OF in ascending order of the encodings (X.690 §11.6).
    static func set(of children: [DERNode]) -> DERNode {
        let ordered = children.map(\.encoded).sorted { $0.lexicographicallyPrecedes($1) }
        return DERNode(.set, children: ordered.map(DERNode.verbatim))
    }

    /// An `OCTET STRING` with the encoding of another element, as in attribute values and extensions.
    static func octetString(wrapping element: DERNode) -> DERNode {
        .octetString(element.encoded)
    }

    /// `[number] EXPLICIT` around one element.
    static func explicit(_ number: UInt8, _ child: DERNode) -> DERNode {
        DERNode(.contextConstructed(number), children: [child])
    }
}
