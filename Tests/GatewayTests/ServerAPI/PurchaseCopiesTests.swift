// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

import Entitlements
import ReceiptForge
import Receipts
import Testing

@testable import Gateway

/// Copies of one purchase with transaction IDs of their own. The period of the evidence ends 240 seconds after it was signed.
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
        #expect(ties.include(Self.copy(of: item, product: product)) == isTied)
        let once = Self.copy(of: item, product: product) { ($0.productType, $0.expiresDate) = (.nonConsumable, nil) }
        #expect(!ties.include(once))
    }

    @Test func `a history is tied by a download of the app`() {
        func copy(_ download: String?) -> Transaction {
            Self.copy(of: nil) { transaction in
                var fields = SignedTransactionFields()
                fields.appTransactionID = download
                transaction.signedFields = .value(fields)
            }
        }
        #expect(PurchaseTies([copy("7")]).include(copy("7")))
        #expect(!PurchaseTies([copy("7")]).include(copy("8")) && !PurchaseTies([copy(nil)]).include(copy(nil)))
    }

    @Test func `copies with chains of their own are one subscription, in any order`() {
        let copies = [Self.copy(chain: "1", signed: 10), Self.copy(chain: "5", signed: 20), Self.renewal()]
        for transactions in [copies, copies.reversed(), [copies[1], copies[2], copies[0]]] {
            for (seconds, id) in [(300, "58")] as [(Int64, String)] {
                let seen = Subscription.all(
                    in: transactions, at: SignedSamples.time(seconds), rules: SubscriptionRules())
                #expect(seen.map(\.originalTransactionID) == ["5"] && seen.map(\.state) == [.active])
                #expect(seen.map(\.transaction.transactionID) == [id])
            }
        }
        let others = [Self.copy(chain: "1"), Self.copy(of: "7", chain: "5")]
        #expect(Subscription.all(in: others, at: SignedSamples.time(1), rules: SubscriptionRules()).count == 2)
    }

    @Test(arguments: [(20, true), (5, false)] as [(Int64, Bool)])
    func `a revocation of one copy ends all, unless a later signature lifts it`(signed: Int64, isRevoked: Bool) {
        let copies = [
            Self.copy(chain: "1", signed: 10),
            Self.copy(signed: signed) { $0.cancellationDate = SignedSamples.time(4) },
        ]
        for transactions in [copies, copies.reversed()] {
            let seen = Subscription.all(in: transactions, at: SignedSamples.time(30), rules: SubscriptionRules())
            #expect(seen.map(\.state) == [isRevoked ? .revoked : .active])
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
        #expect(ties.include(Self.copy()) && !ties.include(Self.renewal()))
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
