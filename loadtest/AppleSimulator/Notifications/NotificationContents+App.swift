// SPDX-License-Identifier: Apache-2.0

internal import JSON
internal import ReceiptForge
internal import Receipts

extension NotificationContents {
    /// The claims of a notification about an app, without claims about a customer.
    init(_ kind: NotificationKind, of app: AppInStore, uuid: String, signedAt date: Timestamp) {
        self.init()
        (notificationType, subtype, notificationUUID) = (kind.type, kind.subtype, uuid)
        signedDate = date
        data?.appAppleID = app.appAppleID
        data?.bundleID = app.bundleID
        data?.bundleVersion = nil
        data?.environment = app.environment
        data?.status = nil
        guard kind.isAboutApp else { return }
        data = nil
        additionalMembers = kind == .extensionSummary ? app.extensionSummary : app.externalPurchaseToken(at: date)
    }

    /// Replaces the data by an app transaction.
    mutating func setAppTransaction(_ jws: String, of customer: Customer) {
        data = nil
        additionalMembers = Self.members { json in
            json.object("appData") { json in
                json.member("appAppleId", customer.appAppleID)
                json.member("bundleId", customer.app.bundleID)
                json.member("environment", customer.app.environment)
                json.member("signedAppTransactionInfo", jws)
            }
        }
    }

    /// Returns members without the braces around them.
    fileprivate static func members(_ write: (inout JSONWriter) -> Void) -> String {
        String(decoding: JSONWriter.object(write).dropFirst().dropLast(), as: UTF8.self)
    }
}

extension AppInStore {
    /// The app's number in the App Store that follows from its bundle ID; nil in the sandbox.
    var appAppleID: Int64? { endpoint == .production ? CustomerIDs.appAppleID(of: bundleID) : nil }

    /// `summary`: the result of an extension of all subscriptions.
    fileprivate var extensionSummary: String {
        NotificationContents.members { json in
            json.object("summary") { json in
                json.member("requestIdentifier", "7b2c9a34-6f10-4c55-9a0e-3d1f6f0d2c11")
                json.member("environment", environment)
                json.app(self)
                json.member("productId", bundleID + ".premium.monthly")
                json.strings("storefrontCountryCodes", ["DEU"])
                json.member("succeededCount", 5)
                json.member("failedCount", 2)
            }
        }
    }

    /// `externalPurchaseToken`. The environment is in its ID alone.
    fileprivate func externalPurchaseToken(at date: Timestamp) -> String {
        NotificationContents.members { json in
            json.object("externalPurchaseToken") { json in
                let id = "4f0e2a6b-0d8e-4a39-b5d8-2f3f3b0c7d10"
                json.member("externalPurchaseId", endpoint == .sandbox ? "SANDBOX_" + id : id)
                json.member("tokenCreationDate", date.millisecondsSince1970)
                json.app(self)
            }
        }
    }
}

extension JSONWriter {
    fileprivate mutating func app(_ app: AppInStore) {
        member("appAppleId", app.appAppleID)
        member("bundleId", app.bundleID)
    }
}

extension ServerAPI {
    /// Returns a notification about a transaction, with the transaction, its renewal and its status as they are now.
    func notification(
        _ kind: NotificationKind, aboutTransaction id: String, of view: CustomerView, uuid: String,
        signedAt date: Timestamp, _ context: CallContext
    ) -> NotificationContents {
        var contents = NotificationContents(kind, of: view.customer.app, uuid: uuid, signedAt: date)
        contents.data?.appAppleID = view.customer.appAppleID
        contents.data?.bundleVersion = view.customer.contents.applicationVersion
        if kind.type == "CONSUMPTION_REQUEST" {
            contents.data?.additionalMembers = #""consumptionRequestReason":"UNINTENDED_PURCHASE""#
        }
        if kind.type == "RESCIND_CONSENT" {
            let claims = AppTransactionContents(view.customer)
            let jws = signer.sign(claims, at: date, context)
            contents.setAppTransaction(jws, of: view.customer)
            return contents
        }
        guard let item = view.transaction(id) else { return contents }
        contents.data?.signedTransactionInfo = signer.sign(item.claims, at: date, context)
        guard let subscription = view.account.subscription(item.originalID) else { return contents }
        let renewal = RenewalInfoContents(subscription, of: view.customer)
        contents.data?.signedRenewalInfo = signer.sign(renewal, at: date, context)
        contents.data?.status = Int64(subscription.status(at: UTCDate(context.now)).rawValue)
        return contents
    }
}
