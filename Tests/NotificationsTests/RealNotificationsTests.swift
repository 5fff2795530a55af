// SPDX-License-Identifier: Apache-2.0

import Foundation
@testable import Gateway
import JSON
import RealCorpus
import Receipts
import Testing

@testable import Customers

/// Notifications that Apple really sent. Skipped without their folders, beside that of the receipts.
struct RealNotificationsTests {
    private static let now = Timestamp(millisecondsSince1970: 1_790_000_000_000)
    private static let anyApp = NotificationApps(
        isConfigured: { _ in true }, appAppleID: { _ in nil }, isSharedSecret: { _, _ in true })
    private static let verifier = NotificationVerifier(CurrentVerifier(ReceiptVerifier()), apps: anyApp)

    // MARK: Version 2

    private static let version2: [URL] = {
        guard let folder = RealCorpus.folder(besideReceipts: "jws") else { return [] }
        let files = try? FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil)
        return (files ?? []).filter { $0.lastPathComponent.hasPrefix("apple_notification") }
    }()

    @Test(arguments: version2)
    func `the state that Apple names follows from what it signed`(_ file: URL) throws {
        let text = try String(contentsOf: file, encoding: .utf8).trimmingCharacters(in: .whitespacesAndNewlines)
        let (_, signed) = try Self.verifier.verify(signedPayload: Array(text.utf8), at: Self.now)
        #expect(!signed.outdated.isEmpty && signed.environment == .sandbox)
        let update = try #require(signed.updates.first)
        var record = ChainRecord(update.chain)
        for item in update.items { record.add(OrderedState(item, SignedStateOrder(item, tieBreaker: 0))) }
        let claims = try Self.claims(of: Array(text.utf8)), state = record.state
        let date = try #require(claims["signedDate"]?.number?.integer)
        let signedAt = Timestamp(millisecondsSince1970: date)
        let subscriptions = Entitlements(
            in: TransactionList(state.transactions), renewals: state.renewals, at: signedAt,
            rules: SubscriptionRules()
        ).subscriptions
        let status = try #require(claims["data"]?["status"]?.number?.integer)
        // A refund carries the refunded period alone: here an earlier one of a subscription that goes on.
        let isEarlierPeriod = subscriptions[0].state == .revoked && status == 1
        #expect(Self.statuses[subscriptions[0].state] == status || isEarlierPeriod)
        #expect(state.renewals.compactMap(\.status) == [ReportedStatus(code: status, at: signedAt)])
        #expect(isEarlierPeriod == file.lastPathComponent.contains("_REFUND_"))
    }

    /// Apple's numbers (`status`).
    private static let statuses: [SubscriptionState: Int64] = [
        .active: 1, .expired: 2, .inBillingRetry: 3, .inGracePeriod: 4, .revoked: 5,
    ]

    private static func claims(of jws: [UInt8]) throws -> JSONValue {
        let payload = jws.split(separator: UInt8(ascii: "."))[1]
        let text = Array(payload)
        let json = Base64URLDecoder.decode(text.span)
        return try JSONValue(parsing: #require(json))
    }

    // MARK: Version 1

    private static let version1 = (try? RealCorpus.files(in: RealCorpus.folder(besideReceipts: "notifications"))) ?? []

    @Test(arguments: version1)
    func `the receipt in a notification of version 1 says the same as its unsigned members`(_ file: URL) throws {
        let body = Array(try Data(contentsOf: file))
        let (record, signed) = try Self.verifier.verify(NotificationBody(body), body: body, at: Self.now)
        #expect(record.version == .v1 && signed.environment == .sandbox && signed.refresh != nil)
        let listed = try #require(try JSONValue(parsing: body)["unified_receipt"]?["latest_receipt_info"]?.elements)
        let ends = Dictionary(
            uniqueKeysWithValues: listed.map { ($0["transaction_id"]?.string ?? "", $0["expires_date_ms"]?.string) })
        let update = try #require(signed.updates.first)
        #expect(update.items.count == min(listed.count, SignedNotification.Limits.transactions))
        for case .transaction(let transaction) in update.items {
            #expect(ends[transaction.transactionID] == transaction.expiresDate.map { "\($0.millisecondsSince1970)" })
        }
        // Apple gives it no identity: the same bytes have the same, another change of the plan another one.
        #expect(
            try Self.verifier.verify(NotificationBody(body), body: body, at: Self.now).1.identity == signed.identity)
        let text = String(decoding: body, as: UTF8.self).replacing("1606293002000", with: "1606293003000")
        let other = Array(text.utf8)
        #expect(other != body)
        #expect(
            try Self.verifier.verify(NotificationBody(other), body: other, at: Self.now).1.identity != signed.identity)
    }
}
