// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// ```
/// EncapsulatedContentInfo ::= SEQUENCE { eContentType OBJECT IDENTIFIER,
///                                        eContent [0] EXPLICIT OCTET STRING OPTIONAL }   -- RFC 5652 §5.2
/// ```
struct EncapsulatedContentInfo: Sendable {
    var eContentType = ObjectIdentifier.data
    /// Absent in a detached signature.
    var eContent: DERElement?

    func element(lengthForm: DERLengthForm) -> DERElement {
        let content = eContent.map { DERElement(.contextConstructed(0), lengthForm: lengthForm, children: [$0]) }
        return DERElement(
            .sequence, lengthForm: lengthForm, children: [eContentType.element] + (content.map { [$0] } ?? []))
    }
}
