// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// `Extension ::= SEQUENCE { extnID OBJECT IDENTIFIER, critical BOOLEAN DEFAULT FALSE, extnValue OCTET STRING }`
/// (RFC 5280 §4.1)
struct CertificateExtension: Sendable, Hashable {
    let identifier: ObjectIdentifier
    var isCritical = false
    let value: DERElement

    var element: DERElement {
        // X.690 §11.5: a value equal to its DEFAULT is omitted.
        let critical: [DERElement] = isCritical ? [.boolean(true)] : []
        return .sequence(of: [identifier.element] + critical + [.octetString(wrapping: value)])
    }
}

extension CertificateExtension {
    /// The bits of `KeyUsage` (RFC 5280 §4.2.1.3), in one byte.
    struct KeyUsage: OptionSet, Sendable {
        let rawValue: UInt8
        static let digitalSignature = KeyUsage(rawValue: 0x80)
        static let keyEncipherment = KeyUsage(rawValue: 0x20)
        static let keyCertSign = KeyUsage(rawValue: 0x04)
        static let cRLSign = KeyUsage(rawValue: 0x02)
    }

    static func keyUsage(_ usage: KeyUsage) -> Self {
        // X.690 §11.2.2: trailing zero bits of a named bit list are not written.
        let bits = DERElement.bitString([usage.rawValue], unusedBits: UInt8(usage.rawValue.trailingZeroBitCount))
        return Self(identifier: .keyUsage, isCritical: true, value: bits)
    }

    /// An authority; `pathLength` counts the intermediates that may follow it (RFC 5280 §4.2.1.9).
    static func certificateAuthority(pathLength: Int64? = nil) -> Self {
        let limit: [DERElement] = pathLength.map { [.integer($0)] } ?? []
        return Self(identifier: .basicConstraints, isCritical: true, value: .sequence(of: [.boolean(true)] + limit))
    }

    /// `CA:FALSE`, which is the default and therefore an empty SEQUENCE.
    static let endEntity = Self(identifier: .basicConstraints, isCritical: true, value: .sequence())

    static func subjectKeyIdentifier(_ identifier: [UInt8]) -> Self {
        Self(identifier: .subjectKeyIdentifier, value: .octetString(identifier))
    }

    static func authorityKeyIdentifier(_ identifier: [UInt8]) -> Self {
        let keyIdentifier = DERElement(.context(0), identifier)
        return Self(identifier: .authorityKeyIdentifier, value: .sequence(keyIdentifier))
    }

    static func extendedKeyUsage(_ purposes: ObjectIdentifier...) -> Self {
        Self(identifier: .extendedKeyUsage, isCritical: true, value: .sequence(of: purposes.map(\.element)))
    }

    /// Apple's markers have no content: NULL inside, not critical.
    static func marker(_ identifier: ObjectIdentifier) -> Self {
        Self(identifier: identifier, value: .null)
    }
}
