// SPDX-License-Identifier: Apache-2.0

import Foundation
import Gateway
import RealCorpus
import Receipts
import Testing

@testable import Customers

/// Events of notifications that Apple really sent. Skipped without their folder, beside that of the receipts.
struct RealEventsTests {
    private static let notifications: [URL] = {
        guard let folder = RealCorpus.folder(besideReceipts: "jws") else { return [] }
        let files = try? FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil)
        return (files ?? []).filter { $0.lastPathComponent.hasPrefix("apple_notification") }
    }()

    private static let expected = [
        "DID_RENEW": "subscription.renewed", "RESUBSCRIBE": "subscription.started",
        "UPGRADE": "subscription.plan_changed", "AUTO_RENEW_DISABLED": "subscription.renewal_disabled",
        "VOLUNTARY": "subscription.expired", "REFUND": "subscription.refunded",
    ]

    @Test(arguments: notifications)
    func `a notification makes its event, first in a gateway that is new`(_ file: URL) throws {
        let text = try String(contentsOf: file, encoding: .utf8).trimmingCharacters(in: .whitespacesAndNewlines)
        let now = Timestamp(millisecondsSince1970: 1_790_000_000_000)
        let notification = try ReceiptVerifier().verifyNotification(Array(text.utf8), at: now)
        let notice = try #require(SignedNotice(notification))
        var chronicle = Chronicle()
        let events = chronicle.take(notice)
        let name = notification.subtype ?? notification.notificationType
        #expect(events.types.contains(try #require(Self.expected[name])))
        // The sandbox shortens periods, so the purchase was a short time ago in all of them.
        let others = events.types.filter { $0 != Self.expected[name] }
        #expect(others.allSatisfy { ["subscription.started", "subscription.renewed"].contains($0) })
        for event in events { #expect(try EventSchema().problems(in: event.json) == []) }
    }
}

extension SignedNotice {
    /// Nil for a notification about no transaction.
    fileprivate init?(_ notification: VerifiedNotification) {
        guard let signed = notification.transaction else { return nil }
        transaction = Transaction(signed)
        renewal = notification.renewalInfo.map { Renewal($0) }
        chain = PurchaseChain(
            bundleID: signed.bundleID, environment: .sandbox, originalTransactionID: transaction.chainID)
        var cause = EventCause(source: .notification, signedDate: notification.signedDate)
        (cause.notificationType, cause.subtype) = (notification.notificationType, notification.subtype)
        (cause.notificationUUID, cause.transaction) = (notification.notificationUUID, transaction)
        self.cause = cause
    }
}
