// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// `Attribute ::= SEQUENCE { attrType OBJECT IDENTIFIER, attrValues SET OF ANY }` (RFC 5652 §5.3), which receipts lack.
enum CMSAttribute {
    static func contentType(_ type: ObjectIdentifier) -> DERElement {
        attribute(.contentTypeAttribute, type.element)
    }

    static func messageDigest(_ digest: [UInt8]) -> DERElement {
        attribute(.messageDigestAttribute, .octetString(digest))
    }

    /// An attribute without meaning for receipts.
    static let challenge = attribute(.challengePassword, .utf8String("test"))

    private static func attribute(_ type: ObjectIdentifier, _ value: DERElement) -> DERElement {
        .sequence(type.element, .set(of: [value]))
    }
}
