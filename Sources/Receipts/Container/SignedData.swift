// SPDX-License-Identifier: Apache-2.0

// ContentInfo ::= SEQUENCE {
//     contentType  OBJECT IDENTIFIER,                            -- id-signedData
//     content      [0] EXPLICIT ANY DEFINED BY contentType }     -- RFC 5652 §3
//
// SignedData ::= SEQUENCE {
//     version           INTEGER,                                 -- 1
//     digestAlgorithms  SET OF AlgorithmIdentifier,              -- the signer's alone
//     encapContentInfo  EncapsulatedContentInfo,
//     certificates      [0] IMPLICIT CertificateSet OPTIONAL,
//     crls              [1] IMPLICIT RevocationInfoChoices OPTIONAL,  -- no receipt has any
//     signerInfos       SET OF SignerInfo }                      -- RFC 5652 §5.1
//
// EncapsulatedContentInfo ::= SEQUENCE {
//     eContentType  OBJECT IDENTIFIER,                           -- id-data
//     eContent      [0] EXPLICIT OCTET STRING OPTIONAL }         -- RFC 5652 §5.2

/// The parsed PKCS #7 container, as offsets into the receipt. Not yet verified.
struct SignedData: Sendable {
    /// The signed bytes: the payload.
    let eContent: Range<Int>
    let certificates: [Range<Int>]
    let signer: SignerInfo

    init(_ receipt: Span<UInt8>, limits: Limits) throws(ReceiptError) {
        guard receipt.count <= limits.maximumReceiptBytes else { throw ReceiptError(.receiptTooLarge) }
        var outer = DERReader(receipt)
        var contentInfo = try outer.enter(.sequence)
        try outer.finish()
        guard receipt.equals(try contentInfo.objectIdentifier(), ObjectIdentifier.signedData) else {
            throw ReceiptError(.notSignedData)
        }
        var explicit = try contentInfo.enter(.context(0))
        try contentInfo.finish()
        var fields = try explicit.enter(.sequence)
        try explicit.finish()

        guard try fields.integer() == 1 else { throw ReceiptError(.unsupportedVersion) }
        let digestAlgorithms = try fields.enter(.set)
        eContent = try Self.eContent(&fields)
        certificates = try Self.certificates(fields.enter(.context(0)), limit: limits.maximumCertificates)
        signer = try Self.onlySigner(&fields)
        try fields.finish()
        try Self.check(digestAlgorithms, areOnly: signer.signatureAlgorithm.digest)
    }

    private static func eContent(_ fields: inout DERReader) throws(ReceiptError) -> Range<Int> {
        var encapsulated = try fields.enter(.sequence)
        // RFC 5652 §5.4: without signed attributes the content type is unsigned, so only the expected type is accepted.
        guard fields.bytes.equals(try encapsulated.objectIdentifier(), ObjectIdentifier.data) else {
            throw ReceiptError(.contentTypeNotData)
        }
        guard !encapsulated.isAtEnd else { throw ReceiptError(.contentMissing) }
        var explicit = try encapsulated.enter(.context(0))
        try encapsulated.finish()
        let content = try explicit.next(.octetString).contents
        try explicit.finish()
        guard !content.isEmpty else { throw ReceiptError(.contentEmpty) }
        return content
    }

    private static func certificates(_ set: consuming DERReader, limit: Int) throws(ReceiptError) -> [Range<Int>] {
        var certificates: [Range<Int>] = []
        certificates.reserveCapacity(3)
        while !set.isAtEnd {
            guard certificates.count < limit else { throw ReceiptError(.tooManyCertificates) }
            certificates.append(try set.next(.sequence).encoding)
        }
        return certificates
    }

    private static func onlySigner(_ fields: inout DERReader) throws(ReceiptError) -> SignerInfo {
        var signers = try fields.enter(.set)
        guard !signers.isAtEnd else { throw ReceiptError(.signerCountNotOne) }
        let signer = try SignerInfo(&signers)
        guard signers.isAtEnd else { throw ReceiptError(.signerCountNotOne) }
        return signer
    }

    /// Requires the signer's digest alone, as in real receipts: the list is unsigned, and other digests would give
    /// endless variants.
    private static func check(
        _ algorithms: consuming DERReader, areOnly digest: DigestAlgorithm
    ) throws(ReceiptError) {
        guard !algorithms.isAtEnd else { throw ReceiptError(.digestAlgorithmNotListed) }
        let identifier = try algorithms.algorithmIdentifier()
        guard DigestAlgorithm(algorithms.bytes.extracting(identifier)) == digest else {
            throw ReceiptError(.digestAlgorithmNotListed)
        }
        try algorithms.finish()
    }
}
