// SPDX-License-Identifier: Apache-2.0

/// The raw values are OpenSSL's names.
enum DigestAlgorithm: String, Sendable {
    case sha1 = "SHA1"
    case sha256 = "SHA256"
    case sha384 = "SHA384"

    /// Maps the digest of a receipt's signer. Only signatures on certificates have SHA-384.
    init?(_ identifier: Span<UInt8>) {
        if identifier.equals(ObjectIdentifier.sha256) {
            self = .sha256
        } else if identifier.equals(ObjectIdentifier.sha1) {
            self = .sha1
        } else {
            return nil
        }
    }
}

/// A signature's key type, digest and encoding.
package enum SignatureAlgorithm: CaseIterable, Hashable, Sendable {
    /// RSASSA-PKCS1-v1_5 (RFC 8017 §8.2).
    case sha1WithRSA
    case sha256WithRSA
    /// ECDSA, the signature in DER (RFC 5758 §3.2).
    case ecdsaWithSHA256
    case ecdsaWithSHA384
    /// ECDSA on P-256 over SHA-256, the signature r ‖ s of 64 bytes (RFC 7518 §3.4).
    case es256

    /// Maps the algorithm of a certificate or a signer.
    init?(_ identifier: Span<UInt8>) {
        if identifier.equals(ObjectIdentifier.sha256WithRSAEncryption) {
            self = .sha256WithRSA
        } else if identifier.equals(ObjectIdentifier.sha1WithRSAEncryption) {
            self = .sha1WithRSA
        } else if identifier.equals(ObjectIdentifier.ecdsaWithSHA384) {
            self = .ecdsaWithSHA384
        } else if identifier.equals(ObjectIdentifier.ecdsaWithSHA256) {
            self = .ecdsaWithSHA256
        } else {
            return nil
        }
    }

    var digest: DigestAlgorithm {
        switch self {
        case .sha1WithRSA: .sha1
        case .sha256WithRSA, .ecdsaWithSHA256, .es256: .sha256
        case .ecdsaWithSHA384: .sha384
        }
    }

    var isRSA: Bool {
        switch self {
        case .sha1WithRSA, .sha256WithRSA: true
        case .ecdsaWithSHA256, .ecdsaWithSHA384, .es256: false
        }
    }
}

// AlgorithmIdentifier ::= SEQUENCE {
//     algorithm   OBJECT IDENTIFIER,
//     parameters  ANY DEFINED BY algorithm OPTIONAL }            -- RFC 5280 §4.1.1.2
extension DERReader {
    /// Reads an AlgorithmIdentifier and returns the range of its OBJECT IDENTIFIER. Parameters are NULL or absent.
    mutating func algorithmIdentifier() throws(ReceiptError) -> Range<Int> {
        let element = try next(.sequence)
        return try algorithm(identifiedBy: element)
    }

    /// Reads the contents of an AlgorithmIdentifier and returns the range of its OBJECT IDENTIFIER.
    func algorithm(identifiedBy element: DERElement) throws(ReceiptError) -> Range<Int> {
        var fields = reader(of: element)
        let identifier = try fields.objectIdentifier()
        if let null = try fields.nextIfPresent(.null), !null.contents.isEmpty {
            throw ReceiptError(.derTrailingBytes, at: .offset(null.start))
        }
        try fields.finish()
        return identifier
    }
}
