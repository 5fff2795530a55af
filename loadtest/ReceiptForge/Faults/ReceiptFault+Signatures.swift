// SPDX-License-Identifier: Apache-2.0

internal import Receipts

/// Receipts with correct fields whose signature is not by this signer over this content.
extension FaultForge {
    static let signatures: [ReceiptFault] = [
        .rejected("signature-bit-flipped", .signatureInvalid).afterSigning { $0.signerInfos[0].signature[128] ^= 1 }
            .because("One bit of the signature is wrong."),
        .rejected("signature-too-short", .signatureInvalid).afterSigning { $0.signerInfos[0].signature.removeLast() }
            .because("An RSA signature is exactly as long as the modulus (RFC 8017 §8.2.2)."),
        .rejected("payload-bit-flipped", .signatureInvalid).contentAfterSigning { $0.opaque6[10] ^= 1 }
            .because("One bit of an opaque attribute is wrong; every field still reads well."),
        .rejected("content-spliced", .signatureInvalid).contentAfterSigning { $0.bundleID = "com.example.victim" }
            .because("The content of another receipt under this receipt's signature."),
        .rejected("expiry-moved", .signatureInvalid)
            .contentAfterSigning { $0.purchases[1].expiresDate = UTCDate(2099, 1, 1) }
            .because("The cheapest attack of all: edit the expiry in place."),
        .rejected("digest-relabelled", .signatureInvalid)
            .afterSigning {
                $0.digestAlgorithms = [AlgorithmIdentifier(.sha1)]
                $0.signerInfos[0].digestAlgorithm = AlgorithmIdentifier(.sha1)
            }
            .because(
                "Signed with SHA-256 and labelled SHA-1 throughout; the digest inside the signature gives it away."),
    ]
}

extension ReceiptFault {
    /// The content under the sample's signature.
    fileprivate func contentAfterSigning(_ edit: @escaping Edit<ReceiptContents>) -> Self {
        afterSigning {
            $0.encapsulatedContentInfo.eContent = .octetString($1.edited($1.contents, by: edit).payload)
        }
    }
}

/// RFC 5652 §5.4: with signed attributes the signature covers their DER SET instead of the content. A receipt's payload
/// is itself a DER SET, so one signature can be read both ways.
extension FaultForge {
    static let signedAttributes: [ReceiptFault] = [
        .rejected("signed-attributes-confusion", .signedAttributesPresent)
            .afterSigning { container, forge in
                let invented = forge.edited(forge.contents) { $0.purchases[1].expiresDate = UTCDate(2099, 1, 1) }
                container.signerInfos[0].signedAttributes = forge.contents.attributeSet.element.contents
                container.encapsulatedContentInfo.eContent = .octetString(invented.payload)
            }
            .because(
                "A genuine payload moved into the signed attributes: Apple's signature verifies over it, and the content is free."
            ),
        .rejected("signed-attributes", .signedAttributesPresent)
            .afterSigning { container, forge in
                let (key, digest) = (forge.pki.keys.key(for: .leaf), forge.pki.digest)
                let attributes = DERNode.set(of: [
                    .attribute(.contentTypeAttribute, OID.data.element),
                    .attribute(.messageDigestAttribute, .octetString(digest.hash(forge.contents.payload))),
                ])
                container.signerInfos[0].signedAttributes = attributes.contents
                container.signerInfos[0].signature = key.signature(over: attributes.encoded, digest: digest)
            }
            .because(
                "Ordinary CMS with content type and message digest, accepted by OpenSSL; no genuine receipt looks like this."
            ),
    ]
}
