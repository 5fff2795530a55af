// SPDX-License-Identifier: Apache-2.0

import NIOCore
import Testing

@testable import Redis

struct SubscriberConnectionTests {
    @Test func `it enables tracking for itself and subscribes`() {
        var connection = SubscriberConnection(configuration, until: at(250))
        #expect(Seen.words(connection.begin()) == [["CLIENT", "SETNAME", "receipt-gateway"], ["PING"]])
        _ = connection.receive(.status("OK"), at: at(1))
        #expect(Seen(connection.receive(.status("PONG"), at: at(1))) == .send([["CLIENT", "ID"]]))
        let said = Seen(connection.receive(.integer(17), at: at(1)))
        #expect(
            said
                == .send([
                    ["CLIENT", "TRACKING", "ON", "REDIRECT", "17", "BCAST", "PREFIX", "rc:", "PREFIX", "gw:"],
                    ["SUBSCRIBE", "__redis__:invalidate", "news"],
                ]))
        #expect(Seen(connection.receive(.status("OK"), at: at(1))) == .nothing)
        #expect(Seen(connection.receive(subscribed("__redis__:invalidate"), at: at(1))) == .nothing)
        #expect(connection.deadline == at(250))
        #expect(Seen(connection.receive(subscribed("news"), at: at(1))) == .ready)
    }

    @Test func `it receives names, a flush, or a message`() {
        var connection = ready()
        #expect(
            Seen(
                connection.receive(message("__redis__:invalidate", .array([.text("rc:1"), .text("gw:2")])), at: at(2)))
                == .observe(.invalidated([Array("rc:1".utf8), Array("gw:2".utf8)])))
        #expect(
            Seen(connection.receive(message("__redis__:invalidate", .null), at: at(2))) == .observe(.flushed(.told)))
        #expect(
            Seen(connection.receive(message("news", .text("x")), at: at(2)))
                == .observe(.published(channel: "news", message: [120])))
        #expect(Seen(connection.receive(.array([.text("pong"), .text("")]), at: at(2))) == .nothing)
    }

    @Test(arguments: [
        RedisValue.integer(1), .status("OK"), .array([]), .array([.text("message"), .text("x")]),
        .array([.text("message"), .integer(1), .text("x")]), .array([.text("pmessage"), .text("x"), .text("x")]),
        .array([.text("message"), .text("news"), .null]),
    ])
    func `anything else breaks the protocol`(_ value: RedisValue) {
        var connection = ready()
        #expect(Seen(connection.receive(value, at: at(2))) == .end(.protocolViolation))
    }

    @Test func `a refusal at any step ends it`() {
        let refusal = RedisRefusal(line: "NOPERM tracking")
        for steps in 0..<5 {
            var connection = SubscriberConnection(configuration, until: at(250))
            for reply in Self.greeting.prefix(steps) { _ = connection.receive(reply, at: at(1)) }
            // The first step is the name, whose rejection is allowed.
            #expect(
                Seen(connection.receive(.error(refusal), at: at(1)))
                    == (steps == 0 ? .nothing : .end(.refused(refusal))))
        }
    }

    @Test func `it sends pings, and ends after three intervals without data`() {
        var connection = ready()
        #expect(connection.deadline == at(1001))
        #expect(Seen(connection.deadlinePassed(at: at(1001))) == .send([["PING"]]))
        #expect(Seen(connection.deadlinePassed(at: at(2001))) == .send([["PING"]]))
        #expect(connection.deadline == at(3001))
        #expect(Seen(connection.deadlinePassed(at: at(3001))) == .end(.stalled))
    }

    @Test func `any data counts as a reply`() {
        var connection = ready()
        for second in 1...10 {
            #expect(Seen(connection.deadlinePassed(at: at(second * 1000 + 1))) == .send([["PING"]]))
            _ = connection.receive(.array([.text("pong"), .text("")]), at: at(second * 1000 + 5))
        }
    }

    private static let greeting: [RedisValue] = [
        .status("OK"), .status("PONG"), .integer(17), .status("OK"), subscribed("__redis__:invalidate"),
        subscribed("news"),
    ]

    private func ready() -> SubscriberConnection {
        var connection = SubscriberConnection(configuration, until: at(250))
        for reply in Self.greeting { _ = connection.receive(reply, at: at(1)) }
        return connection
    }

    private var configuration: RedisNodeConfiguration {
        var configuration = RedisNodeConfiguration(address: .unixSocket("/x"))
        configuration.trackedPrefixes = ["rc:", "gw:"]
        configuration.channels = ["news"]
        return configuration
    }

    private func message(_ channel: String, _ content: RedisValue) -> RedisValue {
        .array([.text("message"), .text(channel), content])
    }

    private func subscribed(_ channel: String) -> RedisValue { Self.subscribed(channel) }

    private static func subscribed(_ channel: String) -> RedisValue {
        .array([.text("subscribe"), .text(channel), .integer(1)])
    }
}
