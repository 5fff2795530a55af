// SPDX-License-Identifier: Apache-2.0

import Gateway
import ReceiptForge
import Receipts
import Testing

@testable import Customers

/// The effects of notifications that the forge signed.
struct SignedNotificationTests {
    private static let apps = NotificationApps(
        isConfigured: { _ in true }, appAppleID: { _ in nil }, isSharedSecret: { _, _ in false })

    private static func signed(_ members: String) throws -> SignedNotification {
        var contents = NotificationContents()
        (contents.data, contents.additionalMembers) = (nil, members)
        let (_, signed) = try NotificationVerifier(CurrentVerifier(RecoverySamples.verifier), apps: apps)
            .verify(signedPayload: RecoverySamples.pki.jws(contents), at: RecoverySamples.now)
        return signed
    }

    @Test func `what Apple reports of an extension is passed on as it is`() throws {
        let summary =
            #"{"bundleId":"com.example.forge","environment":"Sandbox","requestIdentifier":"r","failedCount":"?"}"#
        let signed = try Self.signed(#""summary": \#(summary.replacing(",", with: " , "))"#)
        #expect(signed.bundleID == "com.example.forge" && signed.environment == .sandbox)
        #expect(signed.cause.summary == Array(summary.utf8) && signed.cause.externalPurchaseToken == nil)
    }

    @Test func `a token of an external purchase is passed on as it is`() throws {
        let token = #"{"externalPurchaseId":"SANDBOX_1","bundleId":"com.example.forge","tokenCreationDate":1}"#
        let signed = try Self.signed(#""externalPurchaseToken":\#(token)"#)
        #expect(signed.environment == .sandbox && signed.updates.isEmpty)
        #expect(signed.cause.externalPurchaseToken == Array(token.utf8) && signed.cause.summary == nil)
    }

    @Test(arguments: [
        #""subtype":5"#, #""summary":[]"#, #""summary":{}"#, #""appData":{}"#, #""externalPurchaseToken":"x""#,
        #""summary":{"bundleId":5}"#, #""appData":{"bundleId":"com.example.other"}"#,
    ])
    func `an odd member beside the data loses nothing`(member: String) throws {
        var contents = NotificationContents()
        contents.subtype = nil
        contents.data?.signedTransactionInfo = String(
            decoding: RecoverySamples.pki.jws(TransactionContents()), as: UTF8.self)
        contents.additionalMembers = member
        let (_, signed) = try NotificationVerifier(CurrentVerifier(RecoverySamples.verifier), apps: Self.apps)
            .verify(signedPayload: RecoverySamples.pki.jws(contents), at: RecoverySamples.now)
        #expect(signed.bundleID == "com.example.forge" && signed.updates.count == 1)
    }

    @Test func `a notification that waits is verified again under other roots`() throws {
        let current = CurrentVerifier(RecoverySamples.verifier), now = RecoverySamples.now
        let verifier = NotificationVerifier(current, apps: Self.apps)
        var contents = NotificationContents()
        contents.data?.signedTransactionInfo = String(
            decoding: RecoverySamples.pki.jws(TransactionContents()), as: UTF8.self)
        let jws = RecoverySamples.pki.jws(contents)
        let (record, _) = try verifier.verify(signedPayload: jws, at: now)
        current.trust(.apple)
        #expect(throws: NotificationRejection.notGenuine(.anchorUntrusted)) { try verifier.verify(record, at: now) }
        #expect(throws: NotificationRejection.notGenuine(.anchorUntrusted)) {
            try verifier.verify(signedPayload: jws, at: now)
        }
        current.trust(RecoverySamples.verifier.trustStore)
        #expect(try verifier.verify(record, at: now).bundleID == RecoverySamples.app)
        #expect(try verifier.verify(signedPayload: jws, at: now).1.bundleID == RecoverySamples.app)
    }

    @Test(arguments: ["DOWNGRADE", "UPGRADE"])
    func `a plan knows that its change of product is a downgrade`(subtype: String) throws {
        var contents = NotificationContents()
        (contents.notificationType, contents.subtype) = ("DID_CHANGE_RENEWAL_PREF", subtype)
        contents.data?.signedRenewalInfo = String(
            decoding: RecoverySamples.pki.jws(RenewalInfoContents()), as: UTF8.self)
        let (_, signed) = try NotificationVerifier(CurrentVerifier(RecoverySamples.verifier), apps: Self.apps)
            .verify(signedPayload: RecoverySamples.pki.jws(contents), at: RecoverySamples.now)
        let plans = signed.updates[0].items.compactMap { item in
            if case .renewal(let plan) = item { plan } else { nil }
        }
        #expect(plans.map(\.isDowngrade) == [subtype == "DOWNGRADE"])
    }

    @Test(arguments: ["summary", "externalPurchaseToken"])
    func `one of more than 16 KiB is left out`(name: String) throws {
        let id = name == "summary" ? "" : #""externalPurchaseId":"SANDBOX_1","#
        let long = String(repeating: "x", count: 16 << 10)
        let signed = try Self.signed(
            #""\#(name)":{\#(id)"bundleId":"com.example.forge","environment":"Sandbox","x":"\#(long)"}"#)
        #expect(signed.cause.summary == nil && signed.cause.externalPurchaseToken == nil)
    }
}
