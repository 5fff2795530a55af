// SPDX-License-Identifier: Apache-2.0

internal import Receipts

/// Notifications whose nested items do not belong together, or are not genuine.
extension JWSForge {
    static let notifications: [JWSFault] = [
        .rejected("nested-transaction-of-another-app", .itemsOfDifferentApps)
            .payload { forge in forge.notification { $0.bundleID = "com.example.victim" } }
            .because("A genuine notification of one app around a genuine transaction of another."),
        .rejected("nested-transaction-of-another-environment", .itemsOfDifferentEnvironments)
            .payload { forge in forge.notification(about: { $0.environment = "Production" }) }
            .because("A notification that says Production around a transaction in the sandbox."),
        .rejected("nested-renewal-info-of-another-subscription", .renewalInfoUnrelated)
            .payload { forge in forge.notification(renewal: { $0.originalTransactionID = "2000000900000077" }) }
            .because("A renewal info names no app: only its original transaction binds it to one."),
        .rejected("nested-transaction-forged", .anchorUntrusted)
            .payload { forge in forge.notification(nesting: forge.stranger.jws(forge.contents)) }
            .because("A genuine notification around a transaction that another authority signed."),
        .rejected("nested-transaction-edited", .signatureInvalid)
            .payload { forge in forge.notification(nesting: forge.signed { $0[40] ^= 1 }) }
            .because("A genuine notification around a transaction with a broken signature."),
        .rejected("nested-transaction-is-no-jws", .jwsNotCompact)
            .payload { forge in forge.notification(nesting: Array("transaction".utf8)) }
            .because("A genuine notification around a text that is no JWS."),
        .rejected("nested-transaction-of-other-kind", .payloadOfOtherKind)
            .payload { forge in forge.notification(nesting: forge.pki.jws(RenewalInfoContents())) }
            .because("A genuine renewal info in the place of the transaction."),
        .rejected("notification-bundle-id-twice", .claimDuplicate)
            .payload { forge in
                forge.notification(about: { $0.additionalMembers = #""bundleId":"com.example.victim""# })
            }
            .because("The app of the notification, and another one."),
        .rejected("notification-without-type", .claimMissing)
            .claims(of: NotificationContents()) { $0.notificationType = nil }
            .because("Nothing is known about the event."),
        .rejected("notification-without-signed-date", .claimMissing)
            .claims(of: NotificationContents()) { $0.signedDate = nil }
            .because("Without it there is no moment to judge the certificates at."),
        .rejected("notification-in-future", .signedDateInFuture)
            .claims(of: NotificationContents()) { $0.signedDate = UTCDate(2035, 12, 31).timestamp }
            .because("Signed in 2035."),
    ]
}

extension JWSForge {
    /// Returns a notification about the sample transaction and its renewal, with these edits.
    package func notification(
        _ edit: (inout TransactionContents) -> Void = { _ in },
        renewal editRenewal: (inout RenewalInfoContents) -> Void = { _ in },
        about editData: (inout NotificationContents.AppData) -> Void = { _ in }
    ) -> [UInt8] {
        notification(
            nesting: pki.jws(edited(contents, by: edit)),
            renewal: pki.jws(edited(RenewalInfoContents(), by: editRenewal)), about: editData)
    }

    /// Returns a notification around these JWS.
    package func notification(
        nesting transaction: [UInt8], renewal: [UInt8]? = nil,
        about editData: (inout NotificationContents.AppData) -> Void = { _ in }
    ) -> [UInt8] {
        var notification = NotificationContents()
        var data = NotificationContents.AppData()
        data.signedTransactionInfo = String(decoding: transaction, as: UTF8.self)
        data.signedRenewalInfo = renewal.map { String(decoding: $0, as: UTF8.self) }
        editData(&data)
        notification.data = data
        return notification.payload
    }
}

/// App transactions, whose creation date takes the place of the signing date.
extension JWSForge {
    static let appTransactions: [JWSFault] = [
        .rejected("app-transaction-without-date", .claimMissing)
            .claims(of: AppTransactionContents()) { $0.receiptCreationDate = nil }
            .because("Without it there is no moment to judge the certificates at."),
        .rejected("app-transaction-date-is-text", .claimMalformed)
            .claims(of: AppTransactionContents()) {
                $0.replace(\.receiptCreationDate, by: #""receiptCreationDate":"1760000000123""#)
            }
            .because("The right number as text."),
        .rejected("app-transaction-in-future", .signedDateInFuture)
            .claims(of: AppTransactionContents()) { $0.receiptCreationDate = UTCDate(2035, 12, 31).timestamp }
            .because("Created in 2035."),
        .rejected("app-transaction-before-leaf", .certificateNotYetValid)
            .claims(of: AppTransactionContents()) { $0.receiptCreationDate = UTCDate(2013, 1, 1).timestamp }
            .because("Created in 2013, before any of the certificates."),
        .rejected("app-transaction-leaf-expired", .certificateExpired)
            .text { forge in
                let certificates = forge.chain { $0.leaf.validity = .init(UTCDate(2022, 1, 1), UTCDate(2024, 1, 1)) }
                let header = JOSEHeader(certificates: certificates)
                return forge.signed(ForgedJWS(header: header.json, payload: AppTransactionContents().payload)).text
            }
            .because("The leaf had expired when the app transaction was created."),
        .rejected("app-transaction-without-bundle-id", .claimMissing)
            .claims(of: AppTransactionContents()) { $0.bundleID = nil }
            .because("Without a bundle ID it fits every app."),
        .rejected("app-transaction-bundle-id-is-number", .claimMalformed)
            .claims(of: AppTransactionContents()) { $0.replace(\.bundleID, by: #""bundleId":7"#) }
            .because("A number in place of a text."),
        .rejected("app-transaction-type-unknown", .environmentUnknown)
            .claims(of: AppTransactionContents()) { $0.receiptType = "Staging" }
            .because("A receipt type that belongs to no environment."),
        .rejected("app-transaction-xcode", .environmentNotAllowed)
            .claims(of: AppTransactionContents()) { $0.receiptType = "Xcode" }
            .because("Apple's root does not sign for Xcode."),
    ]
}
