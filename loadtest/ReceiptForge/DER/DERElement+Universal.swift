// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// The universal types a receipt is made of (X.690 §8.2 to §8.23).
extension DERElement {
    static let null = DERElement(.null, [])

    static func boolean(_ value: Bool) -> DERElement {
        DERElement(.boolean, [value ? 0xFF : 0x00])
    }

    /// INTEGER in as few octets as two's complement needs (X.690 §8.3.2).
    static func integer(_ value: Int64) -> DERElement {
        var octets = (0..<8).reversed().map { UInt8(truncatingIfNeeded: value >> ($0 * 8)) }
        while octets.count > 1, isRedundant(octets[0], before: octets[1]) {
            octets.removeFirst()
        }
        return DERElement(.integer, octets)
    }

    /// INTEGER from an unsigned magnitude of any size, most significant octet first.
    static func integer(magnitude: [UInt8]) -> DERElement {
        let significant = Array(magnitude.drop { $0 == 0 })
        let needsSignOctet = significant.first.map { $0 >= 0x80 } ?? true
        return DERElement(.integer, needsSignOctet ? [0] + significant : significant)
    }

    static func octetString(_ octets: [UInt8]) -> DERElement {
        DERElement(.octetString, octets)
    }

    /// BIT STRING of whole octets: the first contents octet counts the unused bits.
    static func bitString(_ octets: [UInt8], unusedBits: UInt8 = 0) -> DERElement {
        DERElement(.bitString, [unusedBits] + octets)
    }

    static func utf8String(_ text: String) -> DERElement {
        DERElement(.utf8String, Array(text.utf8))
    }

    static func printableString(_ text: String) -> DERElement {
        DERElement(.printableString, Array(text.utf8))
    }

    static func ia5String(_ text: String) -> DERElement {
        DERElement(.ia5String, Array(text.utf8))
    }

    private static func isRedundant(_ octet: UInt8, before next: UInt8) -> Bool {
        (octet == 0x00 && next < 0x80) || (octet == 0xFF && next >= 0x80)
    }
}
