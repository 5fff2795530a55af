// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// ```
/// SignerInfo ::= SEQUENCE { version INTEGER, sid SignerIdentifier, digestAlgorithm AlgorithmIdentifier,
///                           signedAttrs [0] IMPLICIT SET OF Attribute OPTIONAL,
///                           signatureAlgorithm AlgorithmIdentifier, signature OCTET STRING,
///                           unsignedAttrs [1] IMPLICIT SET OF Attribute OPTIONAL }       -- RFC 5652 §5.3
/// ```
struct SignerInfo: Sendable {
    /// 1 with an issuer and serial number, 3 with a key identifier.
    var version: Int64 = 1
    var signerIdentifier: DERElement
    var digestAlgorithm: AlgorithmIdentifier
    /// The contents of the SET. Genuine receipts have none: the signature covers the content itself.
    var signedAttributes: [UInt8]?
    /// Apple writes plain rsaEncryption, which does not name the digest.
    var signatureAlgorithm = AlgorithmIdentifier(.rsaEncryption)
    var signature: [UInt8]
    /// The contents of the SET, which nothing signs.
    var unsignedAttributes: [UInt8]?

    var element: DERElement {
        let signed = signedAttributes.map { [DERElement(.contextConstructed(0), $0)] } ?? []
        let unsigned = unsignedAttributes.map { [DERElement(.contextConstructed(1), $0)] } ?? []
        let head = [DERElement.integer(version), signerIdentifier, digestAlgorithm.element]
        let tail = [signatureAlgorithm.element, DERElement.octetString(signature)]
        return .sequence(of: head + signed + tail + unsigned)
    }
}
