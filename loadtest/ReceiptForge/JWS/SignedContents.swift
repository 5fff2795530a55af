// SPDX-License-Identifier: Apache-2.0

package import JSON
package import Receipts

/// The claims of a signed payload before signing.
///
/// Nil omits a claim. All claims are texts or numbers as Apple writes them, so that values Apple does not document are
/// possible.
package protocol SignedContents: Sendable {
    /// The time of signing, at which the certificates must be valid.
    var signedDate: Timestamp? { get set }
    /// More members for the end of the object, as JSON text: `"name":value`, separated by commas. They may repeat a claim,
    /// or give one another type.
    var additionalMembers: String { get set }

    /// Writes the claims in Apple's order, without the additional members.
    func writeClaims(_ json: inout JSONWriter)
}

extension SignedContents {
    /// The payload as JSON, without white space.
    package var payload: [UInt8] {
        JSONWriter.object(reservingCapacity: 1024) { json in
            writeClaims(&json)
            if !additionalMembers.isEmpty { json.members(Array(additionalMembers.utf8)[...]) }
        }
    }

    /// Returns the same claims with more members at the end.
    package func adding(_ members: String) -> Self {
        var contents = self
        contents.additionalMembers += contents.additionalMembers.isEmpty ? members : "," + members
        return contents
    }

    /// Replaces a claim by a member at the end.
    mutating func replace<Value>(_ claim: WritableKeyPath<Self, Value?>, by member: String) {
        self[keyPath: claim] = nil
        self = adding(member)
    }
}

extension JSONWriter {
    /// Writes a date as milliseconds since 1970, or nothing for nil.
    mutating func member(_ name: StaticString, _ date: Timestamp?) {
        member(name, date?.millisecondsSince1970)
    }

    /// Writes a member whose value is JSON text, or nothing for nil.
    mutating func member(_ name: StaticString, json value: String?) {
        guard let value else { return }
        key(name)
        literal(value)
    }
}

/// The claims of a signed app transaction, as a device sends it. It has a creation date in place of a signing date.
package struct AppTransactionContents: SignedContents, Hashable {
    /// `Production`, `Sandbox` or `Xcode`: the environment.
    package var receiptType: String? = "Sandbox"
    /// The app's number in the App Store; 0 in the sandbox.
    package var appAppleID: Int64? = 0
    package var bundleID: String? = "com.example.forge"
    package var applicationVersion: String? = "42"
    package var versionExternalIdentifier: Int64? = 0
    /// The time of signing, at which the certificates must be valid.
    package var receiptCreationDate: Timestamp? = TransactionContents.signedByDefault
    /// The time the app was first bought. Apple's sandbox always has 2013-08-01T07:00:00Z.
    package var originalPurchaseDate: Timestamp? = UTCDate(2013, 8, 1, 7).timestamp
    package var originalApplicationVersion: String? = "1.0"
    package var preorderDate: Timestamp?
    package var deviceVerification: String? = "Zm9yZ2VkIGRldmljZSB2ZXJpZmljYXRpb24gb2YgNDggYnl0ZXMgaW4gc3Vt"
    package var deviceVerificationNonce: String? = "5e3b9c2e-6a8d-4f0b-9d55-6f4a3c2b1a00"
    package var appTransactionID: String? = "700000000000000001"
    package var originalPlatform: String? = "iOS"
    package var additionalMembers = ""

    /// The creation date.
    package var signedDate: Timestamp? {
        get { receiptCreationDate }
        set { receiptCreationDate = newValue }
    }

    package init() {}

    package func writeClaims(_ json: inout JSONWriter) {
        json.member("receiptType", receiptType)
        json.member("appAppleId", appAppleID)
        json.member("bundleId", bundleID)
        json.member("applicationVersion", applicationVersion)
        json.member("versionExternalIdentifier", versionExternalIdentifier)
        json.member("receiptCreationDate", receiptCreationDate)
        json.member("originalPurchaseDate", originalPurchaseDate)
        json.member("originalApplicationVersion", originalApplicationVersion)
        json.member("preorderDate", preorderDate)
        json.member("deviceVerification", deviceVerification)
        json.member("deviceVerificationNonce", deviceVerificationNonce)
        json.member("appTransactionId", appTransactionID)
        json.member("originalPlatform", originalPlatform)
    }
}

/// The payload of a server notification, version 2. By default about a renewal, without nested JWS.
package struct NotificationContents: SignedContents, Hashable {
    /// The `data` of a notification about one app.
    package struct AppData: Sendable, Hashable {
        /// The app's number in the App Store.
        package var appAppleID: Int64? = 1_234_567_890
        package var bundleID: String? = "com.example.forge"
        package var bundleVersion: String? = "42"
        package var environment: String? = "Sandbox"
        /// A JWS, as text.
        package var signedTransactionInfo: String?
        /// A JWS, as text.
        package var signedRenewalInfo: String?
        /// The state of the subscription: 1 active, 2 expired, 3 billing retry, 4 grace period, 5 revoked.
        package var status: Int64? = 1
        /// More members for the end of the object, as JSON text.
        package var additionalMembers = ""

        package init() {}
    }

    package var notificationType: String? = "DID_RENEW"
    package var subtype: String?
    /// The notification's ID, which every delivery repeats.
    package var notificationUUID: String? = "0f2b7a52-8c14-4b8e-8a5e-1c9d3e7f6a01"
    /// Nil in notifications that have a `summary` or an `externalPurchaseToken`, which are additional members here.
    package var data: AppData? = AppData()
    package var version: String? = "2.0"
    package var signedDate: Timestamp? = TransactionContents.signedByDefault
    package var additionalMembers = ""

    package init() {}

    package func writeClaims(_ json: inout JSONWriter) {
        json.member("notificationType", notificationType)
        json.member("subtype", subtype)
        json.member("notificationUUID", notificationUUID)
        if let data { data.write(&json) }
        json.member("version", version)
        json.member("signedDate", signedDate)
    }
}

extension NotificationContents.AppData {
    fileprivate func write(_ json: inout JSONWriter) {
        json.object("data") { json in
            json.member("appAppleId", appAppleID)
            json.member("bundleId", bundleID)
            json.member("bundleVersion", bundleVersion)
            json.member("environment", environment)
            json.member("signedTransactionInfo", signedTransactionInfo)
            json.member("signedRenewalInfo", signedRenewalInfo)
            json.member("status", status)
            if !additionalMembers.isEmpty { json.members(Array(additionalMembers.utf8)[...]) }
        }
    }
}
