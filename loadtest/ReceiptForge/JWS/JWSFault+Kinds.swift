// SPDX-License-Identifier: Apache-2.0

internal import Receipts

/// Notifications whose nested items do not belong together, or are not genuine.
extension JWSForge {
    static let notifications: [JWSFault] = [
        JWSFault(
            "nested-transaction-of-another-app", .rejected(.itemsOfDifferentApps),
            "A genuine notification of one app around a genuine transaction of another.",
            .payload { forge in forge.notification { $0.bundleID = "com.example.victim" } }),
        JWSFault(
            "nested-transaction-of-another-environment", .rejected(.itemsOfDifferentEnvironments),
            "A notification that says Production around a transaction in the sandbox.",
            .payload { forge in forge.notification(about: { $0.environment = "Production" }) }),
        JWSFault(
            "nested-renewal-info-of-another-subscription", .rejected(.renewalInfoUnrelated),
            "A renewal info names no app: only its original transaction binds it to one.",
            .payload { forge in forge.notification(renewal: { $0.originalTransactionID = "2000000900000077" }) }),
        JWSFault(
            "nested-transaction-forged", .rejected(.anchorUntrusted),
            "A genuine notification around a transaction that another authority signed.",
            .payload { forge in forge.notification(nesting: forge.stranger.jws(forge.contents)) }),
        JWSFault(
            "nested-transaction-edited", .rejected(.signatureInvalid),
            "A genuine notification around a transaction with a broken signature.",
            .payload { forge in forge.notification(nesting: forge.signed { $0[40] ^= 1 }) }),
        JWSFault(
            "nested-transaction-is-no-jws", .rejected(.jwsNotCompact),
            "A genuine notification around a text that is no JWS.",
            .payload { forge in forge.notification(nesting: Array("transaction".utf8)) }),
        JWSFault(
            "nested-transaction-of-other-kind", .rejected(.payloadOfOtherKind),
            "A genuine renewal info in the place of the transaction.",
            .payload { forge in forge.notification(nesting: forge.pki.jws(RenewalInfoContents())) }),
        JWSFault(
            "notification-bundle-id-twice", .rejected(.claimDuplicate), "The app of the notification, and another one.",
            .payload { forge in
                forge.notification(about: { $0.additionalMembers = #""bundleId":"com.example.victim""# })
            }),
        JWSFault(
            "notification-without-type", .rejected(.claimMissing), "Nothing is known about the event.",
            .payload { forge in forge.edited(NotificationContents()) { $0.notificationType = nil }.payload }),
        JWSFault(
            "notification-without-signed-date", .rejected(.claimMissing),
            "Without it there is no moment to judge the certificates at.",
            .payload { forge in forge.edited(NotificationContents()) { $0.signedDate = nil }.payload }),
        JWSFault(
            "notification-in-future", .rejected(.signedDateInFuture), "Signed in 2035.",
            .payload { forge in
                forge.edited(NotificationContents()) { $0.signedDate = UTCDate(2035, 12, 31).timestamp }.payload
            }),
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
        appTransaction(
            "app-transaction-without-date", .rejected(.claimMissing),
            "Without it there is no moment to judge the certificates at.", { $0.receiptCreationDate = nil }),
        appTransaction(
            "app-transaction-date-is-text", .rejected(.claimMalformed), "The right number as text.",
            {
                $0.receiptCreationDate = nil
                $0 = $0.adding(#""receiptCreationDate":"1760000000123""#)
            }),
        appTransaction(
            "app-transaction-in-future", .rejected(.signedDateInFuture), "Created in 2035.",
            { $0.receiptCreationDate = UTCDate(2035, 12, 31).timestamp }),
        appTransaction(
            "app-transaction-before-leaf", .rejected(.certificateNotYetValid),
            "Created in 2013, before any of the certificates.",
            { $0.receiptCreationDate = UTCDate(2013, 1, 1).timestamp }),
        JWSFault(
            "app-transaction-leaf-expired", .rejected(.certificateExpired),
            "The leaf had expired when the app transaction was created.",
            .text { forge in
                let certificates = forge.chain { $0.leaf.validity = .init(UTCDate(2022, 1, 1), UTCDate(2024, 1, 1)) }
                let header = JOSEHeader(certificates: certificates)
                return forge.signed(ForgedJWS(header: header.json, payload: AppTransactionContents().payload)).text
            }),
        appTransaction(
            "app-transaction-without-bundle-id", .rejected(.claimMissing), "Without a bundle ID it fits every app.",
            { $0.bundleID = nil }),
        appTransaction(
            "app-transaction-bundle-id-is-number", .rejected(.claimMalformed), "A number in place of a text.",
            {
                $0.bundleID = nil
                $0 = $0.adding(#""bundleId":7"#)
            }),
        appTransaction(
            "app-transaction-type-unknown", .rejected(.environmentUnknown),
            "A receipt type that belongs to no environment.", { $0.receiptType = "Staging" }),
        appTransaction(
            "app-transaction-xcode", .rejected(.environmentNotAllowed), "Apple's root does not sign for Xcode.",
            { $0.receiptType = "Xcode" }),
    ]

    private static func appTransaction(
        _ name: String, _ expected: ExpectedAnswer, _ explanation: String,
        _ edit: @escaping @Sendable (inout AppTransactionContents) -> Void
    ) -> JWSFault {
        JWSFault(
            name, expected, explanation,
            .payload { forge in forge.edited(AppTransactionContents(), by: edit).payload })
    }
}
