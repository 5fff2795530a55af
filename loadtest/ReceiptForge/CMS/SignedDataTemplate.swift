// SPDX-License-Identifier: Apache-2.0

/// The container of a receipt. A fault is an edit of a genuine container.
///
/// ```
/// ContentInfo ::= SEQUENCE { contentType OBJECT IDENTIFIER, content [0] EXPLICIT SignedData }   -- RFC 5652 §3
/// SignedData  ::= SEQUENCE { version INTEGER, digestAlgorithms SET OF AlgorithmIdentifier, encapContentInfo,
///                            certificates [0] IMPLICIT SET OF Certificate, signerInfos SET OF SignerInfo } -- §5.1
/// ```
package struct SignedDataTemplate: Sendable {
    var contentType = OID.signedData
    var version: Int64 = 1
    var digestAlgorithms: [AlgorithmIdentifier]
    var encapsulatedContentInfo: EncapsulatedContentInfo
    var certificates: [IssuedCertificate]
    var signerInfos: [SignerInfoTemplate]
    /// The form of the lengths around the content; Xcode writes them indefinite.
    var outerLengthForm = DERLengthForm.minimal

    /// Signs the payload with the key of the first of `certificates`.
    init(signing payload: [UInt8], by key: RSAPrivateKey, certificates: [IssuedCertificate], digest: SigningDigest) {
        let signer = SignerInfoTemplate(signing: payload, by: key, certificate: certificates[0], digest: digest)
        digestAlgorithms = [signer.digestAlgorithm]
        encapsulatedContentInfo = EncapsulatedContentInfo(eContent: .octetString(payload))
        self.certificates = certificates
        signerInfos = [signer]
    }

    var contentInfo: DERNode {
        let content = DERNode(.contextConstructed(0), lengthForm: outerLengthForm, children: [signedData])
        return DERNode(.sequence, lengthForm: outerLengthForm, children: [contentType.element, content])
    }

    var encoded: [UInt8] {
        contentInfo.encoded
    }

    private var signedData: DERNode {
        DERNode(
            .sequence, lengthForm: outerLengthForm,
            children: [
                .integer(version),
                .set(asWritten: digestAlgorithms.map(\.element)),
                encapsulatedContentInfo.element(lengthForm: outerLengthForm),
                // Genuine receipts list leaf, intermediate, root: the chain's order, not the order of a DER SET.
                DERNode(.contextConstructed(0), children: certificates.map { .verbatim($0.der) }),
                .set(asWritten: signerInfos.map(\.element)),
            ])
    }
}

/// ```
/// EncapsulatedContentInfo ::= SEQUENCE { eContentType OBJECT IDENTIFIER,
///                                        eContent [0] EXPLICIT OCTET STRING OPTIONAL }   -- RFC 5652 §5.2
/// ```
struct EncapsulatedContentInfo: Sendable {
    var eContentType = OID.data
    /// Absent in a detached signature.
    var eContent: DERNode?

    func element(lengthForm: DERLengthForm) -> DERNode {
        let content = eContent.map { [DERNode(.contextConstructed(0), lengthForm: lengthForm, children: [$0])] }
        return DERNode(.sequence, lengthForm: lengthForm, children: [eContentType.element] + (content ?? []))
    }
}

/// ```
/// SignerInfo ::= SEQUENCE { version INTEGER, sid SignerIdentifier, digestAlgorithm AlgorithmIdentifier,
///                           signedAttrs [0] IMPLICIT SET OF Attribute OPTIONAL,
///                           signatureAlgorithm AlgorithmIdentifier, signature OCTET STRING,
///                           unsignedAttrs [1] IMPLICIT SET OF Attribute OPTIONAL }       -- RFC 5652 §5.3
/// ```
struct SignerInfoTemplate: Sendable {
    /// 1 with an issuer and serial number, 3 with a key identifier.
    var version: Int64 = 1
    var signerIdentifier: DERNode
    var digestAlgorithm: AlgorithmIdentifier
    /// The contents of the SET. Genuine receipts have none: the signature covers the content itself.
    var signedAttributes: [UInt8]?
    /// Apple writes plain rsaEncryption, which does not name the digest.
    var signatureAlgorithm = AlgorithmIdentifier(.rsaEncryption)
    var signature: [UInt8]
    /// The contents of the SET, which nothing signs.
    var unsignedAttributes: [UInt8]?

    /// Signs `message` directly, as in RFC 5652 §5.4 without signed attributes.
    init(signing message: [UInt8], by key: RSAPrivateKey, certificate: IssuedCertificate, digest: SigningDigest) {
        signerIdentifier = certificate.issuerAndSerialNumber
        digestAlgorithm = AlgorithmIdentifier(digest.identifiers.digest)
        signature = key.signature(over: message, digest: digest)
    }

    var element: DERNode {
        let signed = signedAttributes.map { [DERNode(.contextConstructed(0), $0)] } ?? []
        let unsigned = unsignedAttributes.map { [DERNode(.contextConstructed(1), $0)] } ?? []
        let head = [DERNode.integer(version), signerIdentifier, digestAlgorithm.element]
        let tail = [signatureAlgorithm.element, DERNode.octetString(signature)]
        return .sequence(of: head + signed + tail + unsigned)
    }
}

extension DERNode {
    /// `Attribute ::= SEQUENCE { attrType OBJECT IDENTIFIER, attrValues SET OF ANY }` (RFC 5652 §5.3)
    static func attribute(_ type: OID, _ value: DERNode) -> DERNode {
        .sequence(type.element, .set(of: [value]))
    }
}
