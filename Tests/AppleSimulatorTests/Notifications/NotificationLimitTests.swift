// SPDX-License-Identifier: Apache-2.0

import NIOCore
import NIOHTTP1
import Receipts
import Testing

@testable import AppleSimulator

/// The rules of delivery as values, and one item over each limit.
struct NotificationLimitTests {
    private static let app = AppInStore(bundleID: TestStore.app, endpoint: .production)

    private static func entry(_ number: Int64) -> NotificationLog.Entry {
        NotificationLog.Entry(
            app: app, type: "TEST", subtype: nil, uuid: "\(number)",
            signedDate: Timestamp(millisecondsSince1970: number), appTransactionID: nil, signedPayload: "")
    }

    private static let attempt = NotificationAttempt(date: Timestamp(millisecondsSince1970: 0), result: .other)

    @Test(arguments: [
        (NotificationVersion.two, Endpoint.production, 1.0, [3600, 43_200, 86_400, 172_800, 259_200]),
        (.one, .production, 1.0, [21_600, 86_400, 172_800]), (.two, .sandbox, 1.0, []), (.one, .sandbox, 1.0, []),
        (.two, .production, 0.001, [3.6, 43.2, 86.4, 172.8, 259.2]),
    ])
    func `the waits are Apple's, times the scale`(
        version: NotificationVersion, endpoint: Endpoint, scale: Double, seconds: [Double]
    ) {
        let all = version.waits(at: endpoint, timeScale: scale)
        var delivery = NotificationDelivery(app: Self.app, body: ByteBuffer(), entry: nil, waits: all)
        var waits: [Duration] = []
        while let retry = delivery.retry, waits.count < 7 {
            waits.append(retry.wait)
            delivery = retry.delivery
        }
        #expect(waits.map { ($0 / .milliseconds(1)).rounded() } == seconds.map { ($0 * 1000).rounded() })
    }

    @Test func `the log keeps the newest notifications, and six attempts of each`() {
        var log = NotificationLog(maximumCount: 2)
        let numbers = (1...3).map { log.add(Self.entry($0)) }
        for number in numbers { for _ in 1...7 { log.record(Self.attempt, of: number) } }
        let page = log.page(after: 0, count: 9) { _ in true }
        #expect(page.entries.map(\.uuid) == ["2", "3"] && page.entries.map(\.attempts.count) == [6, 6])
        #expect(log.entry(uuid: "1", of: Self.app) == nil && log.entry(uuid: "3", of: Self.app) != nil)
    }

    @Test func `a page continues after the last one, although the oldest were dropped`() {
        var log = NotificationLog(maximumCount: 4)
        for number in 1...4 { log.record(Self.attempt, of: log.add(Self.entry(Int64(number)))) }
        let first = log.page(after: 0, count: 2) { _ in true }
        for number in 5...7 { log.record(Self.attempt, of: log.add(Self.entry(Int64(number)))) }
        let second = log.page(after: first.continuation ?? 0, count: 2) { _ in true }
        let third = log.page(after: second.continuation ?? 0, count: 2) { _ in true }
        #expect(first.entries.map(\.uuid) == ["1", "2"] && second.entries.map(\.uuid) == ["4", "5"])
        #expect(third.entries.map(\.uuid) == ["6", "7"] && third.continuation == nil)
        #expect(log.page(after: .max - 1, count: 2) { _ in true }.entries.isEmpty)
    }

    @Test func `attempts beyond the limit wait for their turn, oldest first`() {
        var queue = SimulatedDeliveries(maximumInFlight: 2)
        let started = (1...4).map { number in
            queue.add(NotificationDelivery(app: Self.app, body: ByteBuffer(), entry: number))?.entry
        }
        #expect(started == [1, 2, nil, nil] && queue.count == 4 && queue.inFlight == 2)
        #expect([queue.finish()?.entry, queue.finish()?.entry, queue.finish()?.entry] == [3, 4, nil])
        #expect(queue.count == 1 && queue.inFlight == 1)
    }

    @Test func `only so many notifications wait, purchases are added, and URLs are set`() throws {
        var limits = SimulatorLimits()
        (limits.maximumWaitingNotifications, limits.maximumAddedPurchases) = (2, 1)
        limits.maximumNotificationURLs = 1
        let store = try TestStore(limits: limits, knowing: Samples.receipt())
        func answer(_ more: String) throws -> String {
            try store.control(
                .POST, "/notifications",
                #"{"bundle_id":"com.example.app","environment":"production","original_transaction_id":"1000",\#(more)}"#
            ).body
        }
        #expect(try answer(#""type":"EXPIRED","times":3"#).hasPrefix("At most 2 notifications may wait."))
        #expect(try answer(#""type":"DID_RENEW""#).hasPrefix("{\"notification_uuids\":"))
        #expect(try answer(#""type":"DID_RENEW""#).hasPrefix("Notifications add at most 1 purchases"))
        #expect(try answer(#""type":"EXPIRED""#).hasPrefix("{\"notification_uuids\":"))
        try store.receiveNotifications(at: "http://localhost:1")
        try store.receiveNotifications(at: "http://localhost:2")
        let other = #"{"bundle_id":"com.example.other","environment":"sandbox","url":"http://localhost:1"}"#
        #expect(try store.control(.PUT, "/notifications", other).body.hasPrefix("At most 1 notification URLs"))
    }
}
