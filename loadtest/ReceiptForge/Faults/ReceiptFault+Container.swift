// SPDX-License-Identifier: Apache-2.0

internal import Receipts

/// Containers that generic CMS software accepts and that are never genuine receipts.
extension FaultForge {
    static let container: [ReceiptFault] = [
        ReceiptFault(
            "not-signed-data", .rejected(.notSignedData), "The outer content type is envelopedData.",
            .afterSigning { $0.contentType = .envelopedData }),
        ReceiptFault(
            "signed-data-version-three", .rejected(.unsupportedVersion),
            "RFC 5652 §5.1 gives version 1 to content of type data; genuine receipts have no other.",
            .afterSigning { $0.version = 3 }),
        ReceiptFault(
            "signer-by-key-identifier", .rejected(.unsupportedVersion),
            "A version 3 SignerInfo names its signer by key identifier, which any certificate can claim.",
            .container { $0.signedByKeyIdentifier }),
        ReceiptFault(
            "no-signers", .rejected(.signerCountNotOne),
            "A degenerate container passes software that only looks for a bad signature.",
            .afterSigning { $0.signerInfos = [] }),
        ReceiptFault(
            "two-signers", .rejected(.signerCountNotOne),
            "A good signature beside an attacker's: which of the two did the verifier look at?",
            .container { $0.withSecondSigner }),
        ReceiptFault(
            "detached-content", .rejected(.contentMissing), "The signature is there, the content is not.",
            .afterSigning { $0.encapsulatedContentInfo.eContent = nil }),
        ReceiptFault(
            "empty-content", .rejected(.contentEmpty), "A genuine signature over nothing.",
            .container { $0.pki.container(signing: []) }),
        ReceiptFault(
            "content-type-changed", .rejected(.contentTypeNotData),
            "Without signed attributes nothing signs the content type, so it must not be trusted.",
            .afterSigning { $0.encapsulatedContentInfo.eContentType = .envelopedData }),
        ReceiptFault(
            "digest-md5", .rejected(.digestAlgorithmUnsupported),
            "Properly signed with MD5, whose collisions take seconds.",
            .container { $0.pki.container(signing: $0.contents.payload, digest: .md5) }),
        ReceiptFault(
            "digest-algorithms-without-the-signers", .rejected(.digestAlgorithmNotListed),
            "The container announces SHA-1 and the signer uses SHA-256.",
            .afterSigning { $0.digestAlgorithms = [AlgorithmIdentifier(.sha1)] }),
        ReceiptFault(
            "digest-algorithms-with-another", .rejected(.derTrailingBytes),
            "The list of digests is unsigned: with others allowed, one receipt has endless variants.",
            .afterSigning { $0.digestAlgorithms.append(AlgorithmIdentifier(.sha1)) }),
        ReceiptFault(
            "digest-algorithms-empty", .rejected(.digestAlgorithmNotListed),
            "The container announces no digest at all.", .afterSigning { $0.digestAlgorithms = [] }),
        ReceiptFault(
            "signature-algorithm-mismatch", .rejected(.signatureAlgorithmMismatch),
            "sha1WithRSAEncryption beside a SHA-256 digest: the weaker one must not be a matter of choice.",
            .afterSigning { $0.signerInfos[0].signatureAlgorithm = AlgorithmIdentifier(.sha1WithRSAEncryption) }),
        ReceiptFault(
            "signature-algorithm-unsupported", .rejected(.signatureAlgorithmUnsupported),
            "RSASSA-PSS, which Apple does not use for receipts.",
            .afterSigning { $0.signerInfos[0].signatureAlgorithm = AlgorithmIdentifier(.rsassaPSS) }),
        ReceiptFault(
            "unsigned-attributes", .rejected(.unsignedAttributesPresent),
            "Nothing signs them, so they make endless variants of one genuine receipt.",
            .afterSigning { $0.signerInfos[0].unsignedAttributes = CMSAttribute.challenge.encoded }),
    ]
}

extension FaultForge {
    fileprivate var signedByKeyIdentifier: SignedDataTemplate {
        var container = container
        container.signerInfos[0].version = 3
        container.signerInfos[0].signerIdentifier = DERNode(.context(0), pki.keys.key(for: .leaf).keyIdentifier)
        return container
    }

    fileprivate var withSecondSigner: SignedDataTemplate {
        var container = container
        let second = lookalikeCertificates[0]
        let key = pki.keys.key(for: .attackerLeaf)
        container.signerInfos.append(
            SignerInfoTemplate(signing: contents.payload, by: key, certificate: second, digest: pki.digest))
        return container
    }
}
