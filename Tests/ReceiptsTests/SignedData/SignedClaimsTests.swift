// SPDX-License-Identifier: Apache-2.0

import Foundation
import JSON
import ReceiptForge
import Receipts
import Synchronization
import Testing

/// Genuine payloads of each kind, read claim by claim.
struct SignedClaimsTests {
    private static let verifier = SignedSamples.verifier, pki = SignedSamples.pki, now = SignedSamples.now

    // MARK: Transactions

    @Test func `a transaction with every claim is read as signed`() throws {
        let claims = TransactionContents.complete
        let read = try Self.verifier.verifyTransaction(Self.pki.jws(claims), at: Self.now)
        let fields = read.signedFields
        #expect(read.transactionID == claims.transactionID)
        #expect(read.originalTransactionID == claims.originalTransactionID)
        #expect(fields.previousOriginalTransactionID == claims.previousOriginalTransactionID)
        #expect(read.webOrderLineItemID == claims.webOrderLineItemID)
        #expect(read.bundleID == claims.bundleID && read.productID == claims.productID)
        #expect(read.subscriptionGroupIdentifier == claims.subscriptionGroupIdentifier)
        #expect(read.type == claims.type && read.quantity == claims.quantity)
        #expect(read.appAccountToken == claims.appAccountToken && fields.appTransactionID == claims.appTransactionID)
        #expect(read.environment == .sandbox && fields.transactionReason == claims.transactionReason)
        #expect(read.inAppOwnershipType == claims.inAppOwnershipType && read.isUpgraded == claims.isUpgraded)
        #expect(fields.storefront == claims.storefront && fields.storefrontID == claims.storefrontID)
        #expect(read.deviceVerification == claims.deviceVerification)
        #expect(read.deviceVerificationNonce == claims.deviceVerificationNonce)
        #expect(read.jws.payload == claims.payload)
    }

    @Test func `the dates, the price and the offer of a transaction are read as signed`() throws {
        let claims = TransactionContents.complete
        let read = try Self.verifier.verifyTransaction(Self.pki.jws(claims), at: Self.now)
        let fields = read.signedFields
        #expect(read.signedDate == claims.signedDate && read.purchaseDate == claims.purchaseDate)
        #expect(read.originalPurchaseDate == claims.originalPurchaseDate && read.expiresDate == claims.expiresDate)
        #expect(read.revocationDate == claims.revocationDate && read.revocationReason == claims.revocationReason)
        #expect(fields.revocationType == claims.revocationType)
        #expect(fields.revocationPercentage == claims.revocationPercentage)
        #expect(fields.price == claims.price && fields.currency == claims.currency)
        #expect(fields.offerType == claims.offerType && fields.offerIdentifier == claims.offerIdentifier)
        #expect(fields.offerDiscountType == claims.offerDiscountType && fields.offerPeriod == claims.offerPeriod)
        #expect(fields.billingPlanType == claims.billingPlanType)
        let signed = try #require(claims.commitment)
        #expect(fields.commitmentBillingPeriodNumber == signed.billingPeriodNumber)
        #expect(fields.commitmentTotalBillingPeriods == signed.totalBillingPeriods)
        #expect(fields.commitmentExpiresDate == signed.expiresDate && fields.commitmentPrice == signed.price)
        #expect(fields.advancedCommerceInfo == claims.advancedCommerceInfo.map { Array($0.utf8) })
    }

    @Test func `a claim that is absent or null is nil`() throws {
        let read = try Self.verifier.verifyTransaction(
            SignedSamples.transaction { contents in
                contents.expiresDate = nil
                contents.storefront = nil
                contents.offerType = nil
                contents = contents.adding(#""expiresDate":null,"storefront":null,"isUpgraded":null,"offerType":null"#)
            }, at: Self.now)
        let fields = read.signedFields
        #expect(
            read.expiresDate == nil && fields.storefront == nil && read.isUpgraded == nil && fields.offerType == nil)
        #expect(fields.commitmentPrice == nil && fields.advancedCommerceInfo == nil && read.revocationDate == nil)
    }

    @Test func `unknown values are kept as they are`() throws {
        let read = try Self.verifier.verifyTransaction(
            SignedSamples.transaction { contents in
                contents.type = "Bundle"
                contents.offerType = 99
                contents.inAppOwnershipType = "COMPANY_SHARED"
                contents = contents.adding(#""futureClaim":{"a":[1]}"#)
            }, at: Self.now)
        let fields = read.signedFields
        #expect(read.type == "Bundle" && fields.offerType == 99 && read.inAppOwnershipType == "COMPANY_SHARED")
        #expect(String(decoding: read.jws.payload, as: UTF8.self).hasSuffix(#""futureClaim":{"a":[1]}}"#))
    }

    @Test(arguments: [
        (#""price":9990.0"#, IgnorableClaim.price), (#""price":18446744073709551616"#, .price),
        (#""price":"9990""#, .price), (#""storefrontId":143441"#, .storefrontID),
        (#""storefront":[["D"]]"#, .storefront),
        (#""advancedCommerceInfo":[]"#, .advancedCommerceInfo), (#""currency":{"a":"EUR"}"#, .currency),
        (#""commitmentInfo":{"commitmentPrice":"1"}"#, .commitmentInfo),
        (#""transactionReason":true"#, .transactionReason),
        (#""billingPlanType":1"#, .billingPlanType), (#""storefront":"D\u0000""#, .storefront),
        (#""offerPeriod":{"value":1}"#, .offerPeriod), (#""revocationPercentage":"100000""#, .revocationPercentage),
    ])
    func `a claim that decides nothing may have any form, and is reported`(
        member: String, claim: IgnorableClaim
    ) throws {
        let ignored = Mutex<[String]>([])
        let verifier = ReceiptVerifier(
            trustStore: Self.verifier.trustStore, onIgnoredClaim: { claim in ignored.withLock { $0.append(claim) } })
        let read = try verifier.verifyTransaction(
            SignedSamples.transaction { contents in
                (contents.price, contents.storefront, contents.storefrontID, contents.currency) = (nil, nil, nil, nil)
                (contents.transactionReason, contents.offerPeriod) = (nil, nil)
                contents = contents.adding(member + #","futureClaim":1"#)
            }, at: Self.now)
        let fields = read.signedFields
        #expect(ignored.withLock { $0 } == [claim.rawValue])
        #expect(fields.price == nil && fields.storefront == nil && fields.storefrontID == nil && fields.currency == nil)
        #expect(fields.commitmentPrice == nil && fields.advancedCommerceInfo == nil && fields.transactionReason == nil)
        #expect(read.productID == "com.example.forge.monthly" && read.expiresDate != nil)
    }

    @Test(arguments: [#""price":x"#, #""price":[9990"#, #""price":1,"price":2"#, #""advancedCommerceInfo":{"a""#])
    func `JSON without a form has no claims`(member: String) {
        let text = SignedSamples.transaction { contents in
            contents.price = nil
            contents = contents.adding(member)
        }
        #expect(Self.verifier.brokenRule(ofJWS: text) != nil)
    }

    @Test func `a claim of a commitment that cannot be read spoils no other claim of it`() throws {
        let ignored = Mutex<[String]>([])
        let verifier = ReceiptVerifier(
            trustStore: Self.verifier.trustStore, onIgnoredClaim: { claim in ignored.withLock { $0.append(claim) } })
        let read = try verifier.verifyTransaction(
            SignedSamples.transaction { contents in
                contents = contents.adding(
                    #""commitmentInfo":{"commitmentPrice":"1","billingPeriodNumber":"1","totalBillingPeriods":12,"price":5,"expiresDate":null}"#
                )
            }, at: Self.now)
        #expect(ignored.withLock { $0 } == ["commitmentInfo"])
        #expect(read.signedFields.commitmentTotalBillingPeriods == 12 && read.signedFields.commitmentPrice == nil)
        // A claim inside the commitment is none of the transaction.
        #expect(read.signedFields.price == TransactionContents().price && read.expiresDate != nil)
        #expect(Self.namesOfUnread(read) == ["commitmentInfo"])
    }

    @Test func `what no field shows is unread, also if another kind of payload has such a claim`() throws {
        let read = try Self.verifier.verifyTransaction(
            SignedSamples.transaction { contents in
                contents = contents.adding(#""autoRenewStatus":1,"future_claim":2,"offer_type":3"#)
            }, at: Self.now)
        #expect(Self.namesOfUnread(read) == ["autoRenewStatus", "future_claim", "offer_type"])
        #expect(read.signedFields.offerType == TransactionContents().offerType)
        let complete = try Self.verifier.verifyTransaction(Self.pki.jws(TransactionContents.complete), at: Self.now)
        #expect(complete.unreadClaims.isEmpty)
        let plan = try Self.verifier.verifyRenewalInfo(Self.pki.jws(RenewalInfoContents.complete), at: Self.now)
        #expect(plan.unreadClaims.isEmpty)
    }

    private static func namesOfUnread(_ transaction: VerifiedTransaction) -> [String] {
        transaction.jws.claims(at: transaction.unreadClaims).compactMap(\.name.string)
    }

    @Test func `the number of an order is read as text, also if it is signed as a number`() throws {
        let read = try Self.verifier.verifyTransaction(
            SignedSamples.transaction { contents in
                contents.webOrderLineItemID = nil
                contents = contents.adding(#""webOrderLineItemId":2000000041234567"#)
            }, at: Self.now)
        #expect(read.webOrderLineItemID == "2000000041234567")
    }

    @Test func `escapes in values are resolved`() throws {
        let read = try Self.verifier.verifyTransaction(
            SignedSamples.transaction { contents in
                contents.productID = nil
                contents = contents.adding(#""productId":"com.example\/\u00e9\ud83c\udf81""#)
            }, at: Self.now)
        #expect(read.productID == "com.example/é🎁")
    }

    // MARK: Other kinds

    @Test func `a renewal info with every claim is read as signed`() throws {
        let claims = RenewalInfoContents.complete
        let read = try Self.verifier.verifyRenewalInfo(Self.pki.jws(claims), at: Self.now)
        let fields = read.signedFields
        #expect(read.originalTransactionID == claims.originalTransactionID && read.productID == claims.productID)
        #expect(read.autoRenewProductID == claims.autoRenewProductID && read.autoRenewStatus == claims.autoRenewStatus)
        #expect(read.expirationIntent == claims.expirationIntent && read.environment == .sandbox)
        #expect(read.isInBillingRetryPeriod == claims.isInBillingRetryPeriod)
        #expect(read.gracePeriodExpiresDate == claims.gracePeriodExpiresDate)
        #expect(read.priceIncreaseStatus == claims.priceIncreaseStatus)
        #expect(fields.offerType == claims.offerType && fields.offerIdentifier == claims.offerIdentifier)
        #expect(fields.offerDiscountType == claims.offerDiscountType && fields.offerPeriod == claims.offerPeriod)
        #expect(read.signedDate == claims.signedDate && fields.renewalDate == claims.renewalDate)
        #expect(fields.recentSubscriptionStartDate == claims.recentSubscriptionStartDate)
        #expect(fields.renewalPrice == claims.renewalPrice && fields.currency == claims.currency)
        #expect(fields.eligibleWinBackOfferIDs == claims.eligibleWinBackOfferIDs)
        #expect(fields.appAccountToken == claims.appAccountToken && fields.appTransactionID == claims.appTransactionID)
        #expect(fields.renewalBillingPlanType == claims.renewalBillingPlanType)
        #expect(fields.advancedCommerceInfo == claims.advancedCommerceInfo.map { Array($0.utf8) })
        let signed = try #require(claims.commitment)
        #expect(fields.commitmentAutoRenewProductID == signed.autoRenewProductID)
        #expect(
            fields.commitmentAutoRenewStatus == signed.autoRenewStatus
                && fields.commitmentRenewalDate == signed.renewalDate)
        #expect(fields.commitmentRenewalPrice == signed.renewalPrice)
        #expect(fields.commitmentRenewalBillingPlanType == signed.renewalBillingPlanType)
    }

    @Test func `an app transaction with every claim is read as signed`() throws {
        var claims = AppTransactionContents()
        claims.preorderDate = UTCDate(2025, 1, 1).timestamp
        let read = try Self.verifier.verifyAppTransaction(Self.pki.jws(claims), at: Self.now)
        #expect(read.receiptType == claims.receiptType && read.environment == .sandbox)
        #expect(read.bundleID == claims.bundleID && read.appAppleID == claims.appAppleID)
        #expect(read.applicationVersion == claims.applicationVersion)
        #expect(read.versionExternalIdentifier == claims.versionExternalIdentifier)
        #expect(read.receiptCreationDate == claims.receiptCreationDate)
        #expect(read.originalPurchaseDate == claims.originalPurchaseDate && read.preorderDate == claims.preorderDate)
        #expect(read.originalApplicationVersion == claims.originalApplicationVersion)
        #expect(read.appTransactionID == claims.appTransactionID && read.originalPlatform == claims.originalPlatform)
        #expect(read.deviceVerification == claims.deviceVerification)
        #expect(read.deviceVerificationNonce == claims.deviceVerificationNonce)
    }

    @Test func `a notification comes with its verified transaction and renewal info`() throws {
        let payload = SignedSamples.forge.notification()
        let read = try Self.verifier.verifyNotification(Self.pki.jws(payload), at: Self.now)
        let claims = NotificationContents()
        #expect(read.notificationType == claims.notificationType && read.subtype == nil)
        #expect(read.notificationUUID == claims.notificationUUID && read.signedDate == claims.signedDate)
        #expect(read.bundleID == claims.data?.bundleID && read.appAppleID == claims.data?.appAppleID)
        #expect(read.environment == .sandbox)
        #expect(read.transaction?.transactionID == TransactionContents().transactionID)
        #expect(read.renewalInfo?.originalTransactionID == RenewalInfoContents().originalTransactionID)
        #expect(read.appTransaction == nil && read.jws.payload == payload)
    }

    @Test(arguments: [
        (#""summary":{},"appData":{"bundleId":"com.a","environment":"Sandbox"},"externalPurchaseToken":{}"#, "com.a"),
        (#""data":{},"summary":{"bundleId":"com.b","environment":"Sandbox"}"#, "com.b"),
        (#""later":{"bundleId":"com.c","environment":"Sandbox"}"#, "com.c"),
        // A claim with a meaning of its own is no container.
        (#""subtype":{"bundleId":"com.d"}"#, nil), (#""appData":{"bundleId":5}"#, nil),
    ])
    func `a notification is about the first container that says anything`(containers: String, bundleID: String?) throws
    {
        let claims = #"{"notificationType":"TEST","notificationUUID":"1","signedDate":"#
        let payload = "\(claims)\(Self.now.millisecondsSince1970),\(containers)}"
        let read = try Self.verifier.verifyNotification(Self.pki.jws(Array(payload.utf8)), at: Self.now)
        #expect(read.bundleID == bundleID)
    }

    @Test func `a renewal info belongs to a transaction under the identifier of before too`() throws {
        let renewal = try Self.verifier.verifyRenewalInfo(Self.pki.jws(RenewalInfoContents()), at: Self.now)
        func transaction(_ edit: (inout TransactionContents) -> Void) throws -> VerifiedTransaction {
            try Self.verifier.verifyTransaction(SignedSamples.transaction(edit), at: Self.now)
        }
        let own = RenewalInfoContents().originalTransactionID
        let moved = try transaction {
            $0.originalTransactionID = "7"
            $0.previousOriginalTransactionID = own
        }
        #expect(renewal.belongs(to: try transaction { _ in }) && renewal.belongs(to: moved))
        #expect(!renewal.belongs(to: try transaction { $0.originalTransactionID = "7" }))
    }

    // MARK: Kinds

    /// One genuine JWS of each kind.
    enum Kind: CaseIterable {
        case transaction, renewalInfo, appTransaction, notification

        var text: [UInt8] {
            switch self {
            case .transaction: pki.jws(TransactionContents())
            case .renewalInfo: pki.jws(RenewalInfoContents())
            case .appTransaction: pki.jws(AppTransactionContents())
            case .notification: pki.jws(NotificationContents())
            }
        }

        init(_ payload: SignedPayload) {
            self =
                switch payload {
                case .transaction: .transaction
                case .renewalInfo: .renewalInfo
                case .appTransaction: .appTransaction
                case .notification: .notification
                }
        }

        /// Verifies a JWS with the function for this kind.
        func verify(_ text: [UInt8]) throws(ReceiptError) {
            switch self {
            case .transaction: _ = try verifier.verifyTransaction(text, at: now)
            case .renewalInfo: _ = try verifier.verifyRenewalInfo(text, at: now)
            case .appTransaction: _ = try verifier.verifyAppTransaction(text, at: now)
            case .notification: _ = try verifier.verifyNotification(text, at: now)
            }
        }
    }

    @Test(arguments: Kind.allCases)
    func `a JWS of any kind is recognized by its claims`(_ kind: Kind) throws {
        #expect(Kind(try Self.verifier.verify(jws: kind.text, at: Self.now)) == kind)
    }

    @Test(arguments: Kind.allCases, Kind.allCases)
    func `only the function for its kind accepts a JWS`(signed: Kind, wanted: Kind) throws {
        guard signed != wanted else { return try wanted.verify(signed.text) }
        #expect(throws: ReceiptError(.payloadOfOtherKind)) { try wanted.verify(signed.text) }
    }

    @Test func `a payload of no kind lacks a claim, whatever is wanted`() {
        let text = Self.pki.jws(Array(#"{"signedDate":1760000000123,"bundleId":"com.example.forge"}"#.utf8))
        #expect(Self.verifier.brokenRule(ofJWS: text) == .claimMissing)
        for kind in Kind.allCases {
            do throws(ReceiptError) {
                try kind.verify(text)
                Issue.record("genuine as \(kind)")
            } catch {
                #expect(error.rule == .claimMissing)
            }
        }
    }

    // MARK: Times

    @Test func `a signing date may lie ahead by the clock skew, and not by more`() {
        let now = TransactionContents.signedByDefault
        let skew = Self.verifier.policy.clockSkew, text = SignedSamples.transaction()
        #expect(Self.verifier.brokenRule(ofJWS: text, at: now.advanced(by: .zero - skew)) == nil)
        let earlier = now.advanced(by: .zero - skew - .milliseconds(1))
        #expect(Self.verifier.brokenRule(ofJWS: text, at: earlier) == .signedDateInFuture)
    }

    @Test func `the identity is the signed text's, and not the signature's`() throws {
        var signatures: [[UInt8]] = []
        let text = SignedSamples.forge.signed { signatures.append($0) }
        let signature = try #require(signatures.first)
        let twin = SignatureTwin.twin(of: signature)
        #expect(twin != signature && SignatureTwin.twin(of: twin) == signature)
        let malleated = text.dropLast(86) + Base64URLText.encode(twin)
        let one = try Self.verifier.verifyTransaction(text, at: Self.now)
        let other = try Self.verifier.verifyTransaction(Array(malleated), at: Self.now)
        #expect(one.jws.identity == other.jws.identity)
        let another = try Self.verifier.verifyTransaction(
            SignedSamples.transaction { $0.transactionID = "7" }, at: Self.now)
        #expect(another.jws.identity != one.jws.identity)
    }

    @Test func `no claim is in a description`() throws {
        let read = try Self.verifier.verifyNotification(Self.pki.jws(SignedSamples.forge.notification()), at: Self.now)
        let transaction = try #require(read.transaction), renewal = try #require(read.renewalInfo)
        let all: [Any] = [read, transaction, renewal, read.jws, SignedPayload.transaction(transaction)]
        for value in all {
            var text = "\(value)"
            dump(value, to: &text)
            #expect(!text.contains("example") && !text.contains("2000000900"))
        }
    }
}
