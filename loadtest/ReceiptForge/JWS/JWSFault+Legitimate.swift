// SPDX-License-Identifier: Apache-2.0

internal import Receipts

/// Odd but genuine: rejecting any of these rejects paying customers.
extension JWSForge {
    static let legitimate: [JWSFault] = [
        JWSFault(
            "signature-high-s", .genuine,
            "ES256 has two signatures for each text, (r, s) and (r, n - s); Apple makes either.",
            .text { $0.signed { $0 = SignatureTwin.high($0) } }),
        JWSFault(
            "signature-low-s", .genuine, "The other one of the two.",
            .text { $0.signed { $0 = SignatureTwin.low($0) } }),
        JWSFault(
            "leaf-expired-since", .genuine,
            "Certificates are judged when the transaction was signed: leaves live two years, purchases longer.",
            .chain { $0.leaf.validity = .init(UTCDate(2024, 1, 1), UTCDate(2026, 1, 1)) }),
        JWSFault(
            "typ-and-kid", .genuine, "Parameters without a meaning here, as in Xcode's headers.",
            .header { header, _ in
                header["typ"] = "\"JWT\""
                header["kid"] = "\"Apple_Xcode_Key\""
            }),
        JWSFault(
            "header-reversed", .genuine, "The members of an object have no order.",
            .header { header, _ in header.parameters.reverse() }),
        JWSFault(
            "header-with-spaces", .genuine, "White space between the tokens of JSON, signed as it stands.",
            .text { forge in
                let json = String(decoding: forge.header.json, as: UTF8.self).replacing("\":", with: "\" : ")
                return forge.signed(ForgedJWS(header: Array(json.utf8), payload: forge.contents.payload)).text
            }),
        JWSFault(
            "x5c-slashes-escaped", .genuine, "`\\/` in JSON is a slash; Xcode writes it so.",
            .header { header, _ in header["x5c"] = header["x5c"]?.replacing("/", with: "\\/") }),
        JWSFault(
            "unknown-claims", .genuine, "Apple adds claims several times a year; unknown ones are kept, not rejected.",
            .claims { $0 = $0.adding(#""futureClaim":{"a":[1,2.5,null,true]},"futureDate":1760000000123"#) }),
        JWSFault(
            "unknown-values", .genuine, "Apple adds values, such as a fourth type of offer, without notice.",
            .claims { contents in
                contents.type = "Bundle"
                contents.inAppOwnershipType = "COMPANY_SHARED"
                contents.transactionReason = "MIGRATION"
                contents.offerType = 99
                contents.offerDiscountType = "PAY_LATER"
                contents.revocationType = "REFUND_FUTURE"
                contents.billingPlanType = "DAILY"
            }),
        JWSFault(
            "environment-production", .genuine, "A transaction in production.",
            .claims { $0.environment = "Production" }),
        JWSFault(
            "environment-missing", .genuine, "Transactions of 2021 name no environment.",
            .claims { $0.environment = nil }),
        JWSFault(
            "claims-of-2021", .genuine, "The first year of signed transactions had fewer claims.",
            .claims { contents in
                contents.environment = nil
                contents.transactionReason = nil
                contents.storefront = nil
                contents.storefrontID = nil
                contents.price = nil
                contents.currency = nil
                contents.appTransactionID = nil
            }),
        JWSFault(
            "all-claims", .genuine, "Every claim that Apple documents.", .claims { $0 = .complete }),
        JWSFault(
            "claims-in-other-order", .genuine, "Claims have no order.",
            .payload { forge in
                forge.edited(forge.contents) { contents in
                    contents.transactionID = nil
                    contents = contents.adding(#""transactionId":"2000000900000002""#)
                }.payload
            }),
        JWSFault("transaction", .genuine, "A renewal in the sandbox.", .text { $0.wellFormed }),
        JWSFault(
            "renewal-info", .genuine, "A renewal info.", .payload { _ in RenewalInfoContents().payload }),
        JWSFault(
            "renewal-info-with-all-claims", .genuine, "Every claim of a renewal info that Apple documents.",
            .payload { _ in RenewalInfoContents.complete.payload }),
        JWSFault(
            "app-transaction", .genuine, "An app transaction, which has no signing date.",
            .payload { _ in AppTransactionContents().payload }),
        JWSFault(
            "app-transaction-in-production", .genuine, "An app transaction of the App Store itself.",
            .payload { forge in
                forge.edited(AppTransactionContents()) { contents in
                    contents.receiptType = "Production"
                    contents.appAppleID = 1_234_567_890
                }.payload
            }),
    ]

    static let legitimateNotifications: [JWSFault] = [
        JWSFault(
            "notification", .genuine, "A notification with a transaction and a renewal info.",
            .payload { $0.notification() }),
        JWSFault(
            "notification-without-items", .genuine, "A test notification nests nothing.",
            .payload { forge in forge.edited(NotificationContents()) { $0.notificationType = "TEST" }.payload }),
        JWSFault(
            "notification-of-unknown-type", .genuine, "Apple adds types of notifications.",
            .payload { forge in
                forge.edited(NotificationContents()) { notification in
                    notification.notificationType = "FUTURE_TYPE"
                    notification.subtype = "FUTURE_SUBTYPE"
                }.payload
            }),
    ]
}

extension TransactionContents {
    /// Every claim that Apple documents.
    package static let complete: TransactionContents = {
        var contents = TransactionContents()
        contents.appAccountToken = "7e3fb20b-4cdb-47cc-936d-99d65f608138"
        contents.revocationDate = contents.purchaseDate?.advanced(by: .seconds(30))
        contents.revocationReason = 1
        contents.revocationType = "REFUND_PRORATED"
        contents.revocationPercentage = 50_000
        contents.isUpgraded = true
        contents.offerType = 2
        contents.offerIdentifier = "spring.offer"
        contents.offerDiscountType = "PAY_AS_YOU_GO"
        contents.offerPeriod = "P1M"
        contents.previousOriginalTransactionID = "2000000800000001"
        contents.billingPlanType = "MONTHLY"
        contents.commitment = Commitment(expiresDate: UTCDate(2026, 10, 9).timestamp, price: 59_880)
        contents.advancedCommerceInfo = #"{"items":[{"SKU":"gold","price":4990}],"period":"P1M","taxCode":"C003"}"#
        contents.deviceVerification = "Zm9yZ2VkIGRldmljZSB2ZXJpZmljYXRpb24gb2YgNDggYnl0ZXMgaW4gc3Vt"
        contents.deviceVerificationNonce = "5e3b9c2e-6a8d-4f0b-9d55-6f4a3c2b1a00"
        return contents
    }()
}

extension RenewalInfoContents {
    /// Every claim that Apple documents.
    package static let complete: RenewalInfoContents = {
        var contents = RenewalInfoContents()
        contents.expirationIntent = 2
        contents.isInBillingRetryPeriod = true
        contents.priceIncreaseStatus = 1
        contents.gracePeriodExpiresDate = contents.renewalDate?.advanced(by: .seconds(300))
        contents.offerType = 4
        contents.offerIdentifier = "winback.half"
        contents.offerDiscountType = "PAY_UP_FRONT"
        contents.offerPeriod = "P3M"
        contents.eligibleWinBackOfferIDs = ["winback.half", "winback.free"]
        contents.appAccountToken = "7e3fb20b-4cdb-47cc-936d-99d65f608138"
        contents.previousOriginalTransactionID = "2000000800000001"
        contents.renewalBillingPlanType = "MONTHLY"
        contents.commitment = Commitment(
            autoRenewProductID: "com.example.forge.yearly", renewalDate: UTCDate(2026, 10, 9).timestamp,
            renewalPrice: 59_880)
        contents.advancedCommerceInfo = #"{"items":[{"SKU":"gold","renewalPrice":4990}],"period":"P1M"}"#
        return contents
    }()
}
