// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// The container of a receipt. A fault is an edit of a genuine one.
///
/// ```
/// ContentInfo ::= SEQUENCE { contentType OBJECT IDENTIFIER, content [0] EXPLICIT SignedData }   -- RFC 5652 §3
/// SignedData  ::= SEQUENCE { version INTEGER, digestAlgorithms SET OF AlgorithmIdentifier, encapContentInfo,
///                            certificates [0] IMPLICIT SET OF Certificate, signerInfos SET OF SignerInfo } -- §5.1
/// ```
struct SignedData: Sendable {
    var contentType = ObjectIdentifier.signedData
    var version: Int64 = 1
    var digestAlgorithms: [AlgorithmIdentifier]
    var encapsulatedContentInfo: EncapsulatedContentInfo
    var certificates: [Certificate]
    var signerInfos: [SignerInfo]
    /// The form of the lengths around the content; Xcode writes them indefinite.
    var outerLengthForm = DERLengthForm.minimal

    var contentInfo: DERElement {
        let content = DERElement(.contextConstructed(0), lengthForm: outerLengthForm, children: [signedData])
        return DERElement(.sequence, lengthForm: outerLengthForm, children: [contentType.element, content])
    }

    var encoded: [UInt8] {
        contentInfo.encoded
    }

    private var signedData: DERElement {
        DERElement(
            .sequence, lengthForm: outerLengthForm,
            children: [
                .integer(version),
                .set(asWritten: digestAlgorithms.map(\.element)),
                encapsulatedContentInfo.element(lengthForm: outerLengthForm),
                // Genuine receipts list leaf, intermediate, root: the chain's order, not the order of a DER SET.
                DERElement(.contextConstructed(0), children: certificates.map { .verbatim($0.der) }),
                .set(asWritten: signerInfos.map(\.element)),
            ])
    }
}
