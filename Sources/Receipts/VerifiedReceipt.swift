// SPDX-License-Identifier: Apache-2.0

/// A receipt signed by Apple or under an operator's trust anchor. Only a `ReceiptVerifier` creates one.
///
/// It proves that the App Store issued this receipt for this app with these purchases, at its creation date. It does
/// not prove who sent it: a receipt is a bearer token. Names follow Apple's `verifyReceipt` response.
public struct VerifiedReceipt: Sendable, Confidential {
    /// The environment the receipt was issued in.
    public let environment: Environment
    let der: [UInt8]
    let ber: [UInt8]?
    let content: Range<Int>
    let fields: ReceiptFields

    /// The signed bytes, which no re-encoding of this receipt changes.
    public var signedContent: Span<UInt8> {
        @_lifetime(borrow self)
        get { der.span.extracting(content) }
    }

    /// The receipt as given to the verifier.
    public var bytes: [UInt8] { ber ?? der }

    /// The size of the receipt in memory, in bytes.
    public var byteCount: Int {
        der.count + (ber?.count ?? 0) + fields.purchases.count * MemoryLayout<PurchaseFields>.stride
    }

    /// `Production`, `ProductionVPP`, `ProductionSandbox`, `ProductionVPPSandbox`, `Sandbox` or `Xcode`.
    public var receiptType: String { fields.receiptType.text(in: der) ?? "" }
    /// The app the receipt was issued for.
    public var bundleID: String { fields.bundleID.text(in: der) ?? "" }
    /// The version of the app (`CFBundleVersion` on iOS, `CFBundleShortVersionString` on macOS).
    public var applicationVersion: String? { fields.applicationVersion.text(in: der) }
    /// The version first bought.
    public var originalApplicationVersion: String? { fields.originalApplicationVersion.text(in: der) }
    /// The age rating of the app, such as `4+`.
    public var ageRating: String? { fields.ageRating.text(in: der) }
    /// The time the App Store created the receipt.
    public var creationDate: Timestamp { fields.creationDate }
    /// The time the receipt on the device was first created.
    public var originalReceiptCreationDate: Timestamp? { fields.originalReceiptCreationDate }
    /// The time the app was first bought.
    public var originalPurchaseDate: Timestamp? { fields.originalPurchaseDate }
    /// The expiry time of an app bought in volume.
    public var expirationDate: Timestamp? { fields.expirationDate }
    /// The time the app was pre-ordered.
    public var preorderDate: Timestamp? { fields.preorderDate }
    /// The app's number in the App Store, also called `app_item_id`; 0 in the sandbox.
    public var adamID: Int64? { fields.adamID }
    /// The developer's number.
    public var developerID: Int64? { fields.developerID }
    /// The number of the app's download, up to 60 bits.
    public var downloadID: Int64? { fields.downloadID }
    /// The number of the app's version; 0 in the sandbox.
    public var versionExternalIdentifier: Int64? { fields.versionExternalIdentifier }

    /// The in-app purchases in the receipt's order, which has no meaning.
    public var purchases: InAppPurchases { InAppPurchases(receipt: der, fields: fields.purchases) }

    /// The undecoded attributes without a property here.
    public var otherAttributes: [ReceiptAttribute] {
        ReceiptAttribute.all(in: content, of: der, except: AttributeType.ofReceipt)
    }

    /// Contains no byte of the receipt.
    public var description: String { "VerifiedReceipt(\(environment), \(fields.purchases.count) purchases)" }
}

// MARK: - Expectations

extension VerifiedReceipt {
    /// Returns true if the receipt was issued for this app.
    public func isIssued(forBundleID bundleID: String) -> Bool {
        der[fields.bundleID.range].elementsEqual(bundleID.utf8)
    }

    /// Throws unless the receipt was issued for this app.
    public func check(bundleID: String) throws(ReceiptError) {
        guard isIssued(forBundleID: bundleID) else { throw ReceiptError(.bundleIDMismatch) }
    }

    /// Throws unless the receipt was issued for this version of the app.
    public func check(applicationVersion: String) throws(ReceiptError) {
        guard der[fields.applicationVersion.range].elementsEqual(applicationVersion.utf8) else {
            throw ReceiptError(.appVersionMismatch)
        }
    }

    /// Throws unless the receipt was issued for this device. Attribute 5 is the SHA-1 of the device's identifier, the
    /// opaque attribute 4 and the bundle ID's encoded value (Apple, "Validating receipts on the device").
    ///
    /// - Parameter deviceIdentifier: the 16 bytes of `identifierForVendor`, or a Mac's 6-byte GUID.
    public func check(deviceIdentifier: [UInt8]) throws(ReceiptError) {
        let hashed = deviceIdentifier + der[fields.opaqueValue.range] + der[fields.encodedBundleID.range]
        let matches = DigestContext(.sha1).withDigest(of: hashed.span) { digest in
            der.span.extracting(fields.deviceHash.range).equals(digest)
        }
        guard matches else { throw ReceiptError(.deviceHashMismatch) }
    }
}
