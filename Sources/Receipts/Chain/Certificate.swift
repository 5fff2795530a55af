// SPDX-License-Identifier: Apache-2.0

// Certificate ::= SEQUENCE {
//     tbsCertificate      TBSCertificate,
//     signatureAlgorithm  AlgorithmIdentifier,
//     signatureValue      BIT STRING }                           -- RFC 5280 §4.1
//
// TBSCertificate ::= SEQUENCE {
//     version          [0] EXPLICIT INTEGER DEFAULT v1,          -- 2: v3; absent: v1, for roots only
//     serialNumber     INTEGER,
//     signature        AlgorithmIdentifier,                      -- the same as signatureAlgorithm
//     issuer           Name,
//     validity         Validity,
//     subject          Name,
//     subjectPublicKeyInfo  SubjectPublicKeyInfo,
//     issuerUniqueID   [1] IMPLICIT BIT STRING OPTIONAL,         -- not used by Apple: refused
//     subjectUniqueID  [2] IMPLICIT BIT STRING OPTIONAL,         -- not used by Apple: refused
//     extensions       [3] EXPLICIT Extensions OPTIONAL }        -- RFC 5280 §4.1.2

/// A parsed X.509 certificate, not yet trusted. Offsets refer to the bytes it was read from.
struct Certificate: Sendable {
    let encoding: Range<Int>
    let tbsCertificate: Range<Int>
    /// True if the certificate has no extensions, as roots made for tests have none.
    let isVersion1: Bool
    /// The contents of the INTEGER.
    let serialNumber: Range<Int>
    let issuer: Range<Int>
    let subject: Range<Int>
    let validity: Validity
    let publicKey: SubjectPublicKeyInfo
    let extensions: CertificateExtensions
    /// Nil if the algorithm is not accepted.
    let signatureAlgorithm: SignatureAlgorithm?
    let signature: Range<Int>

    /// Reports every encoding fault as `certificate_malformed`: the client cannot act on the details.
    init(_ bytes: Span<UInt8>, in range: Range<Int>) throws(ReceiptError) {
        do throws(ReceiptError) {
            self = try Certificate(reading: bytes, in: range)
        } catch  where error.rule.rawValue.hasPrefix("der_") {
            throw ReceiptError(.certificateMalformed, at: error.location)
        }
    }

    private init(reading bytes: Span<UInt8>, in range: Range<Int>) throws(ReceiptError) {
        encoding = range
        var outer = DERReader(bytes, in: range)
        var fields = try outer.enter(.sequence)
        try outer.finish()
        let tbs = try fields.next(.sequence)
        tbsCertificate = tbs.encoding
        let algorithm = try fields.next(.sequence)
        signatureAlgorithm = SignatureAlgorithm(bytes.extracting(try fields.algorithm(identifiedBy: algorithm)))
        signature = try fields.bitString()
        try fields.finish()

        var body = fields.reader(of: tbs)
        isVersion1 = try Self.isVersion1(&body)
        serialNumber = try body.next(.integer).contents
        // RFC 5280 §4.1.1.2: both hold the same AlgorithmIdentifier; only the inner identifier is signed.
        guard bytes.equals(try body.next(.sequence).encoding, algorithm.encoding) else {
            throw ReceiptError(.certificateMalformed)
        }
        issuer = try body.next(.sequence).encoding
        validity = try Validity(&body)
        subject = try body.next(.sequence).encoding
        publicKey = try SubjectPublicKeyInfo(&body)
        extensions = try CertificateExtensions(&body)
        try body.finish()
        // RFC 5280 §4.1.2.9: only version 3 has extensions.
        guard !isVersion1 || extensions.isEmpty else { throw ReceiptError(.certificateMalformed) }
    }

    private static func isVersion1(_ body: inout DERReader) throws(ReceiptError) -> Bool {
        guard body.nextTag == .context(0) else { return true }
        var version = try body.enter(.context(0))
        guard try version.integer() == 2 else { throw ReceiptError(.certificateMalformed) }
        try version.finish()
        return false
    }

    /// Returns true if the certificate names itself as its issuer, as roots do.
    func isSelfIssued(in bytes: Span<UInt8>) -> Bool { bytes.equals(issuer, subject) }
}

extension DERReader {
    /// Reads a BIT STRING of whole bytes and returns the range of those bytes (X.690 §8.6).
    mutating func bitString() throws(ReceiptError) -> Range<Int> {
        let contents = try next(.bitString).contents
        guard let unusedBits = contents.first, bytes[unusedBits] == 0 else {
            throw ReceiptError(.derUnexpectedTag, at: .offset(contents.lowerBound))
        }
        return contents.dropFirst()
    }
}
