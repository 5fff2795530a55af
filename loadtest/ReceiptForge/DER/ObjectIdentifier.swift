// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// An OBJECT IDENTIFIER: its arcs (X.660), encoded by X.690 §8.19.
struct ObjectIdentifier: Sendable, Hashable, ExpressibleByArrayLiteral {
    let arcs: [UInt64]

    init(arrayLiteral arcs: UInt64...) {
        self.arcs = arcs
    }

    var element: DERElement {
        // X.690 §8.19.4: the first two arcs share one subidentifier, 40 · first + second.
        let subidentifiers = [arcs[0] * 40 + arcs[1]] + arcs.dropFirst(2)
        return DERElement(.objectIdentifier, subidentifiers.flatMap(Self.base128))
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

extension ObjectIdentifier {
    // PKCS #7 and CMS content types and attributes (RFC 5652 §4, §5.1, §11).
    static let data: ObjectIdentifier = [1, 2, 840, 113549, 1, 7, 1]
    static let signedData: ObjectIdentifier = [1, 2, 840, 113549, 1, 7, 2]
    static let envelopedData: ObjectIdentifier = [1, 2, 840, 113549, 1, 7, 3]
    static let contentTypeAttribute: ObjectIdentifier = [1, 2, 840, 113549, 1, 9, 3]
    static let messageDigestAttribute: ObjectIdentifier = [1, 2, 840, 113549, 1, 9, 4]
    static let challengePassword: ObjectIdentifier = [1, 2, 840, 113549, 1, 9, 7]

    // Algorithms (RFC 8017 appendix A, RFC 3370, RFC 5754, RFC 5480).
    static let rsaEncryption: ObjectIdentifier = [1, 2, 840, 113549, 1, 1, 1]
    static let md5WithRSAEncryption: ObjectIdentifier = [1, 2, 840, 113549, 1, 1, 4]
    static let sha1WithRSAEncryption: ObjectIdentifier = [1, 2, 840, 113549, 1, 1, 5]
    static let rsassaPSS: ObjectIdentifier = [1, 2, 840, 113549, 1, 1, 10]
    static let sha256WithRSAEncryption: ObjectIdentifier = [1, 2, 840, 113549, 1, 1, 11]
    static let sha384WithRSAEncryption: ObjectIdentifier = [1, 2, 840, 113549, 1, 1, 12]
    static let md5: ObjectIdentifier = [1, 2, 840, 113549, 2, 5]
    static let sha1: ObjectIdentifier = [1, 3, 14, 3, 2, 26]
    static let sha256: ObjectIdentifier = [2, 16, 840, 1, 101, 3, 4, 2, 1]
    static let sha384: ObjectIdentifier = [2, 16, 840, 1, 101, 3, 4, 2, 2]
    static let ecPublicKey: ObjectIdentifier = [1, 2, 840, 10045, 2, 1]
    static let prime256v1: ObjectIdentifier = [1, 2, 840, 10045, 3, 1, 7]
    static let secp256k1: ObjectIdentifier = [1, 3, 132, 0, 10]
    static let secp384r1: ObjectIdentifier = [1, 3, 132, 0, 34]
    static let ecdsaWithSHA256: ObjectIdentifier = [1, 2, 840, 10045, 4, 3, 2]
    static let ecdsaWithSHA384: ObjectIdentifier = [1, 2, 840, 10045, 4, 3, 3]

    // Names (X.520, PKCS #9).
    static let commonName: ObjectIdentifier = [2, 5, 4, 3]
    static let countryName: ObjectIdentifier = [2, 5, 4, 6]
    static let organizationName: ObjectIdentifier = [2, 5, 4, 10]
    static let organizationalUnitName: ObjectIdentifier = [2, 5, 4, 11]
    static let emailAddress: ObjectIdentifier = [1, 2, 840, 113549, 1, 9, 1]

    // Certificate extensions (RFC 5280 §4.2).
    static let subjectKeyIdentifier: ObjectIdentifier = [2, 5, 29, 14]
    static let keyUsage: ObjectIdentifier = [2, 5, 29, 15]
    static let subjectAlternativeName: ObjectIdentifier = [2, 5, 29, 17]
    static let basicConstraints: ObjectIdentifier = [2, 5, 29, 19]
    static let cRLDistributionPoints: ObjectIdentifier = [2, 5, 29, 31]
    static let certificatePolicies: ObjectIdentifier = [2, 5, 29, 32]
    static let authorityKeyIdentifier: ObjectIdentifier = [2, 5, 29, 35]
    static let extendedKeyUsage: ObjectIdentifier = [2, 5, 29, 37]
    static let authorityInfoAccess: ObjectIdentifier = [1, 3, 6, 1, 5, 5, 7, 1, 1]
    static let cpsQualifier: ObjectIdentifier = [1, 3, 6, 1, 5, 5, 7, 2, 1]
    static let userNoticeQualifier: ObjectIdentifier = [1, 3, 6, 1, 5, 5, 7, 2, 2]
    static let serverAuthentication: ObjectIdentifier = [1, 3, 6, 1, 5, 5, 7, 3, 1]
    static let clientAuthentication: ObjectIdentifier = [1, 3, 6, 1, 5, 5, 7, 3, 2]
    static let codeSigning: ObjectIdentifier = [1, 3, 6, 1, 5, 5, 7, 3, 3]
    static let ocsp: ObjectIdentifier = [1, 3, 6, 1, 5, 5, 7, 48, 1]
    static let caIssuers: ObjectIdentifier = [1, 3, 6, 1, 5, 5, 7, 48, 2]

    // Apple's markers: without both of them any developer certificate could sign a receipt.
    static let receiptSigningMarker: ObjectIdentifier = [1, 2, 840, 113635, 100, 6, 11, 1]
    static let worldwideDeveloperRelationsMarker: ObjectIdentifier = [1, 2, 840, 113635, 100, 6, 2, 1]
    // The same two of transaction receipts of version 2.
    static let storeReceiptSigningMarker: ObjectIdentifier = [1, 2, 840, 113635, 100, 6, 5, 1]
    static let storeIntermediateMarker: ObjectIdentifier = [1, 2, 840, 113635, 100, 6, 2, 2]

    /// `2.999` is the arc for examples (ITU-T X.660, A.5) and has no meaning.
    static let testPolicy: ObjectIdentifier = [2, 999, 100, 5, 6, 1]
    static let testExtension: ObjectIdentifier = [2, 999, 1]
}

/// `AlgorithmIdentifier ::= SEQUENCE { algorithm OBJECT IDENTIFIER, parameters ANY DEFINED BY algorithm OPTIONAL }`
/// (RFC 5280 §4.1.1.2)
struct AlgorithmIdentifier: Sendable, Hashable {
    var algorithm: ObjectIdentifier
    /// NULL in every genuine receipt; RFC 5754 §2 also allows digests to omit it.
    var parameters: DERElement?

    init(_ algorithm: ObjectIdentifier, parameters: DERElement? = .null) {
        self.algorithm = algorithm
        self.parameters = parameters
    }

    var element: DERElement {
        .sequence(of: [algorithm.element] + (parameters.map { [$0] } ?? []))
    }
}
