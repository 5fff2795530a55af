// SPDX-License-Identifier: Apache-2.0

internal import Receipts

/// Odd but genuine: rejecting any of these rejects paying customers.
extension JWSForge {
    static let legitimate: [JWSFault] = [
        .genuine("signature-high-s").text { $0.signed { $0 = SignatureTwin.high($0) } }
            .because("ES256 has two signatures for each text, (r, s) and (r, n - s); Apple makes either."),
        .genuine("signature-low-s").text { $0.signed { $0 = SignatureTwin.low($0) } }
            .because("The other one of the two."),
        .genuine("leaf-expired-since").chain { $0.leaf.validity = .init(UTCDate(2024, 1, 1), UTCDate(2026, 1, 1)) }
            .because(
                "Certificates are judged when the transaction was signed: leaves live two years, purchases longer."),
        .genuine("typ-and-kid")
            .header { header in
                header["typ"] = "\"JWT\""
                header["kid"] = "\"Apple_Xcode_Key\""
            }
            .because("Parameters without a meaning here, as in Xcode's headers."),
        .genuine("header-reversed").header { $0.parameters.reverse() }
            .because("The members of an object have no order."),
        .genuine("header-with-spaces")
            .rawHeader { forge in
                Array(String(decoding: forge.header.json, as: UTF8.self).replacing("\":", with: "\" : ").utf8)
            }
            .because("White space between the tokens of JSON, signed as it stands."),
        .genuine("x5c-slashes-escaped").header { $0["x5c"] = $0["x5c"]?.replacing("/", with: "\\/") }
            .because("`\\/` in JSON is a slash; Xcode writes it so."),
        .genuine("unknown-claims")
            .claims { $0 = $0.adding(#""futureClaim":{"a":[1,2.5,null,true]},"futureDate":1760000000123"#) }
            .because("Apple adds claims several times a year; unknown ones are kept, not rejected."),
        .genuine("unknown-values")
            .claims { contents in
                contents.type = "Bundle"
                contents.inAppOwnershipType = "COMPANY_SHARED"
                contents.transactionReason = "MIGRATION"
                contents.offerType = 99
                contents.offerDiscountType = "PAY_LATER"
                contents.revocationType = "REFUND_FUTURE"
                contents.billingPlanType = "DAILY"
            }
            .because("Apple adds values, such as a fourth type of offer, without notice."),
        .genuine("environment-production").claims { $0.environment = "Production" }
            .because("A transaction in production."),
        .genuine("environment-missing").claims { $0.environment = nil }
            .because("Transactions of 2021 name no environment."),
        .genuine("claims-of-2021")
            .claims { contents in
                contents.environment = nil
                contents.transactionReason = nil
                contents.storefront = nil
                contents.storefrontID = nil
                contents.price = nil
                contents.currency = nil
                contents.appTransactionID = nil
            }
            .because("The first year of signed transactions had fewer claims."),
        .genuine("all-claims").claims { $0 = .complete }.because("Every claim that Apple documents."),
        .genuine("claims-in-other-order")
            .claims { $0.replace(\.transactionID, by: #""transactionId":"2000000900000002""#) }
            .because("Claims have no order."),
        .genuine("transaction").because("A renewal in the sandbox."),
        .genuine("renewal-info").claims(of: RenewalInfoContents()).because("A renewal info."),
        .genuine("renewal-info-with-all-claims").claims(of: RenewalInfoContents.complete)
            .because("Every claim of a renewal info that Apple documents."),
        .genuine("app-transaction").claims(of: AppTransactionContents())
            .because("An app transaction, which has no signing date."),
        .genuine("app-transaction-in-production")
            .claims(of: AppTransactionContents()) { contents in
                contents.receiptType = "Production"
                contents.appAppleID = 1_234_567_890
            }
            .because("An app transaction of the App Store itself."),
    ]

    static let legitimateNotifications: [JWSFault] = [
        .genuine("notification").payload { $0.notification() }
            .because("A notification with a transaction and a renewal info."),
        .genuine("notification-without-items").claims(of: NotificationContents()) { $0.notificationType = "TEST" }
            .because("A test notification nests nothing."),
        .genuine("notification-of-unknown-type")
            .claims(of: NotificationContents()) { notification in
                notification.notificationType = "FUTURE_TYPE"
                notification.subtype = "FUTURE_SUBTYPE"
            }
            .because("Apple adds types of notifications."),
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
