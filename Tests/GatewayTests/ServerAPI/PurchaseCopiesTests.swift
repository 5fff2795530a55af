// SPDX-License-Identifier: Apache-2.0

import ReceiptForge
import Receipts
import Testing

@testable import Gateway

/// Copies of one purchase with transaction IDs of their own. The period of the evidence ends 240 seconds after it was
/// signed.
struct PurchaseCopiesTests {
    private static let item = "2000000090000002"

    /// Returns a copy of the evidence's period in another chain.
    private static func copy(
        of item: String? = item, chain: String = "5", signed: Int64 = 250,
        product: String = "com.example.forge.monthly",
        _ edit: (inout Transaction) -> Void = { _ in }
    ) -> Transaction {
        var transaction = Transaction(productID: product, transactionID: chain + "9")
        (transaction.originalTransactionID, transaction.webOrderLineItemID) = (chain, item)
        (transaction.purchaseDate, transaction.expiresDate) = (SignedSamples.time(-60), SignedSamples.time(240))
        transaction.productType = .autoRenewableSubscription
        var fields = SignedTransactionFields()
        fields.signedDate = SignedSamples.time(signed)
        transaction.signedFields = .value(fields)
        edit(&transaction)
        return transaction
    }

    /// Returns the period after that of the copy.
    private static func renewal() -> Transaction {
        copy(of: "2000000090000003") { transaction in
            transaction.transactionID = "58"
            (transaction.purchaseDate, transaction.expiresDate) = (SignedSamples.time(240), SignedSamples.time(2000))
        }
    }

    @Test(arguments: [
        (item, "com.example.forge.monthly", true), (item, "com.example.forge.yearly", false),
        ("7", "com.example.forge.monthly", false), ("0", "com.example.forge.monthly", false), (nil, "", false),
    ])
    func `a history is tied by a period of the same product`(item: String?, product: String, isTied: Bool) {
        let ties = PurchaseTies([Self.copy(of: item == "0" ? "0" : Self.item, chain: "1")])
        #expect(ties.connects(to: Self.copy(of: item, product: product)) == isTied)
        let once = Self.copy(of: item, product: product) { ($0.productType, $0.expiresDate) = (.nonConsumable, nil) }
        #expect(!ties.connects(to: once))
    }

    @Test(arguments: [
        ("5", "5", true), ("5", "05", false), ("5", "+5", false), ("5", "6", false), ("-5", "-5", true),
        ("0", "0", false), ("00", "00", true), ("00", "0", false), ("", "", true),
        ("99999999999999999999", "99999999999999999999", true),
    ])
    func `copies name the same line item, byte for byte`(one: String, other: String, areCopies: Bool) {
        let chains = [Self.copy(of: one, chain: "5"), Self.copy(of: other, chain: "6")]
        let seen = Entitlements(in: TransactionList(chains), at: SignedSamples.time(1), rules: SubscriptionRules())
            .subscriptions
        #expect(seen.count == (areCopies ? 1 : 2))
    }

    @Test func `a history is tied by a download of the app`() {
        func copy(_ download: String?) -> Transaction {
            Self.copy(of: nil) { transaction in
                var fields = SignedTransactionFields()
                fields.appTransactionID = download
                transaction.signedFields = .value(fields)
            }
        }
        #expect(PurchaseTies([copy("7")]).connects(to: copy("7")))
        #expect(
            !PurchaseTies([copy("7")]).connects(to: copy("8")) && !PurchaseTies([copy(nil)]).connects(to: copy(nil)))
    }

    @Test func `copies with chains of their own are one subscription, in any order`() {
        let copies = [Self.copy(chain: "1", signed: 10), Self.copy(chain: "5", signed: 20), Self.renewal()]
        for transactions in [copies, copies.reversed(), [copies[1], copies[2], copies[0]]] {
            for (seconds, id) in [(300, "58")] as [(Int64, String)] {
                let seen = Entitlements(
                    in: TransactionList(transactions), at: SignedSamples.time(seconds), rules: SubscriptionRules()
                ).subscriptions
                #expect(seen.map(\.originalTransactionID) == ["1"] && seen.map(\.state) == [.active])
                #expect(seen.map(\.transaction.transactionID) == [id])
            }
        }
        let others = [Self.copy(chain: "1"), Self.copy(of: "7", chain: "5")]
        #expect(
            Entitlements(in: TransactionList(others), at: SignedSamples.time(1), rules: SubscriptionRules())
                .subscriptions.count == 2)
    }

    @Test func `the plan of one copy does not end the period of another`() {
        func plan(_ chain: String, _ state: SubscriptionState, signed: Int64) -> Renewal {
            var plan = Renewal(originalTransactionID: chain), fields = SignedRenewalFields()
            fields.signedDate = SignedSamples.time(signed)
            plan.productID = "com.example.forge.monthly"
            (plan.signedFields, plan.status) = (.value(fields), ReportedStatus(state, at: SignedSamples.time(signed)))
            return plan
        }
        let transactions = [Self.copy(chain: "1", signed: 10), Self.copy(chain: "5", signed: 20), Self.renewal()]
        for plans in [
            [plan("1", .expired, signed: 290), plan("5", .active, signed: 280)],
            [plan("5", .active, signed: 290), plan("1", .expired, signed: 290)], [plan("1", .expired, signed: 290)],
        ] {
            let seen = Entitlements(
                in: TransactionList(transactions), renewals: plans, at: SignedSamples.time(300),
                rules: SubscriptionRules()
            ).subscriptions
            #expect(seen.map(\.state) == [.active])
            #expect(seen.map { $0.renewal?.originalTransactionID ?? "5" } == ["5"])
        }
    }

    @Test func `a history of the same download without the purchase is labelled`() async throws {
        var answer = UpstreamAnswer.customer("5")
        answer.transactions = [Self.copy(of: "8")]
        let fixture = CustomerFixture([SignedSamples.original: [.answered(answer)]])
        let request = VerificationRequest([SignedSamples.transaction()])
        let found = try await fixture.ask(request, at: SignedSamples.time(1000))
        #expect(found.subscriptions.count == 2 && found.provenance.degradedReasons == [.transactionUnknown])
    }

    @Test func `an answer that evidence tied to an ID is not given to a request with only that ID`() async throws {
        var answer = UpstreamAnswer.customer("5")
        answer.transactions = [Self.copy(), Self.renewal()]
        let fixture = CustomerFixture([SignedSamples.original: [.answered(answer)]])
        _ = try await fixture.ask(VerificationRequest([SignedSamples.transaction()]), at: SignedSamples.time(300))
        _ = try await fixture.ask(SignedSamples.original, at: 301)
        #expect(
            fixture.customers.asked.count == 2 && fixture.customers.requests.map { $0.ties != nil } == [true, false])
    }

    @Test(arguments: [(20, true), (5, false)] as [(Int64, Bool)])
    func `a revocation of one copy ends all, unless a later signature lifts it`(signed: Int64, isRevoked: Bool) {
        let copies = [
            Self.copy(chain: "1", signed: 10),
            Self.copy(signed: signed) { $0.cancellationDate = SignedSamples.time(4) },
        ]
        for transactions in [copies, copies.reversed()] {
            let seen = Entitlements(
                in: TransactionList(transactions), at: SignedSamples.time(30), rules: SubscriptionRules()
            )
            .subscriptions
            #expect(seen.map(\.state) == [isRevoked ? .revoked : .active])
        }
    }

    @Test func `the end of sharing does not end the purchase that was shared`() {
        let copies = [
            Self.copy(chain: "1", signed: 10),
            Self.copy(signed: 20) { ($0.ownership, $0.cancellationDate) = (.familyShared, SignedSamples.time(4)) },
        ]
        for transactions in [copies, copies.reversed()] {
            let seen = Entitlements(
                in: TransactionList(transactions), at: SignedSamples.time(30), rules: SubscriptionRules()
            )
            .subscriptions
            let states = Dictionary(uniqueKeysWithValues: seen.map { ($0.originalTransactionID, $0.state) })
            #expect(states == ["1": .active, "5": .revoked])
        }
    }

    @Test func `Apple's answer about another copy is about the purchase`() async throws {
        var answer = UpstreamAnswer.customer("5")
        answer.transactions = [Self.copy(), Self.renewal()]
        let fixture = CustomerFixture([SignedSamples.original: [.answered(answer)]])
        let request = VerificationRequest([SignedSamples.transaction()])
        for _ in 1...2 {
            let found = try await fixture.ask(request, at: SignedSamples.time(300))
            #expect(found.subscriptions.map(\.state) == [.active] && !found.provenance.isDegraded)
            #expect(found.subscriptions.map(\.transaction.transactionID) == ["58"])
            #expect(found.provenance.source == .serverAPI)
        }
        #expect(fixture.customers.asked == [SignedSamples.original])
        let ties = try #require(fixture.customers.requests.first?.ties)
        #expect(ties.connects(to: Self.copy()) && !ties.connects(to: Self.renewal()))
        // Evidence that is newer than the answer is missing in it.
        let newer = VerificationRequest([
            SignedSamples.transaction(),
            SignedSamples.transaction { contents in
                (contents.transactionID, contents.webOrderLineItemID) = ("7", "2000000090000004")
                (contents.purchaseDate, contents.expiresDate) = (SignedSamples.time(2000), SignedSamples.time(3000))
                contents.signedDate = SignedSamples.time(310)
            },
        ])
        _ = try await fixture.ask(newer, at: SignedSamples.time(311))
        #expect(fixture.customers.asked.count == 2)
    }
}
