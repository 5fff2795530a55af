// SPDX-License-Identifier: Apache-2.0

import Gateway
import Receipts
import Testing

@testable import Customers
@testable import ServerTestSupport

/// The states that are recorded of an answer of Apple's.
struct LookupStateRecorderTests {
    private static func transaction(_ id: String, at seconds: Int, isSubscription: Bool) -> Transaction {
        var transaction = Transaction(productID: isSubscription ? "monthly" : "coins", transactionID: id)
        let start = StoreSamples.time(0).advanced(by: .seconds(seconds))
        (transaction.originalTransactionID, transaction.purchaseDate) = (id, start)
        transaction.productType = isSubscription ? .autoRenewableSubscription : .consumable
        transaction.expiresDate = isSubscription ? start.advanced(by: .seconds(86_400)) : nil
        var fields = SignedTransactionFields()
        fields.signedDate = start
        transaction.signedFields = .value(fields)
        return transaction
    }

    @Test func `a subscription is recorded beside many newer consumables`() throws {
        var answer = try StoreSamples.answer()
        answer.transactions =
            [Self.transaction("1", at: 0, isSubscription: true)]
            + (2...40).map { Self.transaction("\($0)", at: $0, isSubscription: false) }
        let updates = answer.updates(cause: EventCause(source: .verification, signedDate: StoreSamples.time(0)))
        #expect(updates.count == SignedNotification.Limits.chains)
        #expect(updates.prefix(2).map(\.chain.originalTransactionID) == ["1", "40"])
    }
}
