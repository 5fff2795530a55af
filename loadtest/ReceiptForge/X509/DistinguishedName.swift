// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// `Name ::= SEQUENCE OF RelativeDistinguishedName`, each a SET of one attribute here (RFC 5280 §4.1.2.4).
struct DistinguishedName: Sendable, Hashable {
    /// One attribute, with the string type that the authority chose.
    struct Attribute: Sendable, Hashable {
        let type: ObjectIdentifier
        let value: DERElement
    }

    var attributes: [Attribute]

    init(_ attributes: Attribute...) {
        self.attributes = attributes
    }

    var element: DERElement {
        .sequence(
            of: attributes.map { attribute in
                .set(of: [.sequence(attribute.type.element, attribute.value)])
            })
    }
}

extension DistinguishedName.Attribute {
    static func commonName(_ text: String) -> Self { Self(type: .commonName, value: .utf8String(text)) }
    static func organization(_ text: String) -> Self { Self(type: .organizationName, value: .utf8String(text)) }
    static func unit(_ text: String) -> Self { Self(type: .organizationalUnitName, value: .utf8String(text)) }
    static func country(_ text: String) -> Self { Self(type: .countryName, value: .printableString(text)) }
    static func email(_ text: String) -> Self { Self(type: .emailAddress, value: .ia5String(text)) }
}
