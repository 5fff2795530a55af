// SPDX-License-Identifier: Apache-2.0

import NIOHTTP1
import Testing

@testable import AppleSimulator

/// The Retention Messaging API and the Advanced Commerce API.
struct MessagingTests {
    private static let image = "0f2b7a52-8c14-4b8e-8a5e-1c9d3e7f6a01"
    private static let message = "7e3fb20b-4cdb-47cc-936d-99d65f608138"
    private static let text = #"{"header":"Stay","body":"Half the price."}"#

    private static func withImage(_ image: String) -> String {
        #"{"header":"h","body":"b","image":{"imageIdentifier":"\#(image)","altText":"a"}}"#
    }

    /// Uploads an image; `body` is what it begins with.
    private static func upload(
        to store: TestStore, query: String = "", _ body: [UInt8] = [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]
    ) throws -> APIReply {
        let head = store.head("/inApps/v1/messaging/image/\(image)\(query)", .PUT, type: "image/png")
        return try store.call(head, bytes: body, at: .sandbox)
    }

    @Test func `an image is uploaded, listed, used and deleted`() throws {
        let store = try TestStore()
        #expect(try Self.upload(to: store, query: "?imageSize=BULLET_POINT").status == 200)
        let list = try store.call("v1/messaging/image/list", at: .sandbox).json["imageIdentifiers"] as? [[String: Any]]
        #expect(list?.count == 1 && list?.first?["imageIdentifier"] as? String == Self.image)
        #expect(list?.first?["imageState"] as? String == "APPROVED")
        #expect(list?.first?["imageSize"] as? String == "BULLET_POINT")
        let path = "v1/messaging/message/\(Self.message)"
        #expect(try store.call(path, .PUT, Self.withImage(Self.image), at: .sandbox).status == 200)
        #expect(try store.call("v1/messaging/image/\(Self.image)", .DELETE, at: .sandbox).errorCode == 4_030_019)
        #expect(try store.call(path, .DELETE, at: .sandbox).status == 200)
        #expect(try store.call("v1/messaging/image/\(Self.image)", .DELETE, at: .sandbox).status == 200)
        #expect(try store.call("v1/messaging/image/\(Self.image)", .DELETE, at: .sandbox).errorCode == 4_040_014)
    }

    @Test func `an image must be one, and new`() throws {
        let store = try TestStore()
        #expect(try Self.upload(to: store, [1, 2, 3]).errorCode == 4_000_161)
        #expect(try Self.upload(to: store, query: "?imageSize=HUGE").errorCode == 4_000_216)
        #expect(try Self.upload(to: store).status == 200)
        #expect(try Self.upload(to: store).errorCode == 4_090_000)
    }

    @Test(arguments: [
        (#"{"header":"\#(String(repeating: "h", count: 67))","body":"b"}"#, 4_000_162),
        (#"{"header":"h","body":"\#(String(repeating: "b", count: 145))"}"#, 4_000_163), (withImage(image), 4_040_014),
        ("{}", 4_000_000), (text, 4_090_001),
    ])
    func `a message is checked`(body: String, code: Int) throws {
        let store = try TestStore(), path = "v1/messaging/message/\(Self.message)"
        if body == Self.text { #expect(try store.call(path, .PUT, body, at: .sandbox).status == 200) }
        #expect(try store.call(path, .PUT, body, at: .sandbox).errorCode == code)
    }

    @Test func `a default message is approved in the sandbox only, and belongs to a product and a locale`() throws {
        let store = try TestStore(), place = "v1/messaging/default/com.example.app.monthly/de-DE"
        let body = #"{"messageIdentifier":"\#(Self.message)"}"#
        #expect(try store.call(place, .PUT, body, at: .sandbox).errorCode == 4_040_015)
        for endpoint in [Endpoint.production, .sandbox] {
            let path = "v1/messaging/message/\(Self.message)"
            #expect(try store.call(path, .PUT, Self.text, at: endpoint).status == 200)
        }
        #expect(try store.call(place, .PUT, body).errorCode == 4_030_017)
        #expect(try store.call(place, .PUT, body, at: .sandbox).status == 200)
        #expect(try store.call(place, at: .sandbox).json["messageIdentifier"] as? String == Self.message)
        #expect(try store.call(place + "-x", at: .sandbox).errorCode == 4_040_020)
        #expect(try store.call(place, .DELETE, at: .sandbox).status == 200)
        #expect(try store.call(place, .DELETE, at: .sandbox).errorCode == 4_040_020)
    }

    @Test func `the real-time URL is set, tested and deleted`() throws {
        let store = try TestStore(), path = "v1/messaging/realtime/url"
        let test = #"{"originalTransactionId":"1000"}"#
        #expect(try store.call(path, at: .sandbox).errorCode == 4_040_021)
        #expect(try store.call(path, .PUT, #"{"realtimeURL":"http://a"}"#, at: .sandbox).errorCode == 4_000_215)
        #expect(try store.call(path, .PUT, #"{"realtimeURL":"https://a.example"}"#, at: .sandbox).status == 200)
        #expect(try store.call(path, at: .sandbox).json["realtimeURL"] as? String == "https://a.example")
        #expect(try store.call("v1/messaging/performanceTest", .POST, test).errorCode == 4_000_211)
        let started = try store.call("v1/messaging/performanceTest", .POST, test, at: .sandbox)
        let id = try #require(started.json["requestId"] as? String)
        let result = try store.call("v1/messaging/performanceTest/result/\(id)", at: .sandbox).json
        #expect(result["result"] as? String == "PASS" && result["target"] as? String == "https://a.example")
        let other = "v1/messaging/performanceTest/result/"
        #expect(try store.call(other + Self.image, at: .sandbox).errorCode == 4_040_018)
        #expect(try store.call(other + "1", at: .sandbox).errorCode == 4_000_212)
        #expect(try store.call(path, .DELETE, at: .sandbox).status == 200)
        #expect(try store.call(path, .DELETE, at: .sandbox).errorCode == 4_040_021)
    }

    @Test func `the messages of an app are limited, and the apps that have some`() throws {
        var limits = SimulatorLimits()
        (limits.maximumMessages, limits.maximumMessagingApps) = (1, 1)
        let store = try TestStore(limits: limits), messages = "v1/messaging/message/"
        #expect(try store.call(messages + Self.message, .PUT, Self.text, at: .sandbox).status == 200)
        #expect(try store.call(messages + Self.image, .PUT, Self.text, at: .sandbox).errorCode == 4_030_016)
        #expect(try store.call(messages + Self.message, .PUT, Self.text, at: .production).errorCode == 5_000_000)
        #expect(try store.call(messages + Self.message, .DELETE, at: .sandbox).status == 200)
        #expect(try store.call(messages + Self.image, .PUT, Self.text, at: .sandbox).status == 200)
    }

    @Test(arguments: [
        ("subscription/cancel/1000", "7e3fb20b-4cdb-47cc-936d-99d65f608138", nil),
        ("transaction/requestRefund/2000", "7e3fb20b-4cdb-47cc-936d-99d65f608138", nil),
        ("subscription/cancel/1000", "x", 4_000_000),
        ("subscription/cancel/999", "7e3fb20b-4cdb-47cc-936d-99d65f608138", 4_040_010),
        ("subscription/cancel/abc", "7e3fb20b-4cdb-47cc-936d-99d65f608138", 4_000_006),
    ])
    func `a change of Advanced Commerce is answered with the signed transaction`(
        path: String, reference: String, code: Int?
    ) throws {
        let store = try TestStore(knowing: Samples.receipt())
        let head = store.head("/advancedCommerce/v1/\(path)", .POST, type: "application/json")
        let reply = try store.call(head, #"{"requestInfo":{"requestReferenceId":"\#(reference)"}}"#)
        #expect(reply.errorCode == code)
        guard code == nil else { return }
        let id = path.split(separator: "/").last.map(String.init)
        #expect(reply.claims(of: "signedTransactionInfo")["transactionId"] as? String == id)
        #expect((reply.json["signedRenewalInfo"] != nil) == path.hasPrefix("subscription"))
    }
}
