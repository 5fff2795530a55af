// SPDX-License-Identifier: Apache-2.0

import Receipts
import Testing

@testable import ReceiptForge

/// Random notifications of one customer.
struct CustomerStoryTests {
    private static let pki = TransactionPKI(seed: 1)
    private static let histories = (0..<40).map { CustomerStory(seed: $0, events: 40) }

    private static func verifier() throws -> ReceiptVerifier {
        let anchor = try TrustAnchor(der: pki.root.der, environments: [.production, .sandbox])
        return ReceiptVerifier(trustStore: TrustStore(anchors: [anchor]))
    }

    @Test func `the seed determines the events`() {
        #expect(CustomerStory(seed: 3, events: 40) == Self.histories[3])
        #expect(Set(Self.histories.map(\.originalTransactionID)).count == 40)
        #expect(CustomerStory(seed: 3, events: 7).events == Array(Self.histories[3].events.prefix(7)))
    }

    @Test func `every notification is genuine, and its parts belong together`() throws {
        for environment in ["Sandbox", "Production"] {
            let history = CustomerStory(seed: 5, events: 40, bundleID: "com.example.a", environment: environment)
            for (event, contents) in zip(history.events, history.notifications(signedBy: Self.pki)) {
                let read = try Self.verifier().verifyNotification(Self.pki.jws(contents), at: history.end)
                #expect(read.notificationType == event.notificationType && read.subtype == event.subtype)
                #expect(read.bundleID == "com.example.a" && read.environment?.rawValue == environment)
                #expect(read.appAppleID == (environment == "Production" ? 1_234_567_890 : nil))
                #expect(read.transaction?.transactionID == event.transaction.transactionID)
                #expect(read.transaction?.signedDate == event.signedDate)
                let original = event.renewalInfo == nil ? nil : history.originalTransactionID
                #expect(read.renewalInfo?.originalTransactionID == original)
            }
        }
    }

    @Test func `dates of signing increase, and UUIDs are unique`() {
        for history in Self.histories {
            let dates = history.events.map(\.signedDate.millisecondsSince1970)
            #expect(zip(dates, dates.dropFirst()).allSatisfy { $0 < $1 })
            #expect(Set(history.events.map(\.notificationUUID)).count == 40)
        }
    }

    @Test func `the status fits the dates`() throws {
        for event in Self.histories.flatMap(\.events) where event.transaction.type != "Consumable" {
            let renewal = try #require(event.renewalInfo)
            switch event.status {
            case 1 where event.notificationType != "REFUND":
                #expect(try #require(event.transaction.expiresDate) > event.signedDate)
                #expect(event.transaction.revocationDate == nil && renewal.isInBillingRetryPeriod == nil)
            case 3: #expect(renewal.isInBillingRetryPeriod == true)
            case 4: #expect(try #require(renewal.gracePeriodExpiresDate) > event.signedDate)
            default: break
            }
        }
    }

    @Test func `every kind of event occurs`() {
        let kinds = Set(Self.histories.flatMap(\.events).map { $0.notificationType + "/" + ($0.subtype ?? "") })
        #expect(
            kinds == [
                "SUBSCRIBED/INITIAL_BUY", "SUBSCRIBED/RESUBSCRIBE", "DID_RENEW/", "DID_RENEW/BILLING_RECOVERY",
                "DID_CHANGE_RENEWAL_PREF/", "DID_CHANGE_RENEWAL_PREF/UPGRADE", "DID_CHANGE_RENEWAL_PREF/DOWNGRADE",
                "DID_CHANGE_RENEWAL_STATUS/AUTO_RENEW_ENABLED", "DID_CHANGE_RENEWAL_STATUS/AUTO_RENEW_DISABLED",
                "DID_FAIL_TO_RENEW/GRACE_PERIOD", "DID_FAIL_TO_RENEW/", "GRACE_PERIOD_EXPIRED/", "EXPIRED/VOLUNTARY",
                "EXPIRED/BILLING_RETRY", "PRICE_INCREASE/PENDING", "PRICE_INCREASE/ACCEPTED", "REFUND/",
                "REFUND_REVERSED/", "CONSUMPTION_REQUEST/", "RENEWAL_EXTENDED/", "ONE_TIME_CHARGE/",
            ])
    }

    @Test func `the final claims are the last ones about each transaction`() throws {
        let history = Self.histories[11]
        let last = try #require(history.events.last)
        #expect(history.finalTransactions[last.transaction.transactionID ?? ""] == last.signedTransaction)
        #expect(history.finalTransactions.count == Set(history.events.map(\.transaction.transactionID)).count)
        let state = try #require(history.finalState)
        let later = history.events.filter { $0.signedDate > state.signedDate }
        #expect(later.allSatisfy { $0.renewalInfo == nil })
    }
}
