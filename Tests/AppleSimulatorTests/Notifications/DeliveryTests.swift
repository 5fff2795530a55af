// SPDX-License-Identifier: Apache-2.0

import NIOCore
import NIOHTTP1
import ReceiptForge
import Receipts
import Testing

@testable import AppleSimulator

/// The way of a notification to its URL.
struct DeliveryTests {
    private static let renewal = #""type":"DID_RENEW","original_transaction_id":"1000""#

    private func store(at endpoint: Endpoint = .production, limits: SimulatorLimits = .init()) throws -> TestStore {
        try TestStore(limits: limits, knowing: Samples.receipt(), at: endpoint)
    }

    @Test func `a notification is a signed payload in a POST`() async throws {
        let store = try store()
        try await NotificationReceiver.with { receiver, url in
            try store.receiveNotifications(at: url)
            let uuids = try await store.notify(Self.renewal)
            let request = try #require(receiver.requests.first)
            #expect(receiver.requests.count == 1 && request.members.count == 1)
            #expect(request.head.hasPrefix("POST /apple/notifications?app=1 HTTP/1.1\r\n"))
            #expect(request.head.lowercased().contains("content-type: application/json"))
            let read = try TestStore.verified(request.signedPayload)
            #expect(read.notificationType == "DID_RENEW" && [read.notificationUUID] == uuids)
            #expect(read.bundleID == TestStore.app && read.appAppleID == 9_007_199_254_740_993)
            #expect(read.transaction?.transactionID == "12000" && read.renewalInfo?.originalTransactionID == "1000")
        }
    }

    @Test func `production tries again until the payload is acknowledged`() async throws {
        let store = try store()
        try await NotificationReceiver.with([NotificationReceiver.status(503), "", NotificationReceiver.status(202)]) {
            receiver, url in
            try store.receiveNotifications(at: url)
            try await store.notify(Self.renewal)
            #expect(receiver.requests.count == 3 && Set(receiver.requests.map(\.body)).count == 1)
            let item = try #require(try store.notificationHistory().items.first)
            #expect(item.results == ["UNSUCCESSFUL_HTTP_RESPONSE_CODE", "NO_RESPONSE", "SUCCESS"])
            #expect(item.signedPayload == receiver.requests[0].signedPayload)
            #expect(try store.notificationHistory(#","onlyFailures":true"#).items.isEmpty)
        }
    }

    @Test func `there are six attempts in production, and one in the sandbox`() async throws {
        for (endpoint, count) in [(Endpoint.production, 6), (.sandbox, 1)] {
            let store = try store(at: endpoint)
            try await NotificationReceiver.with([NotificationReceiver.status(400)]) { receiver, url in
                try store.receiveNotifications(at: url, environment: endpoint.rawValue)
                try await store.notify(Self.renewal, environment: endpoint.rawValue)
                let failed = try store.notificationHistory(#","onlyFailures":true"#, at: endpoint)
                #expect(receiver.requests.count == count && failed.items.map(\.results.count) == [count])
            }
        }
    }

    @Test(arguments: [
        (NotificationReceiver.status(200), "SUCCESS"), (NotificationReceiver.status(206), "SUCCESS"),
        (NotificationReceiver.status(207), "UNSUCCESSFUL_HTTP_RESPONSE_CODE"),
        (NotificationReceiver.status(302), "UNSUCCESSFUL_HTTP_RESPONSE_CODE"),
        ("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc", "PREMATURE_CLOSE"), ("", "NO_RESPONSE"),
        ("220 mail.example.com ESMTP\r\n\r\n", "INVALID_RESPONSE"), (nil, "TIMED_OUT"),
    ])
    func `an attempt has Apple's name for its result`(reply: String?, result: String) async throws {
        var limits = SimulatorLimits()
        if reply == nil { limits.notificationTimeout = .seconds(1) }
        let store = try store(at: .sandbox, limits: limits)
        try await NotificationReceiver.with([reply]) { _, url in
            try store.receiveNotifications(at: url, environment: "sandbox")
            try await store.notify(Self.renewal, environment: "sandbox")
            #expect(try store.notificationHistory(at: .sandbox).items.map(\.results) == [[result]])
        }
    }

    @Test func `a port without a server is a socket issue`() async throws {
        let store = try store(at: .sandbox)
        var closed = ""
        try await NotificationReceiver.with { _, url in closed = url }
        try store.receiveNotifications(at: closed, environment: "sandbox")
        try await store.notify(Self.renewal, environment: "sandbox")
        #expect(try store.notificationHistory(at: .sandbox).items.map(\.results) == [["SOCKET_ISSUE"]])
    }

    @Test func `copies have one UUID, and share the attempts of the history`() async throws {
        let store = try store()
        try await NotificationReceiver.with { receiver, url in
            try store.receiveNotifications(at: url)
            let uuids = try await store.notify(Self.renewal + #","times":3,"delay":0.01"#)
            #expect(uuids.count == 1 && receiver.requests.map(\.uuid) == [uuids[0], uuids[0], uuids[0]])
            #expect(try store.notificationHistory().items.map(\.results.count) == [3])
        }
    }

    @Test func `a lost notification is in the history alone`() async throws {
        let store = try store()
        try await NotificationReceiver.with { receiver, url in
            try store.receiveNotifications(at: url)
            let lost = try await store.notify(Self.renewal + #","deliver":false,"result":"TLS_ISSUE""#)
            let received = try await store.notify(Self.renewal)
            #expect(receiver.requests.map(\.uuid) == received)
            let failures = try store.notificationHistory(#","onlyFailures":true"#).items
            #expect(failures.map(\.uuid) == lost && failures.map(\.results) == [["TLS_ISSUE"]])
            #expect(try store.notificationHistory().items.map(\.uuid) == lost + received)
        }
    }

    @Test func `without a URL notifications get lost, and tests are refused`() async throws {
        let store = try store()
        try await store.notify(Self.renewal)
        #expect(try store.notificationHistory().items.map(\.results) == [["NO_RESPONSE"]])
        #expect(try store.call("v1/notifications/test", .POST).errorCode == 4_040_007)
        try store.receiveNotifications(at: "http://localhost:1")
        #expect(try store.call("v1/notifications/test", .POST).status == 200)
        try store.control(.PUT, "/notifications", #"{"bundle_id":"\#(TestStore.app)","environment":"production"}"#)
        #expect(try store.call("v1/notifications/test", .POST).errorCode == 4_040_007)
        await store.store.sender.waitUntilIdle()
    }

    @Test func `a test notification has the result of its only attempt`() async throws {
        let store = try store()
        try await NotificationReceiver.with([NotificationReceiver.status(500)]) { receiver, url in
            try store.receiveNotifications(at: url)
            let reply = try store.call("v1/notifications/test", .POST)
            let token = try #require(reply.json["testNotificationToken"] as? String)
            await store.store.sender.waitUntilIdle()
            let item = HistoryReply.Item(members: try store.call("v1/notifications/test/\(token)").json)
            #expect(item.results == ["UNSUCCESSFUL_HTTP_RESPONSE_CODE"] && receiver.requests.count == 1)
            let read = try TestStore.verified(receiver.requests[0].signedPayload)
            #expect(read.notificationType == "TEST" && read.transaction == nil)
            #expect(token == "\(item.uuid)_\(Samples.start.millisecondsSince1970)")
            #expect(try store.call("v1/notifications/test/\(token)", at: .sandbox).errorCode == 4_040_008)
        }
    }

    @Test func `a test has no status before its attempt ended`() async throws {
        var limits = SimulatorLimits()
        limits.maximumNotificationsInFlight = 0
        let store = try store(limits: limits)
        try store.receiveNotifications(at: "http://localhost:1")
        let reply = try store.call("v1/notifications/test", .POST)
        let token = try #require(reply.json["testNotificationToken"] as? String)
        #expect(try store.call("v1/notifications/test/\(token)").errorCode == 4_040_008)
        #expect(try store.notificationHistory().items.isEmpty)
    }

    @Test func `a simulator is controlled over HTTP, and by its functions`() async throws {
        try await withApple { apple in
            try await NotificationReceiver.with { receiver, url in
                let wire = Wire(apple.sandboxURL)
                let app = #""bundle_id":"com.example.shop","environment":"production""#
                try apple.addCustomers(2, ofApp: "com.example.shop", at: .production)
                #expect(try await wire.ask("PUT", "/notifications", #"{\#(app),"url":"\#(url)"}"#).status == 204)
                let order = #"{\#(app),"type":"DID_RENEW","count":2}"#
                #expect(try await wire.ask("POST", "/notifications", order).status == 200)
                try apple.setNotificationURL(url + "2", ofApp: "com.example.shop", at: .production)
                let subject = NotificationRequest.Subject.subscription(AppleSimulator.transactionID(ofCustomer: 1))
                let uuids = try apple.notify(
                    NotificationRequest(
                        NotificationKind("EXPIRED", "VOLUNTARY"), about: subject, ofApp: "com.example.shop",
                        at: .production))
                await apple.waitForNotifications()
                #expect(receiver.requests.count == 3 && receiver.requests.map(\.uuid).contains(uuids))
                #expect(apple.stats.notifications == NotificationStats(sent: 3, succeeded: 3))
            }
        }
    }

    @Test func `attempts are counted`() async throws {
        let store = try store()
        let ok = NotificationReceiver.status(200)
        try await NotificationReceiver.with([ok, NotificationReceiver.status(500), ok]) { _, url in
            try store.receiveNotifications(at: url)
            for _ in 0..<2 { try await store.notify(Self.renewal) }
            #expect(store.store.statsWithServerAPI.notifications == NotificationStats(sent: 3, succeeded: 2, failed: 1))
            store.store.resetStats()
            #expect(store.store.statsWithServerAPI.notifications == NotificationStats())
        }
    }

    @Test func `delays and retries are counted until the simulator stops`() async throws {
        let store = try store()
        try store.receiveNotifications(at: "http://localhost:1")
        let members = #""bundle_id":"\#(TestStore.app)","environment":"production","delay":600"#
        try store.control(.POST, "/notifications", "{\(members),\(Self.renewal)}")
        let app = AppInStore(bundleID: TestStore.app, endpoint: .production)
        var retry = NotificationDelivery(app: app, body: ByteBuffer(), entry: nil)
        retry.attempt = 2
        store.store.sender.send(retry, after: .seconds(600))
        #expect(store.store.sender.stats == NotificationStats(sent: 0, pending: 1, pendingRetries: 1))
        store.store.sender.stop()
        await store.store.sender.waitUntilIdle()
        store.store.sender.send(retry)
        #expect(store.store.sender.stats == NotificationStats())
    }
}

extension NotificationStats {
    fileprivate init(sent: Int, succeeded: Int = 0, failed: Int = 0, pending: Int = 0, pendingRetries: Int = 0) {
        self.init()
        (self.sent, self.succeeded, self.failed) = (sent, succeeded, failed)
        (self.pending, self.pendingRetries) = (pending, pendingRetries)
    }
}
