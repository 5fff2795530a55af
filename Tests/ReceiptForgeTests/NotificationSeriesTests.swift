// SPDX-License-Identifier: Apache-2.0

import ReceiptForge
import Receipts
import Testing

/// A series of notifications, as a verifier reads it.
struct NotificationSeriesTests {
    private static let pki = TransactionPKI(seed: 1)
    private static let start = UTCDate(2026, 1, 1).timestamp
    private static let series = NotificationSeries(customers: 2, bundleID: "com.example.shop", from: start, seed: 1)
    private static let count = 12

    private static func read(_ series: NotificationSeries = series) throws -> [VerifiedNotification] {
        var trusted = TrustStore(anchors: [])
        try trusted.add(pem: pki.root.pem, environments: [.production, .sandbox])
        let verifier = ReceiptVerifier(trustStore: trusted), now = UTCDate(2026, 1, 2).timestamp
        return try (0..<count).map { number in
            try verifier.verifyNotification(series.notification(number, signedBy: pki), at: now)
        }
    }

    @Test func `each is genuine, about the app, and has a UUID of its own`() throws {
        let all = try Self.read()
        #expect(all.allSatisfy { $0.bundleID == "com.example.shop" && $0.transaction?.bundleID == $0.bundleID })
        #expect(all.allSatisfy { $0.environment == .production && $0.appAppleID != nil })
        #expect(all.map(\.notificationUUID) == (0..<Self.count).map(Self.series.uuid))
        let form = /[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}/
        #expect(try all.allSatisfy { try form.wholeMatch(in: $0.notificationUUID) != nil })
        #expect(Set(all.map(\.notificationUUID)).count == Self.count)
    }

    @Test func `in the sandbox no number of the App Store is named`() throws {
        let all = try Self.read(
            NotificationSeries(
                customers: 2, bundleID: "com.example.shop", environment: "Sandbox", from: Self.start, seed: 1))
        #expect(all.allSatisfy { $0.environment == .sandbox && $0.renewalInfo?.environment == .sandbox })
        #expect(all.allSatisfy { $0.appAppleID == nil })
    }

    @Test func `customers take turns, and all dates of signing rise`() throws {
        let all = try Self.read(), originals = all.compactMap(\.transaction?.originalTransactionID)
        #expect(originals.prefix(3) == ["2000001000000000", "2000001001000000", "2000001000000000"])
        #expect(Set(originals).count == 2 && originals == all.compactMap(\.renewalInfo?.originalTransactionID))
        let dates = all.map(\.signedDate.millisecondsSince1970), first = Self.start.millisecondsSince1970
        #expect(dates == (0..<Int64(Self.count)).map { first + $0 })
        #expect(all.map(\.transaction?.signedDate) == all.map(\.signedDate))
    }

    @Test func `a customer subscribes, renews, and changes the renewal again and again`() throws {
        let all = try Self.read()
        let one = stride(from: 0, to: Self.count, by: 2).map { all[$0] }
        #expect(
            one.map { $0.subtype ?? $0.notificationType } == [
                "INITIAL_BUY", "DID_RENEW", "AUTO_RENEW_DISABLED", "AUTO_RENEW_ENABLED", "DID_RENEW",
                "AUTO_RENEW_DISABLED",
            ])
        #expect(one.compactMap(\.transaction?.transactionID.last) == ["0", "1", "1", "1", "2", "2"])
        #expect(one.map(\.renewalInfo?.autoRenewStatus) == [1, 1, 0, 1, 1, 0])
        #expect(
            one[0].transaction?.signedFields.transactionReason == "PURCHASE"
                && one[1].transaction?.signedFields.transactionReason == "RENEWAL")
    }

    @Test func `a transaction has the same dates in each notification, later than those of the period before`() throws {
        let all = try Self.read()
        let periods = Dictionary(grouping: all.compactMap(\.transaction), by: \.transactionID).sorted {
            $0.key < $1.key
        }
        #expect(periods.count == 6)
        for (_, transactions) in periods {
            #expect(Set(transactions.map(\.purchaseDate)).count == 1 && Set(transactions.map(\.expiresDate)).count == 1)
        }
        let one = periods.prefix(3).compactMap(\.value.first)
        #expect(Set(one.map(\.originalPurchaseDate)) == [one[0].purchaseDate])
        #expect(
            zip(one, one.dropFirst()).allSatisfy { ($0.expiresDate ?? Self.start) < ($1.expiresDate ?? Self.start) })
        for transaction in one {
            #expect(try #require(transaction.purchaseDate) < transaction.signedDate)
            #expect(try #require(transaction.expiresDate) > transaction.signedDate)
        }
    }

    @Test func `UUIDs follow from the seed and the time`() {
        func first(_ start: Timestamp, _ seed: UInt64) -> String {
            NotificationSeries(customers: 2, bundleID: "a", from: start, seed: seed).uuid(0)
        }
        let later = Self.start.advanced(by: .milliseconds(1))
        #expect(first(Self.start, 1) == Self.series.uuid(0))
        #expect(Set([first(Self.start, 1), first(Self.start, 2), first(later, 1)]).count == 3)
    }

    @Test func `a notification has about the size of a genuine one`() {
        #expect((18_000...24_000).contains(Self.series.notification(3, signedBy: Self.pki).count))
    }
}
