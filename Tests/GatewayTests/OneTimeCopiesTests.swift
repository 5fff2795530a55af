// SPDX-License-Identifier: Apache-2.0

@testable import Gateway
import Receipts
import Testing

/// Copies of one-time purchases. One copy was revoked.
struct OneTimeCopiesTests {
    private static func time(_ seconds: Int64) -> Timestamp {
        Timestamp(millisecondsSince1970: 1_700_000_000_000).advanced(by: .seconds(seconds))
    }

    private static func copy(
        _ id: String, signed: Int64? = nil, revoked: Int64? = nil, _ edit: (inout Transaction) -> Void = { _ in }
    ) -> Transaction {
        var purchase = Transaction(productID: "gem", transactionID: id)
        (purchase.originalTransactionID, purchase.productType) = ("31", .nonConsumable)
        purchase.purchaseDate = time(0)
        purchase.cancellationDate = revoked.map(time)
        if let signed {
            var fields = SignedTransactionFields()
            fields.signedDate = time(signed)
            fields.revocationType = revoked == nil ? nil : "REFUND_FULL"
            purchase.signedFields = .value(fields)
        }
        edit(&purchase)
        return purchase
    }

    private static func revokingCopies(_ transactions: [Transaction], knownAt: Int64? = nil) -> TransactionList {
        let entitlements = Entitlements(in: TransactionList(transactions), at: time(0), rules: SubscriptionRules())
        return entitlements.revokingCopies(knownAt: knownAt.map(time)).transactions
    }

    /// Returns the IDs of those that are not revoked.
    private static func kept(_ transactions: [Transaction], knownAt: Int64? = nil) -> [String] {
        let orders = [transactions, transactions.reversed()].map { revokingCopies($0, knownAt: knownAt) }
        let kept = orders.map { $0.filter { $0.cancellationDate == nil }.map(\.transactionID).sorted() }
        #expect(kept[0] == kept[1])
        return kept[0]
    }

    @Test func `a refund of the purchase ends its restored copy`() throws {
        let copies = [Self.copy("32", signed: 5), Self.copy("31", signed: 7, revoked: 6)]
        #expect(Self.kept(copies) == [])
        let restored = try #require(Self.revokingCopies(copies).first)
        #expect(restored.cancellationDate == Self.time(6) && restored.revocation == .refund)
    }

    @Test func `a copy that was signed later without a refund stays, and of two states of one the later counts`() {
        #expect(Self.kept([Self.copy("32", signed: 8), Self.copy("31", signed: 7, revoked: 6)]) == ["32"])
        #expect(Self.kept([Self.copy("32"), Self.copy("31", signed: 7, revoked: 6)], knownAt: 9) == ["32"])
        #expect(Self.kept([Self.copy("32"), Self.copy("31", revoked: 6)], knownAt: 9) == [])
        #expect(Self.kept([Self.copy("32"), Self.copy("31", revoked: 6)]) == [])
    }

    @Test func `what is another purchase, another member's or used up stays`() {
        let revoked = Self.copy("31", signed: 7, revoked: 6)
        #expect(Self.kept([revoked, Self.copy("32", signed: 5) { $0.productID = "ring" }]) == ["32"])
        #expect(Self.kept([revoked, Self.copy("32", signed: 5) { $0.originalTransactionID = "40" }]) == ["32"])
        #expect(Self.kept([revoked, Self.copy("32", signed: 5) { $0.ownership = .familyShared }]) == ["32"])
        let used = [revoked, Self.copy("32", signed: 5)].map { purchase in
            var purchase = purchase
            purchase.productType = .consumable
            return purchase
        }
        #expect(Self.kept(used) == ["32"])
    }
}
