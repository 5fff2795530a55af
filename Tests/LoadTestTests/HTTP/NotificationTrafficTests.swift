// SPDX-License-Identifier: Apache-2.0

import AppleSimulator
import ArgumentParser
import Foundation
import NIOCore
import ReceiptForge
import Receipts
import Testing

@testable import LoadTest

/// Notifications as requests of a load.
struct NotificationTrafficTests {
    private static let end = UTCDate(2026, 1, 1).timestamp

    private static func form(path: String = "/v1/verify") throws -> RequestForm {
        RequestForm(
            target: try LoadTarget("http://h:1" + path), mode: .apple, maximumAge: 7,
            fields: [HeaderField(name: "X-Test", value: "a")], content: .notification)
    }

    private static func notifications(_ count: Int, seed: UInt64 = 1) async throws -> [ByteBuffer] {
        await NotificationFactory(pki: .ofFleets, form: try form(), customers: 2, seed: seed)
            .requests(count, until: end)
    }

    private static func traffic(
        _ mix: String, count: Int = 12, worker: Int = 0, of workers: Int = 1, before: Int = 0
    ) async throws -> ReceiptTraffic {
        var pools = ReceiptPools(repeated: [])
        pools.notifications = try await notifications(count)
        return ReceiptTraffic(
            pools, try #require(RequestMix(argument: mix)), KeyPopularity(keys: 0, exponent: 1), worker: worker,
            of: workers, seed: 4, notificationsBefore: before)
    }

    private static func body(_ request: ByteBuffer) throws -> [String: String] {
        let body = try #require(String(buffer: request).split(separator: "\r\n\r\n").last)
        return try #require(try JSONSerialization.jsonObject(with: Data(body.utf8)) as? [String: String])
    }

    private static func read(_ request: ByteBuffer) throws -> VerifiedNotification {
        var trusted = TrustStore(anchors: [])
        try trusted.add(pem: TransactionPKI.ofFleets.root.pem, environments: [.production])
        let jws = try #require(try body(request)["signedPayload"])
        return try ReceiptVerifier(trustStore: trusted).verifyNotification(Array(jws.utf8), at: end)
    }

    // MARK: - Requests

    @Test(arguments: [
        ("/v1/verify", "/apple/notifications"), ("/", "/apple/notifications"),
        ("/verifyReceipt", "/apple/notifications"), ("/eu/apple/notifications", "/eu/apple/notifications"),
    ])
    func `a notification goes to the path for them, as Apple writes it`(path: String, expected: String) throws {
        let text = String(buffer: try Self.form(path: path).request("a.b.c"))
        let parts = text.split(separator: "\r\n\r\n")
        #expect(parts.count == 2 && parts[1] == #"{"signedPayload":"a.b.c"}"#)
        #expect(parts[0].hasPrefix("POST \(expected) HTTP/1.1\r\n") && parts[0].contains("X-Test: a"))
        #expect(parts[0].contains("Content-Type: application/json") && parts[0].contains("Content-Length: 25"))
    }

    @Test func `each is genuine, and the last is signed at the end`() async throws {
        let all = try await Self.notifications(70).map(Self.read)
        #expect(all.last?.signedDate == Self.end && Set(all.map(\.notificationUUID)).count == 70)
        #expect(all.map(\.signedDate) == all.map(\.signedDate).sorted())
        #expect(all.allSatisfy { $0.bundleID == SimulatedCustomers.bundleID })
    }

    @Test func `they are about the customers of the simulated Apple`() async throws {
        let originals = try await Self.notifications(2).map { try Self.read($0).transaction?.originalTransactionID }
        #expect(originals == [0, 1].map { AppleSimulator.transactionID(ofCustomer: $0) })
    }

    // MARK: - Order

    @Test func `new ones are sent once each, by one worker, in the order of signing`() async throws {
        var sent: [[ByteBuffer]] = []
        for worker in 0..<2 {
            var traffic = try await Self.traffic("notification=1", worker: worker, of: 2)
            sent.append((0..<6).map { _ in traffic.next() })
        }
        // Each of the workers' pools is signed anew: the UUIDs are the same.
        let uuids = try sent.map { try $0.map { try Self.read($0).notificationUUID } }
        let series = NotificationSeries(
            customers: 2, bundleID: "a", from: Self.end.advanced(by: .milliseconds(-11)), seed: 1)
        #expect(uuids == [0, 1].map { worker in (0..<6).map { series.uuid(worker + 2 * $0) } })
    }

    @Test func `duplicates are bytes that were sent before`() async throws {
        var traffic = try await Self.traffic("notification=0.5,duplicate-notification=0.5", count: 40)
        let sent = (0..<40).map { _ in traffic.next() }
        var known: Set<ByteBuffer> = [], again = 0
        for request in sent where !known.insert(request).inserted { again += 1 }
        #expect(known.count + again == 40 && (10...30).contains(again))
        let uuids = try sent.map { try Self.read($0).notificationUUID }
        #expect(Set(uuids).count == known.count)
    }

    @Test func `without a new one before it, the first of the duplicates is new`() async throws {
        var traffic = try await Self.traffic("duplicate-notification=1")
        let sent = (0..<20).map { _ in traffic.next() }
        #expect(Set(sent).count == 1)
    }

    @Test func `a later run sends others, and a short stock is sent again`() async throws {
        var first = try await Self.traffic("notification=1", count: 4)
        let all = (0..<4).map { _ in first.next() }, again = (0..<4).map { _ in first.next() }
        #expect(Set(all).count == 4 && again == all)
        var later = try await Self.traffic("notification=1", count: 4, before: 3)
        let uuid = try Self.read(later.next()).notificationUUID
        #expect(try uuid == Self.read(all[3]).notificationUUID)
    }

    @Test func `a source knows the notifications of earlier runs`() async throws {
        var pools = ReceiptPools(repeated: [])
        pools.notifications = try await Self.notifications(40)
        let mix = try #require(RequestMix(argument: "notification=0.5,duplicate-notification=0.5"))
        let source = TrafficSource.receipts(pools, mix, KeyPopularity(keys: 0, exponent: 0))
        var traffic = source.traffic(worker: 0, LoadPlan(target: try LoadTarget("http://h")), requestsBefore: 20)
        #expect(traffic.next() == pools.notifications[10])
    }

    // MARK: - Options

    @Test func `a mix of notifications sends nothing else`() throws {
        let mix = try #require(RequestMix(argument: "notification=0.9,duplicate-notification=0.1"))
        #expect(mix.sendsNotifications && !mix.sendsReceipts && !mix.sendsCustomers)
        #expect(!RequestMix.repeated.sendsNotifications && RequestMix.repeated.sendsReceipts)
    }

    @Test func `as many are made as the run is expected to send, from the options`() async throws {
        let command = try HTTPCommand.parse([
            "http://h", "--mix", "notification=0.5,duplicate-notification=0.5", "--customers", "3", "--bundle-id",
            "com.example.other", "--api-key", "secret", "-H", "X-Test: a",
        ])
        let source = try await command.traffic.source(requests: 40, seconds: 1)
        guard case .receipts(let pools, _, _) = source else {
            Issue.record("no requests with notifications")
            return
        }
        #expect(pools.notifications.count == 121 && pools.repeated.isEmpty && pools.customers == nil)
        let head = String(buffer: pools.notifications[0]).prefix(400)
        #expect(head.contains("X-Test: a") && !head.contains("Authorization"))
        let jws = try #require(try Self.body(pools.notifications[5])["signedPayload"])
        let text = String(decoding: try Self.payload(jws), as: UTF8.self)
        #expect(text.contains(#""bundleId":"com.example.other""#) && text.contains(#""notificationType":"DID_RENEW""#))
        let few = try HTTPCommand.parse(["http://h", "--mix", "notification=1", "--notifications", "5"])
        guard case .receipts(let five, _, _) = try await few.traffic.source(requests: 40, seconds: 1) else { return }
        #expect(five.notifications.count == 5)
    }

    @Test func `duplicates alone need few notifications, however many requests there will be`() async throws {
        let command = try HTTPCommand.parse(["http://h", "--mix", "duplicate-notification=1"])
        guard case .receipts(let pools, _, _) = try await command.traffic.source(requests: nil, seconds: 1) else {
            Issue.record("no requests with notifications")
            return
        }
        #expect(pools.notifications.count == 100)
    }

    private static func payload(_ jws: String) throws -> [UInt8] {
        var text = String(try #require(jws.split(separator: ".").dropFirst().first))
        text = text.replacing("-", with: "+").replacing("_", with: "/")
        text += String(repeating: "=", count: (4 - text.count % 4) % 4)
        return Array(try #require(Data(base64Encoded: text)))
    }

    @Test(arguments: [
        ["--notifications", "0"], ["--notifications", "200001"], ["--bundle-id", ""], ["--bundle-id", "a\"b"],
        ["--bundle-id", "com.exämple"], ["--bundle-id", String(repeating: "a", count: 156)],
    ])
    func `options that cannot be are wrong usage`(arguments: [String]) {
        #expect { try HTTPCommand.parse(["http://h"] + arguments) } throws: { error in
            HTTPCommand.exitCode(for: error) == .validationFailure
        }
    }

    @Test(arguments: ["notification=1", "duplicate-notification=0.1"])
    func `notifications for a server elsewhere are signed by the authority of a corpus`(mix: String) throws {
        let error = #expect(throws: ValidationError.self) {
            try HTTPCommand.parse(["http://h", "--mix", mix]).traffic.checkAuthority()
        }
        #expect(error?.message.contains("--mix notification needs the --corpus") == true)
        try HTTPCommand.parse(["http://h", "--mix", mix, "--corpus", "receipts"]).traffic.checkAuthority()
    }

    @Test func `a mix without repeated receipts takes a popularity`() {
        #expect(KeyPopularity(keys: 0, exponent: 1).keys == 0)
    }

    // MARK: - Answers

    @Test(arguments: [
        (200, "", LoadOutcome.ok), (200, #"{"stored":true}"#, .ok), (400, #"{"code":"x"}"#, .refused), (503, "", .shed),
        (500, "", .error),
    ])
    func `a stored notification is ok, a broken one refused, and one that shall come again is shed`(
        status: Int, body: String, expected: LoadOutcome
    ) {
        #expect(LoadOutcome(status: status, cache: [], opening: Array(body.utf8).span) == expected)
    }
}
