// SPDX-License-Identifier: Apache-2.0

import ReceiptForge
import Receipts
import Testing

@testable import Gateway

/// The entitlements that signed transactions and renewal infos give.
struct SignedEntitlementTests {
    private typealias Samples = SignedSamples

    // MARK: - States

    struct State: CustomTestStringConvertible, Sendable {
        let testDescription: String
        var transaction: @Sendable (inout TransactionContents) -> Void = { _ in }
        /// Nil for a request without a renewal info.
        var renewal: (@Sendable (inout RenewalInfoContents) -> Void)?
        /// The time in seconds after the signature, and the state then.
        let expected: [(Int64, SubscriptionState)]
        /// The end of access, in seconds after the signature.
        var accessUntil: Int64? = 240
    }

    private static let states = [
        State(testDescription: "without a plan", expected: [(239, .active), (240, .expired)]),
        State(testDescription: "a plan to renew", renewal: { _ in }, expected: [(0, .active), (240, .expired)]),
        State(
            testDescription: "grace, then billing retry",
            renewal: { renewal in
                renewal.isInBillingRetryPeriod = true
                renewal.gracePeriodExpiresDate = Samples.time(600)
            }, expected: [(239, .active), (240, .inGracePeriod), (599, .inGracePeriod), (600, .inBillingRetry)],
            accessUntil: 600),
        State(
            testDescription: "billing retry",
            renewal: { renewal in
                renewal.isInBillingRetryPeriod = true
                renewal.expirationIntent = 2
            }, expected: [(240, .inBillingRetry)]),
        State(
            testDescription: "cancelled",
            renewal: { renewal in
                renewal.autoRenewStatus = 0
                renewal.expirationIntent = 1
            }, expected: [(239, .active), (240, .expired)]),
        State(
            testDescription: "revoked, whatever the plan", transaction: { $0.revocationDate = Samples.time(-1) },
            renewal: { $0.gracePeriodExpiresDate = Samples.time(600) }, expected: [(0, .revoked), (300, .revoked)],
            accessUntil: nil),
        State(
            testDescription: "upgraded", transaction: { $0.isUpgraded = true }, expected: [(0, .upgraded)],
            accessUntil: nil),
    ]

    @Test(arguments: states) func `the plan decides the state after the period`(state: State) async throws {
        let plans = state.renewal.map { [Samples.renewalInfo($0)] } ?? []
        let request = VerificationRequest([Samples.transaction(state.transaction)], renewalInfos: plans)
        for (seconds, expected) in state.expected {
            let subscription = try #require(try await Self.subscriptions(request, at: seconds).first)
            #expect(subscription.state == expected, "\(seconds)")
            let end = expected == .active ? 240 : state.accessUntil
            #expect(subscription.accessUntil == end.map(Samples.time), "\(seconds)")
            #expect((subscription.renewal == nil) == plans.isEmpty)
        }
    }

    @Test(
        arguments: [(nil, nil), (0, .pending), (1, .givenOrNotNeeded), (2, nil), (-1, nil)]
            as [(Int64?, Renewal.PriceConsent?)])
    func `the consent to a higher price is read`(status: Int64?, consent: Renewal.PriceConsent?) async throws {
        let plan = Samples.renewalInfo { $0.priceIncreaseStatus = status }
        let found = try await Self.subscriptions(VerificationRequest([Samples.transaction()], renewalInfos: [plan]))
        #expect(found.map { $0.renewal?.priceConsent } == [consent])
    }

    @Test(
        arguments: [
            (1, .customerCancelled), (2, .billingError), (3, .priceIncreaseDeclined), (4, .productUnavailable),
            (5, .unknown), (0, nil), (6, nil), (.max, nil),
        ] as [(Int64, Renewal.ExpirationIntent?)])
    func `the reason for the end is read`(code: Int64, intent: Renewal.ExpirationIntent?) async throws {
        let plan = Samples.renewalInfo { $0.expirationIntent = code }
        let found = try await Self.subscriptions(VerificationRequest([Samples.transaction()], renewalInfos: [plan]))
        #expect(found.map { $0.renewal?.expirationIntent } == [intent])
    }

    // MARK: - Chains that Apple renamed

    private static func period(
        _ id: String, of original: String, before previous: String? = nil, start: Int64
    ) -> [UInt8] {
        Samples.transaction { contents in
            contents.transactionID = id
            contents.originalTransactionID = original
            contents.previousOriginalTransactionID = previous
            contents.purchaseDate = Samples.time(start)
            contents.expiresDate = Samples.time(start + 100)
        }
    }

    @Test func `a renamed chain is one subscription, with the plan under either name`() async throws {
        let transactions = [
            Self.period("10", of: "1", start: -150), Self.period("20", of: "2", before: "1", start: -50),
        ]
        for name in ["1", "2"] {
            let plan = Samples.renewalInfo {
                $0.originalTransactionID = name; $0.autoRenewStatus = 0
            }
            for items in [transactions, transactions.reversed()] {
                let found = try await Self.subscriptions(VerificationRequest(items, renewalInfos: [plan]))
                #expect(found.map(\.originalTransactionID) == ["2"])
                #expect(found.map(\.transaction.transactionID) == ["20"] && found.map(\.state) == [.active])
                #expect(found.map { $0.renewal?.willRenew } == [false])
            }
        }
    }

    @Test func `a plan under a new name belongs to the transactions under the old one`() async throws {
        let lapsed = Self.period("10", of: "1", start: -150)
        let plan = Samples.renewalInfo {
            $0.originalTransactionID = "2"
            $0.previousOriginalTransactionID = "1"
            $0.gracePeriodExpiresDate = Samples.time(50)
        }
        let found = try await Self.subscriptions(VerificationRequest([lapsed], renewalInfos: [plan]))
        #expect(found.map(\.state) == [.inGracePeriod])
    }

    @Test func `of plans under both names the newest counts`() async throws {
        let lapsed = Self.period("20", of: "2", before: "1", start: -150)
        let older = Samples.renewalInfo {
            $0.originalTransactionID = "1"
            $0.gracePeriodExpiresDate = Samples.time(50)
            $0.signedDate = Samples.time(-40)
        }
        let newer = Samples.renewalInfo {
            $0.originalTransactionID = "2"
            $0.autoRenewStatus = 0
            $0.signedDate = Samples.time(-10)
        }
        for plans in [[older, newer], [newer, older]] {
            let found = try await Self.subscriptions(VerificationRequest([lapsed], renewalInfos: plans))
            #expect(found.map(\.state) == [.expired])
        }
    }

    @Test func `old transactions of a renamed chain are left out`() async throws {
        let request = VerificationRequest([
            Self.period("10", of: "1", start: -150), Self.period("20", of: "2", before: "1", start: -50),
        ]).with { $0.excludesOldTransactions = true }
        let answer = try await VerificationService(verifier: CurrentVerifier(Samples.verifier)).verify(
            request, at: Samples.time(0))
        #expect(answer.entitlements.latestTransactions.map(\.transactionID) == ["20"])
    }

    @Test func `a chain renamed twice is one subscription`() async throws {
        let transactions = [
            Self.period("10", of: "1", start: -250), Self.period("20", of: "2", before: "1", start: -150),
            Self.period("30", of: "3", before: "2", start: -50),
        ]
        let found = try await Self.subscriptions(VerificationRequest(transactions))
        #expect(found.map(\.originalTransactionID) == ["3"])
        #expect(found.map(\.transaction.transactionID) == ["30"])
    }

    @Test func `chains that name each other, or themselves, do no harm`() async throws {
        let circle = [
            Self.period("10", of: "1", before: "2", start: -50), Self.period("20", of: "2", before: "1", start: -50),
            Self.period("30", of: "3", before: "3", start: -50),
        ]
        let found = try await Self.subscriptions(VerificationRequest(circle))
        #expect(Set(found.map(\.transaction.transactionID)).isSuperset(of: ["30"]))
        #expect(found.allSatisfy { $0.state == .active })
    }

    // MARK: - Offers and revocations

    struct Offer: Sendable {
        let type: Int64?
        let discount: String?
        let identifier: String?
        var isTrial = false
        var isIntro = false
        var promotional: String?
        var code: String?
    }

    @Test(arguments: [
        Offer(type: nil, discount: nil, identifier: nil),
        Offer(type: 1, discount: "FREE_TRIAL", identifier: nil, isTrial: true),
        Offer(type: 1, discount: "PAY_UP_FRONT", identifier: nil, isIntro: true),
        Offer(type: 2, discount: "PAY_AS_YOU_GO", identifier: "p", promotional: "p"),
        Offer(type: 2, discount: "FREE_TRIAL", identifier: "p", isTrial: true, promotional: "p"),
        Offer(type: 3, discount: "FREE_TRIAL", identifier: "c", isTrial: true, code: "c"),
        // Neither of Apple's older forms has a place for these.
        Offer(type: 4, discount: "PAY_UP_FRONT", identifier: "w"),
        Offer(type: 99, discount: "PAY_LATER", identifier: "x"),
    ])
    func `an offer is told in the words of verifyReceipt, and as it was signed`(offer: Offer) async throws {
        let item = Samples.transaction { contents in
            (contents.offerType, contents.offerIdentifier) = (offer.type, offer.identifier)
            contents.offerDiscountType = offer.discount
        }
        let transaction = try await Self.transaction(item)
        #expect(transaction.isTrialPeriod == offer.isTrial && transaction.isInIntroOfferPeriod == offer.isIntro)
        #expect(transaction.promotionalOfferID == offer.promotional && transaction.offerCodeName == offer.code)
        let signed = try #require(transaction.signedFields?.value)
        #expect(signed.offerType == offer.type && signed.offerIdentifier == offer.identifier)
        #expect(signed.offerDiscountType == offer.discount)
    }

    @Test(
        arguments: [
            ("REFUND_FULL", "PURCHASED", .refund), ("REFUND_PRORATED", "PURCHASED", .refund),
            ("FAMILY_REVOKE", "FAMILY_SHARED", .familySharingEnded), ("REFUND_FUTURE", nil, .refund),
            (nil, "PURCHASED", .refund), (nil, "FAMILY_SHARED", .familySharingEnded), (nil, nil, nil),
            (nil, "COMPANY_SHARED", nil),
        ] as [(String?, String?, Transaction.Revocation?)])
    func `a revocation is a refund, or the end of sharing`(
        type: String?, ownership: String?, revocation: Transaction.Revocation?
    ) async throws {
        let item = Samples.transaction { contents in
            contents.revocationDate = Samples.time(-1)
            (contents.revocationType, contents.inAppOwnershipType) = (type, ownership)
            contents.revocationPercentage = 50_000
        }
        let transaction = try await Self.transaction(item)
        #expect(transaction.revocation == revocation && transaction.cancellationDate == Samples.time(-1))
        #expect(transaction.signedFields?.value.revocationPercentage == 50_000)
    }

    @Test(
        arguments: [("PURCHASE", .purchase), ("RENEWAL", .renewal), ("MIGRATION", .renewal), (nil, .renewal)]
            as [(String?, Transaction.Reason)])
    func `the signed reason of a transaction counts, an unknown one does not`(
        claim: String?, reason: Transaction.Reason
    ) async throws {
        #expect(try await Self.transaction(Samples.transaction { $0.transactionReason = claim }).reason == reason)
    }

    @Test func `every signed claim is in the answer`() async throws {
        let plan = Samples.pki.jws(RenewalInfoContents.complete)
        let request = VerificationRequest([Samples.pki.jws(TransactionContents.complete)], renewalInfos: [plan])
        let found = try #require(try await Self.subscriptions(request).first)
        let fields = try #require(found.transaction.signedFields?.value)
        for (name, value) in Mirror(reflecting: fields).children { #expect("\(value)" != "nil", "\(name ?? "")") }
        let planned = try #require(found.renewal?.signedFields?.value)
        for (name, value) in Mirror(reflecting: planned).children { #expect("\(value)" != "nil", "\(name ?? "")") }
        #expect(fields.price == 4990 && fields.currency == "EUR" && fields.commitmentTotalBillingPeriods == 12)
        #expect(planned.eligibleWinBackOfferIDs == ["winback.half", "winback.free"])
    }

    // MARK: - Steps

    private static func transaction(_ item: [UInt8]) async throws -> Transaction {
        try #require(try await answer(VerificationRequest([item]), at: 10).transactions.first)
    }

    private static func subscriptions(
        _ request: VerificationRequest, at seconds: Int64 = 10
    ) async throws -> [Subscription] {
        let answer = try await answer(request, at: seconds)
        #expect(answer.verdict == .genuine)
        return answer.subscriptions
    }

    private static func answer(_ request: VerificationRequest, at seconds: Int64) async throws -> Answer {
        try await VerificationService(verifier: CurrentVerifier(Samples.verifier)).verify(
            request, at: Samples.time(seconds))
    }
}
