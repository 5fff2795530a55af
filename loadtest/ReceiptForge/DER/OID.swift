// SPDX-License-Identifier: Apache-2.0

/// An OBJECT IDENTIFIER: its arcs (X.660), encoded by X.690 §8.19.
struct OID: Sendable, Hashable, ExpressibleByArrayLiteral {
    let arcs: [UInt64]

    init(arrayLiteral arcs: UInt64...) {
        self.arcs = arcs
    }

    var element: DERNode {
        // X.690 §8.19.4: the first two arcs share one subidentifier, 40 · first + second.
        let subidentifiers = [arcs[0] * 40 + arcs[1]] + arcs.dropFirst(2)
        return DERNode(.objectIdentifier, subidentifiers.flatMap(Self.base128))
    }

    /// Encodes seven bits per byte, most significant first; bit 8 marks all bytes but the last.
    private static func base128(_ value: UInt64) -> [UInt8] {
        var bytes = [UInt8(value & 0x7F)]
        var rest = value >> 7
        while rest > 0 {
            bytes.insert(UInt8(rest & 0x7F) | 0x80, at: 0)
            rest >>= 7
        }
        return bytes
    }
}

extension OID {
    // PKCS #7 and CMS content types and attributes (RFC 5652 §4, §5.1, §11).
    static let data: OID = [1, 2, 840, 113549, 1, 7, 1]
    static let signedData: OID = [1, 2, 840, 113549, 1, 7, 2]
    static let envelopedData: OID = [1, 2, 840, 113549, 1, 7, 3]
    static let contentTypeAttribute: OID = [1, 2, 840, 113549, 1, 9, 3]
    static let messageDigestAttribute: OID = [1, 2, 840, 113549, 1, 9, 4]
    static let challengePassword: OID = [1, 2, 840, 113549, 1, 9, 7]

    // Algorithms (RFC 8017 appendix A, RFC 3370, RFC 5754, RFC 5480).
    static let rsaEncryption: OID = [1, 2, 840, 113549, 1, 1, 1]
    static let md5WithRSAEncryption: OID = [1, 2, 840, 113549, 1, 1, 4]
    static let sha1WithRSAEncryption: OID = [1, 2, 840, 113549, 1, 1, 5]
    static let rsassaPSS: OID = [1, 2, 840, 113549, 1, 1, 10]
    static let sha256WithRSAEncryption: OID = [1, 2, 840, 113549, 1, 1, 11]
    static let sha384WithRSAEncryption: OID = [1, 2, 840, 113549, 1, 1, 12]
    static let md5: OID = [1, 2, 840, 113549, 2, 5]
    static let sha1: OID = [1, 3, 14, 3, 2, 26]
    static let sha256: OID = [2, 16, 840, 1, 101, 3, 4, 2, 1]
    static let sha384: OID = [2, 16, 840, 1, 101, 3, 4, 2, 2]
    static let ecPublicKey: OID = [1, 2, 840, 10045, 2, 1]
    static let prime256v1: OID = [1, 2, 840, 10045, 3, 1, 7]
    static let secp256k1: OID = [1, 3, 132, 0, 10]
    static let secp384r1: OID = [1, 3, 132, 0, 34]
    static let ecdsaWithSHA256: OID = [1, 2, 840, 10045, 4, 3, 2]
    static let ecdsaWithSHA384: OID = [1, 2, 840, 10045, 4, 3, 3]

    // Names (X.520, PKCS #9).
    static let commonName: OID = [2, 5, 4, 3]
    static let countryName: OID = [2, 5, 4, 6]
    static let organizationName: OID = [2, 5, 4, 10]
    static let organizationalUnitName: OID = [2, 5, 4, 11]
    static let emailAddress: OID = [1, 2, 840, 113549, 1, 9, 1]

    // Certificate extensions (RFC 5280 §4.2).
    static let subjectKeyIdentifier: OID = [2, 5, 29, 14]
    static let keyUsage: OID = [2, 5, 29, 15]
    static let subjectAlternativeName: OID = [2, 5, 29, 17]
    static let basicConstraints: OID = [2, 5, 29, 19]
    static let cRLDistributionPoints: OID = [2, 5, 29, 31]
    static let certificatePolicies: OID = [2, 5, 29, 32]
    static let authorityKeyIdentifier: OID = [2, 5, 29, 35]
    static let extendedKeyUsage: OID = [2, 5, 29, 37]
    static let authorityInfoAccess: OID = [1, 3, 6, 1, 5, 5, 7, 1, 1]
    static let cpsQualifier: OID = [1, 3, 6, 1, 5, 5, 7, 2, 1]
    static let userNoticeQualifier: OID = [1, 3, 6, 1, 5, 5, 7, 2, 2]
    static let serverAuthentication: OID = [1, 3, 6, 1, 5, 5, 7, 3, 1]
    static let clientAuthentication: OID = [1, 3, 6, 1, 5, 5, 7, 3, 2]
    static let codeSigning: OID = [1, 3, 6, 1, 5, 5, 7, 3, 3]
    static let ocsp: OID = [1, 3, 6, 1, 5, 5, 7, 48, 1]
    static let caIssuers: OID = [1, 3, 6, 1, 5, 5, 7, 48, 2]

    // Apple's markers: without both markers any developer certificate could sign a receipt.
    static let receiptSigningMarker: OID = [1, 2, 840, 113635, 100, 6, 11, 1]
    static let worldwideDeveloperRelationsMarker: OID = [1, 2, 840, 113635, 100, 6, 2, 1]
    // The same two of transaction receipts of version 2.
    static let storeReceiptSigningMarker: OID = [1, 2, 840, 113635, 100, 6, 5, 1]
    static let storeIntermediateMarker: OID = [1, 2, 840, 113635, 100, 6, 2, 2]

    /// `2.999` is the arc for examples (ITU-T X.660, A.5) and has no meaning.
    static let testPolicy: OID = [2, 999, 100, 5, 6, 1]
    static let testExtension: OID = [2, 999, 1]
}

/// `AlgorithmIdentifier ::= SEQUENCE { algorithm OBJECT IDENTIFIER, parameters ANY DEFINED BY algorithm OPTIONAL }`
/// (RFC 5280 §4.1.1.2)
struct AlgorithmIdentifier: Sendable, Hashable {
    var algorithm: OID
    /// NULL in every genuine receipt; RFC 5754 §2 also allows digests to omit it.
    var parameters: DERNode?

    init(_ algorithm: OID, parameters: DERNode? = .null) {
        self.algorithm = algorithm
        self.parameters = parameters
    }

    var element: DERNode {
        .sequence(of: [algorithm.element] + (parameters.map { [$0] } ?? []))
    }
}
