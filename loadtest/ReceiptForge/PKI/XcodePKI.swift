// SPDX-License-Identifier: Apache-2.0

internal import Receipts

/// Signs like Xcode for StoreKit testing: one self-signed certificate, BER around the content.
///
/// Every Xcode has the same private key, so such a receipt proves nothing; a gateway accepts it only if its operator
/// trusts that certificate for the environment Xcode.
package struct XcodePKI: Sendable {
    /// The self-signed certificate that signs receipts and is its own root. Valid 2020 to 2040.
    package let certificate: IssuedCertificate
    private let key: RSAPrivateKey

    package init(seed: UInt64) {
        let key = KeyRing(seed: seed).key(for: .xcode)
        self.key = key
        certificate = CertificateTemplate.xcode(key: key).signed(by: key)
    }

    package var rootPEM: String { certificate.pem }

    /// Signs a receipt as Xcode does. The receipt type is `Xcode`, whatever `contents` has.
    package func signLikeXcode(_ contents: ReceiptContents) -> [UInt8] {
        let payload = contents.xcodePayload
        var container = SignedDataTemplate(signing: payload, by: key, certificates: [certificate], digest: .sha256)
        container.signerInfos[0].signatureAlgorithm = AlgorithmIdentifier(.sha256WithRSAEncryption)
        container.encapsulatedContentInfo.eContent = .segmentedOctetString(payload)
        container.outerLengthForm = .indefinite
        return container.encoded
    }
}

extension DERNode {
    /// A constructed `OCTET STRING` of indefinite length and one segment (X.690 §8.7.3): valid BER, never DER.
    static func segmentedOctetString(_ segment: [UInt8]) -> DERNode {
        DERNode(DERNodeTag.octetString.constructed, lengthForm: .indefinite, children: [.octetString(segment)])
    }
}

extension CertificateTemplate {
    /// A self-signed code-signing authority, without markers.
    static func xcode(key: RSAPrivateKey) -> Self {
        CertificateTemplate(
            serialNumber: [1], issuer: TestNames.xcode, subject: TestNames.xcode,
            validity: Validity(UTCDate(2020, 4, 1, 17, 52, 35), UTCDate(2040, 3, 27, 17, 52, 35)),
            subjectPublicKeyInfo: key.subjectPublicKeyInfo,
            extensions: [
                .certificateAuthority(),
                .keyUsage([.digitalSignature, .keyCertSign]),
                .extendedKeyUsage(.codeSigning),
            ])
    }
}

/// Signs transactions like Xcode for StoreKit testing: one self-signed certificate with a P-256 key.
///
/// The key is made anew for each installation of Xcode, and any program can make a key. A gateway accepts the key only
/// if its operator trusts that certificate for the environment Xcode.
package struct XcodeTransactionPKI: Sendable {
    /// The self-signed certificate that signs transactions and is its own root. Valid 2020 to 2040.
    package let certificate: IssuedCertificate
    private let key: ECPrivateKey

    package init(seed: UInt64) {
        key = ECPrivateKey(.p256, seed: seed, purpose: "transaction xcode")
        certificate = CertificateTemplate.xcodeTransactions(key: key).signed(by: key)
    }

    package var rootPEM: String { certificate.pem }

    /// Signs the claims as Xcode does: dates have fractions of a millisecond, and the header more parameters.
    package func jws(_ contents: some SignedContents) -> [UInt8] {
        let text = String(decoding: contents.payload, as: UTF8.self)
        return jws(Array(text.replacing(/Date":-?[0-9]+/) { $0.output + ".4473" }.utf8))
    }

    /// Signs a payload as it stands.
    package func jws(_ payload: [UInt8]) -> [UInt8] {
        ForgedJWS(header: header.json, payload: payload).signed(by: key.signES256).text
    }

    /// Xcode escapes the slashes of base64.
    private var header: JOSEHeader {
        var header = JOSEHeader(certificates: [certificate.der])
        header["x5c"] = header["x5c"]?.replacing("/", with: "\\/")
        header["typ"] = "\"JWT\""
        header["kid"] = "\"Apple_Xcode_Key\""
        return header
    }
}

extension TransactionContents {
    /// A first purchase as Xcode simulates it.
    package static let xcode: TransactionContents = {
        var contents = TransactionContents()
        contents.transactionID = "0"
        contents.originalTransactionID = "0"
        contents.webOrderLineItemID = "0"
        contents.environment = "Xcode"
        contents.transactionReason = "PURCHASE"
        contents.isUpgraded = false
        contents.appTransactionID = nil
        return contents
    }()
}

extension AppTransactionContents {
    /// The app as Xcode installs it: without number, and bought in the year 1.
    package static let xcode: AppTransactionContents = {
        var contents = AppTransactionContents()
        contents.receiptType = "Xcode"
        contents.appAppleID = nil
        contents.versionExternalIdentifier = nil
        contents.originalPurchaseDate = Timestamp(millisecondsSince1970: -62_135_769_600_000)
        contents.appTransactionID = nil
        contents.originalPlatform = nil
        return contents
    }()
}

extension CertificateTemplate {
    /// A self-signed authority, without markers.
    fileprivate static func xcodeTransactions(key: ECPrivateKey) -> Self {
        let address = DERNode(.context(1), Array("StoreKit Test Forge in Xcode".utf8))
        return CertificateTemplate(
            serialNumber: [1], issuer: TestNames.xcodeTransactions, subject: TestNames.xcodeTransactions,
            validity: Validity(UTCDate(2020, 4, 1), UTCDate(2040, 4, 1)),
            subjectPublicKeyInfo: key.subjectPublicKeyInfo,
            extensions: [
                .certificateAuthority(pathLength: 0),
                CertificateExtension(identifier: .subjectAlternativeName, value: .sequence(address)),
                .keyUsage(.digitalSignature),
            ])
    }
}
