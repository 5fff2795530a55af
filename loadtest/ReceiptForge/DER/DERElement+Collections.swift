// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

extension DERElement {
    static func sequence(_ children: DERElement...) -> DERElement {
        DERElement(.sequence, children: children)
    }

    static func sequence(of children: [DERElement]) -> DERElement {
        DERElement(.sequence, children: children)
    }

    /// SET OF in the given order. DER requires `set(of:)`.
    static func set(asWritten children: [DERElement]) -> DERElement {
        DERElement(.set, children: children)
    }

    /// SET OF in ascending order of the encodings (X.690 §11.6).
    static func set(of children: [DERElement]) -> DERElement {
        let ordered = children.map(\.encoded).sorted { $0.lexicographicallyPrecedes($1) }
        return DERElement(.set, children: ordered.map(DERElement.verbatim))
    }

    /// `[number] EXPLICIT` around one element.
    static func explicit(_ number: UInt8, _ child: DERElement) -> DERElement {
        DERElement(.contextConstructed(number), children: [child])
    }

    /// An `OCTET STRING` with the encoding of another element, as in attribute values and extensions.
    static func octetString(wrapping element: DERElement) -> DERElement {
        .octetString(element.encoded)
    }
}
