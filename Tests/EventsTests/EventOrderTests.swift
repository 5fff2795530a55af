// SPDX-License-Identifier: Apache-2.0

import Customers
import Gateway
import JSON
import ReceiptForge
import Receipts
import Testing
import TestSupport

/// Random stories of customers, with a subscription of five-minute periods and single purchases each.
struct EventOrderTests {
    private static let stories = (0..<16 as Range<UInt64>).map { CustomerStory(seed: $0, events: 24) }

    /// Those in which no refund is reversed and granted again: from the last state alone, the first one is unknown.
    private static let withoutSecondRefunds = stories.filter { story in
        let refunded = story.events.filter { $0.notificationType == "REFUND" }.map(\.transaction.transactionID)
        return Set(refunded).count == refunded.count
    }

    @Test func `each purchase, refund and request is announced once, in any order of the notifications`() throws {
        #expect(Self.withoutSecondRefunds.count > 8)
        for (seed, story) in Self.withoutSecondRefunds.enumerated() {
            let notices = try story.events.map(SignedNotice.init), expected = story.facts
            var generator = SplitMix64(seed: TestSeed.number(UInt64(seed)), purpose: "order of events")
            let orders = [notices, notices.reversed()] + (0..<4).map { _ in notices.shuffled(using: &generator) }
            for (number, order) in orders.enumerated() {
                var chronicle = Chronicle()
                for notice in order { chronicle.take(notice, at: story.end) }
                let events = chronicle.events.filter { !$0.isAboutPlan || expected.contains($0.id) }
                #expect(Set(events.map(\.id)) == expected, "story \(seed), order \(number)")
                #expect(events.count == expected.count, "story \(seed), order \(number)")
            }
        }
    }

    @Test func `a delivery of everything once more announces nothing`() throws {
        for story in Self.stories {
            let notices = try story.events.map(SignedNotice.init)
            var chronicle = Chronicle()
            for notice in notices { chronicle.take(notice, at: story.end) }
            for notice in notices.reversed() { #expect(chronicle.take(notice, at: story.end) == []) }
        }
    }

    /// Apple names the state in each notification.
    @Test func `in their order, the events alone show the state of a subscription`() throws {
        for (seed, story) in Self.stories.enumerated() {
            var chronicle = Chronicle(), told = ToldState()
            for (number, notified) in story.events.enumerated() {
                for event in chronicle.take(try SignedNotice(notified)) { try told.read(event) }
                guard let status = notified.status else { continue }
                #expect(told.status == status, "story \(seed), \(number): \(notified.notificationType)")
            }
        }
    }
}

extension Event {
    /// True for changes of a plan, which go back and forth: an older one that comes late is no news.
    fileprivate var isAboutPlan: Bool {
        switch type {
        case .subscriptionRenewalDisabled, .subscriptionRenewalEnabled, .subscriptionPlanChanged,
            .subscriptionPriceConsentRequired, .subscriptionEnteredGracePeriod, .subscriptionEnteredBillingRetry,
            .subscriptionExpired:
            true
        default: false
        }
    }
}

extension CustomerStory {
    /// The IDs of the events that any order of the notifications makes.
    fileprivate var facts: Set<String> {
        Set(
            events.flatMap(\.facts)
                + Set(events.compactMap(\.transaction.transactionID)).map { Self.id("period", [$0]) })
    }

    fileprivate static func id(_ change: String, _ cause: [String]) -> String {
        Event.id(change, bundleID: "com.example.forge", .sandbox, cause: cause)
    }
}

extension NotifiedEvent {
    fileprivate var facts: [String] {
        let id = transaction.transactionID ?? ""
        switch notificationType {
        case "PRICE_INCREASE" where subtype == "ACCEPTED":
            return [CustomerStory.id("notification", [notificationUUID])]
        case "REFUND": return [CustomerStory.id("refund", [id, milliseconds(transaction.revocationDate)])]
        case "REFUND_REVERSED": return [CustomerStory.id("refund_reversal", [id, "1"])]
        case "RENEWAL_EXTENDED": return [CustomerStory.id("extension", [id, milliseconds(transaction.expiresDate)])]
        case "CONSUMPTION_REQUEST":
            return [CustomerStory.id("consumption", [id, String(signedDate.description.prefix(10))])]
        default: return []
        }
    }

    private func milliseconds(_ date: Timestamp?) -> String { String(date?.millisecondsSince1970 ?? 0) }
}

/// The state of a subscription as a client derives it from events: 1 active, 2 expired, 3 billing retry, 4 grace period,
/// 5 revoked.
private struct ToldState {
    private(set) var status: Int64 = 2
    private var transactionID: String?

    mutating func read(_ event: Event) throws {
        let data = try event.data
        let isOfNewest = data["transaction_id"]?.string == transactionID
        switch event.type {
        case .subscriptionStarted, .subscriptionRenewed, .subscriptionRecovered:
            (status, transactionID) = (1, data["transaction_id"]?.string)
        case .subscriptionPlanChanged where !isOfNewest: (status, transactionID) = (1, data["transaction_id"]?.string)
        case .subscriptionEnteredGracePeriod: status = 4
        case .subscriptionEnteredBillingRetry: status = 3
        case .subscriptionExpired: status = 2
        case .subscriptionRefunded where isOfNewest: status = 5
        case .subscriptionRefundReversed where isOfNewest:
            let end = data["expires_date_ms"]?.number?.integer ?? 0
            status = end > event.occurredAt.millisecondsSince1970 ? 1 : 2
        default: break
        }
    }
}
