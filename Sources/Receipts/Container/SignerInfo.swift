// SPDX-License-Identifier: Apache-2.0

// SignerInfo ::= SEQUENCE {
//     version             INTEGER,                               -- 1: signer named by issuer and serial number
//     sid                 IssuerAndSerialNumber,
//     digestAlgorithm     AlgorithmIdentifier,
//     signedAttrs         [0] IMPLICIT SET OF Attribute OPTIONAL,     -- must be absent
//     signatureAlgorithm  AlgorithmIdentifier,
//     signature           OCTET STRING,
//     unsignedAttrs       [1] IMPLICIT SET OF Attribute OPTIONAL }    -- must be absent; RFC 5652 §5.3
//
// IssuerAndSerialNumber ::= SEQUENCE {
//     issuer        Name,
//     serialNumber  INTEGER }                                    -- RFC 5652 §10.2.4

/// The signer of the content and its signature. Offsets refer to the receipt.
struct SignerInfo: Sendable {
    /// The whole encoding of the Name.
    let issuer: Range<Int>
    /// The contents of the INTEGER.
    let serialNumber: Range<Int>
    /// RSA with the signer's digest.
    let signatureAlgorithm: SignatureAlgorithm
    let signature: Range<Int>

    init(_ signers: inout DERReader) throws(ReceiptError) {
        var fields = try signers.enter(.sequence)
        guard try fields.integer() == 1 else { throw ReceiptError(.unsupportedVersion) }
        (issuer, serialNumber) = try Self.issuerAndSerialNumber(&fields)
        guard let digest = DigestAlgorithm(fields.bytes.extracting(try fields.algorithmIdentifier())) else {
            throw ReceiptError(.digestAlgorithmUnsupported)
        }
        // RFC 5652 §5.4: with signed attributes the signature covers their DER SET instead of the content. A receipt's
        // payload is a SET too, so Apple's own signature would verify over "attributes" that are really a payload,
        // beside any content of the attacker's choice.
        guard fields.nextTag != .context(0) else { throw ReceiptError(.signedAttributesPresent) }
        signatureAlgorithm = try Self.signatureAlgorithm(&fields, digest: digest)
        signature = try fields.next(.octetString).contents
        guard fields.nextTag != .context(1) else { throw ReceiptError(.unsignedAttributesPresent) }
        try fields.finish()
    }

    private static func issuerAndSerialNumber(
        _ fields: inout DERReader
    ) throws(ReceiptError) -> (issuer: Range<Int>, serialNumber: Range<Int>) {
        var identifier = try fields.enter(.sequence)
        let issuer = try identifier.next(.sequence).encoding
        let serialNumber = try identifier.next(.integer).contents
        try fields.bytes.checkShortestForm(ofInteger: serialNumber)
        try identifier.finish()
        return (issuer, serialNumber)
    }

    /// Reads rsaEncryption, as in receipts, or the form that names the digest (RFC 5754 §3.2), which must then agree.
    private static func signatureAlgorithm(
        _ fields: inout DERReader, digest: DigestAlgorithm
    ) throws(ReceiptError) -> SignatureAlgorithm {
        let identifier = fields.bytes.extracting(try fields.algorithmIdentifier())
        let expected: SignatureAlgorithm = digest == .sha1 ? .sha1WithRSA : .sha256WithRSA
        if identifier.equals(ObjectIdentifier.rsaEncryption) { return expected }
        guard let algorithm = SignatureAlgorithm(identifier), algorithm.isRSA else {
            throw ReceiptError(.signatureAlgorithmUnsupported)
        }
        guard algorithm == expected else { throw ReceiptError(.signatureAlgorithmMismatch) }
        return algorithm
    }
}
