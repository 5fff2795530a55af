// SPDX-License-Identifier: Apache-2.0

internal import Receipts

/// Containers that generic CMS software accepts and that are never genuine receipts.
extension FaultForge {
    static let container: [ReceiptFault] = [
        .rejected("not-signed-data", .notSignedData).afterSigning { $0.contentType = .envelopedData }
            .because("The outer content type is envelopedData."),
        .rejected("signed-data-version-three", .unsupportedVersion).afterSigning { $0.version = 3 }
            .because("RFC 5652 §5.1 gives version 1 to content of type data; genuine receipts have no other."),
        .rejected("signer-by-key-identifier", .unsupportedVersion)
            .afterSigning { container, forge in
                let identifier = forge.pki.keys.key(for: .leaf).keyIdentifier
                container.signerInfos[0].version = 3
                container.signerInfos[0].signerIdentifier = DERNode(.context(0), identifier)
            }
            .because("A version 3 SignerInfo names its signer by key identifier, which any certificate can claim."),
        .rejected("no-signers", .signerCountNotOne).afterSigning { $0.signerInfos = [] }
            .because("A degenerate container passes software that only looks for a bad signature."),
        .rejected("two-signers", .signerCountNotOne).afterSigning { $0.signerInfos.append($1.lookalikeSigner) }
            .because("A good signature beside an attacker's: which of the two did the verifier look at?"),
        .rejected("detached-content", .contentMissing).afterSigning { $0.encapsulatedContentInfo.eContent = nil }
            .because("The signature is there, the content is not."),
        .rejected("empty-content", .contentEmpty).container { $0.pki.container(signing: []) }
            .because("A genuine signature over nothing."),
        .rejected("content-type-changed", .contentTypeNotData)
            .afterSigning { $0.encapsulatedContentInfo.eContentType = .envelopedData }
            .because("Without signed attributes nothing signs the content type, so it must not be trusted."),
        .rejected("digest-md5", .digestAlgorithmUnsupported)
            .container { $0.pki.container(signing: $0.contents.payload, digest: .md5) }
            .because("Properly signed with MD5, whose collisions take seconds."),
        .rejected("digest-algorithms-without-the-signers", .digestAlgorithmNotListed)
            .afterSigning { $0.digestAlgorithms = [AlgorithmIdentifier(.sha1)] }
            .because("The container announces SHA-1 and the signer uses SHA-256."),
        .rejected("digest-algorithms-with-another", .derTrailingBytes)
            .afterSigning { $0.digestAlgorithms.append(AlgorithmIdentifier(.sha1)) }
            .because("The list of digests is unsigned: with others allowed, one receipt has endless variants."),
        .rejected("digest-algorithms-empty", .digestAlgorithmNotListed).afterSigning { $0.digestAlgorithms = [] }
            .because("The container announces no digest at all."),
        .rejected("signature-algorithm-mismatch", .signatureAlgorithmMismatch)
            .afterSigning { $0.signerInfos[0].signatureAlgorithm = AlgorithmIdentifier(.sha1WithRSAEncryption) }
            .because("sha1WithRSAEncryption beside a SHA-256 digest: the weaker one must not be a matter of choice."),
        .rejected("signature-algorithm-unsupported", .signatureAlgorithmUnsupported)
            .afterSigning { $0.signerInfos[0].signatureAlgorithm = AlgorithmIdentifier(.rsassaPSS) }
            .because("RSASSA-PSS, which Apple does not use for receipts."),
        .rejected("unsigned-attributes", .unsignedAttributesPresent)
            .afterSigning {
                let challenge = DERNode.attribute(.challengePassword, .utf8String("test"))
                $0.signerInfos[0].unsignedAttributes = challenge.encoded
            }
            .because("Nothing signs them, so they make endless variants of one genuine receipt."),
    ]
}

extension FaultForge {
    fileprivate var lookalikeSigner: SignerInfoTemplate {
        SignerInfoTemplate(
            signing: contents.payload, by: pki.keys.key(for: .attackerLeaf), certificate: lookalikeCertificates[0],
            digest: pki.digest)
    }
}
