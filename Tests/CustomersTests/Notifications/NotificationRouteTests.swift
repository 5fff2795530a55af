// SPDX-License-Identifier: Apache-2.0

import Gateway
import HTTPTypes
import ReceiptForge
import Receipts
import Resilience
import Telemetry
import Testing

@testable import API
@testable import Clients
@testable import Customers
@testable import HTTPServer
@testable import ServerTestSupport

/// The answers to Apple's notifications.
@Suite("POST /apple/notifications")
struct NotificationRouteTests {
    private typealias Signed = SignedNotifications

    // MARK: - Accepted

    @Test func `a genuine notification is stored and gets 200 without a body`() async throws {
        let site = try NotificationSite()
        let reply = try await site.post(Signed.v2())
        #expect(reply.status == .ok && reply.body.count == 0 && !reply.isLast)
        #expect(site.stored == [AppPartition(bundleID: NotificationSite.app, of: "2000000900000001")])
        #expect(site.received(.stored) == 1)
        let lines = site.log.containing(#""notification":"stored","notification_version":"v2""#)
        #expect(lines.count == 1 && lines[0].contains(#""environment":"Sandbox""#))
    }

    @Test func `a repetition gets 200, and has no effect`() async throws {
        let site = try NotificationSite()
        for _ in 1...3 { #expect(try await site.post(Signed.v2()).status == .ok) }
        #expect(site.stored.count == 1)
        #expect(site.received(.stored) == 1 && site.received(.duplicate) == 2)
        #expect(site.log.containing(#""notification":"duplicate""#).count == 2)
    }

    @Test func `a test notification, which is about no purchase, gets 200`() async throws {
        let site = try NotificationSite()
        let reply = try await site.post(Signed.v2(about: nil) { $0.notificationType = "TEST" })
        #expect(reply.status == .ok && site.stored.count == 1)
    }

    @Test(arguments: ["application/json", "application/json; charset=utf-8", "Application/JSON;charset=\"UTF-8\""])
    func `JSON may name its charset`(contentType: String) async throws {
        #expect(try await NotificationSite().post(Signed.v2(), contentType: contentType).status == .ok)
    }

    @Test func `the number of the app counts in production only`() async throws {
        let site = try NotificationSite()
        #expect(try await site.post(Signed.v2 { $0.data?.appAppleID = 7 }).status == .ok)
        var transaction = TransactionContents()
        transaction.environment = "Production"
        let inProduction = Signed.v2(about: transaction) { contents in
            contents.data?.environment = "Production"
            contents.notificationUUID = "0f2b7a52-8c14-4b8e-8a5e-1c9d3e7f6a02"
        }
        #expect(try await site.post(inProduction).status == .ok)
    }

    @Test func `a notification of production without the number of the app has the signed app`() async throws {
        let site = try NotificationSite()
        let body = Signed.v2(about: nil) {
            $0.data?.environment = "Production"
            $0.data?.appAppleID = nil
        }
        #expect(try await site.post(body).status == .ok && site.stored.count == 1)
    }

    /// Returns a notification of a kind that Apple may add.
    private static func unknown(_ members: String) -> String {
        let payload = """
            {"notificationType":"NEWS","notificationUUID":"0f2b7a52-8c14-4b8e-8a5e-1c9d3e7f6a03","version":"3.0",
             "signedDate":\(TransactionContents.signedByDefault.millisecondsSince1970),\(members)}
            """
        return #"{"signedPayload":"\#(String(decoding: SignedSamples.pki.jws(Array(payload.utf8)), as: UTF8.self))"}"#
    }

    @Test(arguments: [
        (#""news":{"bundleId":"com.example.forge","environment":"Sandbox","more":[{}]}"#, true),
        (
            #""a":1,"b":{"bundleId":7},"c":{"x":{}},"news":{"bundleId":"com.example.forge","environment":"Sandbox"}"#,
            true
        ),
        (#""data":{"environment":"Sandbox"},"news":{"bundleId":"com.example.forge","environment":"Sandbox"}"#, true),
        (#""news":{"environment":"Sandbox"}"#, false), (#""news":{"inside":{"bundleId":"com.example.forge"}}"#, false),
        (#""news":[{"bundleId":"com.example.forge","environment":"Sandbox"}]"#, false),
        (#""news":{"bundleId":"com.example.forge","environment":"Xcode"}"#, false),
    ])
    func `a notification of an unknown kind is stored if an object in it names the app`(
        members: String, isStored: Bool
    ) async throws {
        let site = try NotificationSite()
        let reply = try await site.post(Self.unknown(members))
        #expect((reply.status == .ok) == isStored && site.stored.count == (isStored ? 1 : 0), "\(reply.text)")
    }

    @Test func `the state in an unknown container counts, if its environment is signed`() throws {
        let transaction = SignedSamples.text(TransactionContents()), plan = SignedSamples.text(RenewalInfoContents())
        func updates(_ members: String) throws -> [CustomerStateUpdate] {
            let object = #""bundleId":"com.example.forge",\#(members)"#
            let body = try NotificationBody(Array(Self.unknown("\"news\":{\(object)}").utf8))
            guard case .v2(let jws) = body else { return [] }
            return try SignedNotification(SignedSamples.verifier.verifyNotification(jws, at: NotificationSite.now))
                .updates
        }
        let sandbox = #""environment":"Sandbox""#
        let about = #""signedTransactionInfo":"\#(transaction)""#, planned = #""signedRenewalInfo":"\#(plan)""#
        #expect(try updates("\(sandbox),\(about),\(planned)").map(\.items.count) == [2])
        // A plan alone is news, too.
        #expect(try updates("\(sandbox),\(planned)").map(\.items.count) == [1])
        #expect(try updates("\(sandbox),\(planned)").map(\.chain.originalTransactionID) == ["2000000900000001"])
        #expect(try updates(sandbox).isEmpty)
    }

    /// Returns signed contents with a claim in a form that Apple does not document.
    private static func odd(_ contents: some SignedContents, _ claim: String) -> String {
        let payload = String(decoding: contents.payload, as: UTF8.self)
        let odd = payload.replacing("\"\(claim)\":", with: "\"\(claim)\":[],\"was\":")
        return String(decoding: SignedSamples.pki.jws(Array(odd.utf8)), as: UTF8.self)
    }

    @Test(arguments: [true, false])
    func `an item that cannot be read is left out, and the other one counts`(isPlanOdd: Bool) async throws {
        var refunded = TransactionContents()
        (refunded.revocationDate, refunded.revocationReason) = (TransactionContents.signedByDefault, 0)
        let planned = RenewalInfoContents()
        let transaction = isPlanOdd ? SignedSamples.text(refunded) : Self.odd(refunded, "expiresDate")
        let plan = isPlanOdd ? Self.odd(planned, "autoRenewStatus") : SignedSamples.text(planned)
        let body = Self.unknown(
            #""data":{"bundleId":"com.example.forge","environment":"Sandbox","signedTransactionInfo":"\#(transaction)","#
                + #""signedRenewalInfo":"\#(plan)"}"#)
        let site = try NotificationSite()
        #expect(try await site.post(body).status == .ok && site.stored.count == 1)
        #expect(site.registry.value(of: "notification_unreadable_items_total") == 1)
        #expect(site.log.containing(isPlanOdd ? "autoRenewStatus" : "expiresDate").count == 1)
        guard case .v2(let jws) = try NotificationBody(Array(body.utf8)) else { return }
        let verified = try SignedSamples.verifier.verifyNotification(jws, at: NotificationSite.now)
        #expect(verified.unreadableItems.map(\.rule) == [.claimMalformed])
        let signed = try SignedNotification(verified)
        #expect(signed.outdated.contains("2000000900000001"))
        // A plan without its transaction would make the state look newer than it is.
        #expect(signed.updates.map(\.items.count) == (isPlanOdd ? [1] : []))
        for case .transaction(let kept) in signed.updates.flatMap(\.items) { #expect(kept.cancellationDate != nil) }
    }

    @Test(arguments: ["", #""news":{"bundleId":"com.example.forge"},"#])
    func `the app of a notification may stand in its transaction or beside it`(beside: String) async throws {
        let transaction = SignedSamples.text(TransactionContents())
        let body = Self.unknown(
            beside + #""data":{"environment":"Sandbox","signedTransactionInfo":"\#(transaction)"}"#)
        #expect(try await NotificationSite().post(body).status == .ok)
        guard case .v2(let jws) = try NotificationBody(Array(body.utf8)) else { return }
        let signed = try SignedNotification(
            SignedSamples.verifier.verifyNotification(jws, at: NotificationSite.now))
        #expect(signed.bundleID == "com.example.forge" && signed.updates.map(\.items.count) == [1])
    }

    // MARK: - Rejected

    struct Rejection: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let body: String
        var status = 400
        var code = "invalid_notification"
        var fault: String?
    }

    private static let rejections = [
        Rejection(testDescription: "no JSON", body: "{", fault: "truncated"),
        Rejection(testDescription: "an empty body", body: "", fault: "empty_body"),
        Rejection(testDescription: "neither version", body: "{}", fault: "unknown_form"),
        Rejection(testDescription: "no JWS", body: #"{"signedPayload":"x"}"#, fault: "jws_not_compact"),
        Rejection(
            testDescription: "another authority's signature", body: Signed.v2(by: TransactionPKI(seed: 2)),
            fault: "anchor_untrusted"),
        Rejection(
            testDescription: "another app's transaction",
            body: Signed.v2 { $0.data?.bundleID = "com.example.other" }, fault: "items_of_different_apps"),
        Rejection(
            testDescription: "no app", body: Signed.v2(about: nil) { $0.data?.bundleID = nil }, fault: "app_missing"),
        Rejection(
            testDescription: "another number of the app",
            body: Signed.v2(about: nil) {
                $0.data?.environment = "Production"
                $0.data?.appAppleID = 7
            }, fault: "app_apple_id_mismatch"),
        Rejection(
            testDescription: "more than 256 KiB",
            body: #"{"signedPayload":"\#(String(repeating: "x", count: 256 << 10))"}"#, status: 413,
            code: "body_too_large"),
        Rejection(
            testDescription: "an app that is not served",
            body: Signed.v2(about: nil) { $0.data?.bundleID = "com.example.other" }, status: 503,
            code: "app_not_configured"),
    ]

    @Test(arguments: rejections)
    func `a notification that is not accepted gets a problem, and is not stored`(rejection: Rejection) async throws {
        let site = try NotificationSite()
        let reply = try await site.post(rejection.body)
        #expect(reply.status.code == rejection.status && reply.code == rejection.code, "\(reply.text)")
        #expect(reply.fault == rejection.fault, "\(reply.text)")
        #expect(reply.isLast && site.stored.isEmpty)
        #expect(site.log.containing(#""problem":"\#(rejection.code)""#).count == 1)
        // Apple sends it again, even if it is known by then.
        #expect(try await site.post(rejection.body).status.code == rejection.status)
    }

    @Test func `an app that is not served is counted, and logged once an hour`() async throws {
        let site = try NotificationSite()
        let body = Signed.v2(about: nil) { $0.data?.bundleID = "com.example.other" }
        for _ in 1...3 {
            let reply = try await site.post(body)
            #expect(reply.fields[.retryAfter] == "3600" && reply.text.contains("clients file"))
        }
        #expect(site.received(.unknownApp) == 3)
        #expect(site.log.containing("not configured").filter { $0.contains("com.example.other") }.count == 1)
    }

    @Test func `a store that would lose a notification does not get it`() async throws {
        let volatile = try NotificationSite(isPermitted: false)
        let reply = try await volatile.post(Signed.v2())
        #expect(reply.status == .serviceUnavailable && reply.code == "notification_not_stored")
        #expect(reply.fault == "store_volatile" && reply.text.contains("allow_volatile"))
        #expect(reply.fields[.retryAfter] != nil && volatile.stored.isEmpty)
        #expect(volatile.received(.refused) == 1)
        #expect(volatile.registry.value(of: #"notifications_refused_total{reason="store_volatile"}"#) == 1)
        let full = try NotificationSite(backlogBytes: 1000)
        #expect(try await full.post(Signed.v2()).fault == "backlog_full")
    }

    @Test(arguments: ["text/json", "application/json; charset=latin1", nil])
    func `another media type gets 415`(contentType: String?) async throws {
        let site = try NotificationSite()
        #expect(try await site.post(Signed.v2(), contentType: contentType).status == .unsupportedMediaType)
        #expect(site.stored.isEmpty)
    }

    // MARK: - Paths

    private static let token = "a-Token_of-sixteen-characters-or-more"

    @Test func `with a token only its path is served, and no log line or metric has it`() async throws {
        let site = try NotificationSite(token: Self.token)
        #expect(try await site.post(Signed.v2(), to: "/apple/notifications/\(Self.token)").status == .ok)
        for wrong in ["\(Self.token)x", "x", String(Self.token.dropLast()), Self.token.lowercased()] {
            #expect(try await site.post(Signed.v2(), to: "/apple/notifications/\(wrong)").status == .notFound)
        }
        #expect(try await site.post(Signed.v2()).status == .notFound)
        #expect(site.stored.count == 1)
        #expect(site.log.containing(#""route":"/apple/notifications/{token}""#).count == 5)
        #expect(site.log.containing(Self.token).isEmpty && !site.registry.text().contains(Self.token))
    }

    @Test func `without a token there is no other path`() async throws {
        let site = try NotificationSite()
        #expect(try await site.post(Signed.v2(), to: "/apple/notifications/\(Self.token)").status == .notFound)
        #expect(try await site.post(Signed.v2(), to: "/apple/notifications/").status == .ok)
    }

    @Test func `without an app in the clients file there is no path`() async throws {
        let reply = try await NotificationSite(apps: []).post(Signed.v2())
        #expect(reply.status == .notFound)
    }

    // MARK: - Limits

    private func bucket(of address: String) throws -> RateBucket {
        RateBucket(
            client: NotificationRoutes.Limits.client, policy: NotificationRoutes.Limits.address,
            subject: try #require(NetworkAddress(address)).source.description)
    }

    @Test func `an address with too many invalid notifications is refused before verification`() async throws {
        let site = try NotificationSite()
        _ = site.limiter.admit([RateCharge(try bucket(of: "192.0.2.1"), cost: 599)])
        #expect(try await site.post("{}").status.code == 400)
        for body in ["{}", Signed.v2()] {
            let reply = try await site.post(body)
            #expect(reply.status == .tooManyRequests && reply.text.contains(#"["invalid-notifications"]"#))
        }
        #expect(site.received(.invalid, version: "unknown") == 1 && site.received(.stored) == 0)
        #expect(try await site.post("{}", from: "192.0.2.2").status.code == 400)
        #expect(site.registry.value(of: #"limited_requests_total{limit="rate"}"#) == 2)
    }

    @Test func `a genuine notification is never charged, whatever becomes of it`() async throws {
        let site = try NotificationSite()
        let others = [
            Signed.v2(), Signed.v2(about: nil) { $0.data?.bundleID = "com.example.other" },
            Signed.v2(about: nil) {
                $0.data?.environment = "Production"; $0.data?.appAppleID = 7
            },
        ]
        for body in others + others { _ = try await site.post(body) }
        // A bucket without charges is full.
        let charge = RateCharge(try bucket(of: "192.0.2.1"), cost: 600)
        #expect(site.limiter.admit([charge]).isAdmitted)
    }

    @Test func `a repetition that is larger than Apple's is charged`() async throws {
        let site = try NotificationSite(), body = Signed.v2()
        for padding in [0, 500, 2000] {
            #expect(try await site.post(body + String(repeating: " ", count: padding)).status == .ok)
        }
        let charge = RateCharge(try bucket(of: "192.0.2.1"), cost: 600)
        #expect(!site.limiter.admit([charge]).isAdmitted)
        _ = site.limiter.admit([RateCharge(try bucket(of: "192.0.2.1"), cost: 599)])
        let padded = try await site.post(body + String(repeating: " ", count: 2000))
        #expect(padded.status == .tooManyRequests && site.stored.count == 1)
    }

    @Test(arguments: [
        "{", "{}", Signed.v2(by: TransactionPKI(seed: 2)), Signed.v1(password: "wrong"),
        Signed.v1(bundleID: "com.example.other"),
    ])
    func `a notification that proves nothing is charged`(body: String) async throws {
        let site = try NotificationSite()
        _ = try await site.post(body)
        let charge = RateCharge(try bucket(of: "192.0.2.1"), cost: 600)
        #expect(!site.limiter.admit([charge]).isAdmitted)
    }

    // MARK: - Version 1

    @Test(arguments: [NotificationSite.secret, NotificationSite.accountSecret])
    func `version 1 is accepted with the app's shared secret or the account's`(password: String) async throws {
        let site = try NotificationSite()
        let reply = try await site.post(Signed.v1(password: password, receipt: Signed.receipt()))
        #expect(reply.status == .ok && site.received(.stored, version: "v1") == 1)
        #expect(site.stored == [AppPartition(bundleID: NotificationSite.app, of: "1000")])
    }

    @Test(arguments: [
        (NotificationRoutes.Limits.version1, "version-1-notifications"),
        (NotificationRoutes.Limits.version1Size, "version-1-kibibytes"),
    ])
    func `version 1 is limited for each app, by number and by size`(policy: RatePolicy, name: String) async throws {
        let site = try NotificationSite()
        let bucket = RateBucket(
            client: NotificationRoutes.Limits.client, policy: policy, subject: NotificationSite.app)
        let first = Signed.v1(receipt: Signed.receipt())
        #expect(try await site.post(first).status == .ok)
        let left = policy.burst - (name == "version-1-notifications" ? 1 : (first.utf8.count + 1023) / 1024)
        #expect(site.limiter.admit([RateCharge(bucket, cost: left)]).isAdmitted)
        let refused = try await site.post(Signed.v1(receipt: Signed.receipt(vendor: 2)))
        #expect(refused.status == .tooManyRequests && refused.text.contains(name))
        #expect(refused.fields[.retryAfter] != nil && site.stored.count == 1)
        #expect(site.received(.stored, version: "v1") == 1 && site.received(.duplicate, version: "v1") == 0)
        // Version 2 has a signature, and no limit.
        #expect(try await site.post(Signed.v2()).status == .ok)
    }

    @Test func `a repetition of version 1 has a receipt with other bytes`() async throws {
        let site = try NotificationSite()
        for vendor in [1, 2] as [UInt8] {
            #expect(try await site.post(Signed.v1(receipt: Signed.receipt(vendor: vendor))).status == .ok)
        }
        #expect(site.stored.count == 1 && site.received(.duplicate, version: "v1") == 1)
    }

    @Test func `version 1 may come without a receipt`() async throws {
        #expect(try await NotificationSite().post(Signed.v1()).status == .ok)
    }

    private static let rejectionsOfVersion1 = [
        Rejection(testDescription: "a wrong password", body: Signed.v1(password: "wrong"), fault: "password_wrong"),
        Rejection(testDescription: "an empty password", body: Signed.v1(password: ""), fault: "password_wrong"),
        Rejection(
            testDescription: "another app's receipt", body: Signed.v1(receipt: Signed.receipt(of: "com.example.other")),
            fault: "receipt_of_other_app"),
        Rejection(testDescription: "no base64", body: Signed.v1(receipt: "*"), fault: "receipt_not_base64"),
        Rejection(
            testDescription: "a receipt of another authority",
            body: Signed.v1(receipt: Signed.receipt(by: ForgedPKI(seed: 2))), fault: "anchor_untrusted"),
        Rejection(
            testDescription: "an app that is not served", body: Signed.v1(bundleID: "com.example.other"), status: 503,
            code: "app_not_configured"),
    ]

    @Test(arguments: rejectionsOfVersion1)
    func `a notification of version 1 that is not accepted gets a problem`(rejection: Rejection) async throws {
        let site = try NotificationSite()
        let reply = try await site.post(rejection.body)
        #expect(reply.status.code == rejection.status && reply.code == rejection.code, "\(reply.text)")
        #expect(reply.fault == rejection.fault && site.stored.isEmpty)
        #expect(site.log.containing(NotificationSite.secret).isEmpty)
        // The app is not signed.
        #expect(site.log.containing("com.example.other").isEmpty)
    }
}
