// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import Redis

struct SlotMapTests {
    private static let asked = RedisAddress.host("10.0.0.9", port: 7000)

    private static func node(_ host: RedisValue, _ port: Int64 = 7000) -> RedisValue {
        .array([host, .integer(port), .string(Array("id".utf8)), .array([])])
    }

    private static func text(_ text: String) -> RedisValue { .string(Array(text.utf8)) }

    private static func range(_ first: Int64, _ last: Int64, _ nodes: RedisValue...) -> RedisValue {
        .array([.integer(first), .integer(last)] + nodes)
    }

    private static func slot(_ number: Int) throws -> HashSlot { try #require(HashSlot(number)) }

    @Test func `the map has the master of each range, and none for other slots`() throws {
        let reply = RedisValue.array([
            Self.range(0, 5460, Self.node(Self.text("10.0.0.1")), Self.node(Self.text("10.0.0.4"))),
            Self.range(5461, 10922, Self.node(Self.text("10.0.0.2"), 7001)),
            Self.range(16383, 16383, Self.node(Self.text("10.0.0.1"))),
        ])
        let map = try SlotMap(reply, from: Self.asked)
        #expect(map.masters == [.host("10.0.0.1", port: 7000), .host("10.0.0.2", port: 7001)])
        #expect(map.master(of: try Self.slot(0)) == .host("10.0.0.1", port: 7000))
        #expect(map.master(of: try Self.slot(5460)) == .host("10.0.0.1", port: 7000))
        #expect(map.master(of: try Self.slot(5461)) == .host("10.0.0.2", port: 7001))
        #expect(map.master(of: try Self.slot(10923)) == nil)
        #expect(map.master(of: try Self.slot(16383)) == .host("10.0.0.1", port: 7000))
        #expect(!map.isComplete)
    }

    @Test func `a cluster of one node serves everything`() throws {
        let map = try SlotMap(.array([Self.range(0, 16383, Self.node(Self.text("::1")))]), from: Self.asked)
        #expect(map.isComplete)
        #expect(map.masters == [.host("::1", port: 7000)])
    }

    @Test(arguments: [RedisValue.null, text("")]) func `a node without a host has that of the replying node`(
        _ host: RedisValue
    ) throws {
        let map = try SlotMap(.array([Self.range(0, 1, Self.node(host, 7005))]), from: Self.asked)
        #expect(map.masters == [.host("10.0.0.9", port: 7005)])
    }

    @Test func `a node with an unknown name has no slots`() throws {
        let map = try SlotMap(.array([Self.range(0, 1, Self.node(Self.text("?")))]), from: Self.asked)
        #expect(map.masters.isEmpty)
    }

    private static let ownRanges = (0..<Int64(129)).map { range($0, $0, node(text("h\($0)"))) }

    /// An invalid reply.
    struct Hostile: CustomTestStringConvertible {
        let testDescription: String
        let reply: RedisValue
        let fault: SlotMap.Fault

        init(_ name: String, _ reply: RedisValue, _ fault: SlotMap.Fault) {
            (testDescription, self.reply, self.fault) = (name, reply, fault)
        }
    }

    static let hostile: [Hostile] = [
        Hostile("a status", .status("OK"), .notRanges),
        Hostile("null", .null, .notRanges),
        Hostile("a number for a range", .array([.integer(1)]), .notRanges),
        Hostile("a range without a node", .array([.array([.integer(0), .integer(1)])]), .notRanges),
        Hostile("too many ranges", .array(Array(repeating: .null, count: 4097)), .notRanges),
        Hostile("a range that ends before it begins", .array([range(2, 1, node(text("a")))]), .invalidRange),
        Hostile("a negative slot", .array([range(-1, 1, node(text("a")))]), .invalidRange),
        Hostile("a slot too many", .array([range(0, 16384, node(text("a")))]), .invalidRange),
        Hostile("a slot beyond all numbers", .array([range(0, .max, node(text("a")))]), .invalidRange),
        Hostile("a slot as text", .array([.array([text("0"), text("1"), node(text("a"))])]), .invalidRange),
        Hostile(
            "ranges that overlap", .array([range(0, 9, node(text("a"))), range(9, 12, node(text("b")))]), .overlap),
        Hostile(
            "the same range twice", .array([range(0, 9, node(text("a"))), range(0, 9, node(text("a")))]), .overlap),
        Hostile("a node that is none", .array([.array([.integer(0), .integer(1), .null])]), .invalidNode),
        Hostile("a port of 0", .array([range(0, 1, node(text("a"), 0))]), .invalidNode),
        Hostile("a port of 65536", .array([range(0, 1, node(text("a"), 65536))]), .invalidNode),
        Hostile("a host with a space", .array([range(0, 1, node(text("a b")))]), .invalidNode),
        Hostile(
            "a host of 254 bytes", .array([range(0, 1, node(text(String(repeating: "a", count: 254))))]), .invalidNode),
        Hostile("a host that is not UTF-8", .array([range(0, 1, node(.string([0xFF])))]), .invalidNode),
        Hostile("a host as a number", .array([range(0, 1, node(.integer(1)))]), .invalidNode),
        Hostile("129 masters", .array(ownRanges), .tooManyMasters),
    ]

    @Test(arguments: hostile) func `an invalid reply is rejected`(_ hostile: Hostile) {
        #expect(throws: hostile.fault) { try SlotMap(hostile.reply, from: Self.asked) }
    }

    @Test func `a slot that moved is at its new master, also one that is new`() throws {
        var map = try SlotMap(.array([Self.range(0, 16383, Self.node(Self.text("a")))]), from: Self.asked)
        map.move(try Self.slot(7), to: .host("b", port: 1))
        #expect(map.master(of: try Self.slot(7)) == .host("b", port: 1))
        #expect(map.master(of: try Self.slot(8)) == .host("a", port: 7000))
        #expect(map.masters.count == 2)
    }

    @Test func `the number of masters in a map is limited`() throws {
        var map = SlotMap()
        for number in 0..<200 { map.move(try Self.slot(number), to: .host("h\(number)", port: 1)) }
        #expect(map.masters.count == SlotMap.Limits.maximumMasters)
        #expect(map.master(of: try Self.slot(128)) == nil)
    }
}

struct RedirectionTests {
    private static let asked = RedisAddress.host("10.0.0.9", port: 7000)

    @Test(arguments: [
        ("127.0.0.1:6381", RedisAddress.host("127.0.0.1", port: 6381)), (":6381", .host("10.0.0.9", port: 6381)),
        ("redis-3.internal:6381", .host("redis-3.internal", port: 6381)), ("::1:6381", .host("::1", port: 6381)),
    ]) func `MOVED and ASK name a slot and a node`(_ text: String, _ address: RedisAddress) throws {
        let slot = try #require(HashSlot(3999))
        #expect(Redirection(RedisRefusal(line: "MOVED 3999 \(text)"), from: Self.asked) == .moved(slot, to: address))
        #expect(Redirection(RedisRefusal(line: "ASK 3999 \(text)"), from: Self.asked) == .ask(address))
    }

    @Test(arguments: [
        "MOVED", "MOVED 3999", "MOVED 3999 ", "MOVED 16384 a:1", "MOVED -1 a:1", "MOVED x a:1", "MOVED 1 a",
        "MOVED 1 a:",
        "MOVED 1 a:0", "MOVED 1 a:65536", "MOVED 1 a b:1", "ASK 1 ?:1", "ASK 1 a:1 b", "ERR MOVED 1 a:1", "NOPERM no",
        "OOM",
    ]) func `anything else has no target`(_ line: String) {
        #expect(Redirection(RedisRefusal(line: line), from: Self.asked) == nil)
    }

    @Test func `TRYAGAIN is retried later, and an unavailable node has no target`() {
        #expect(Redirection(RedisRefusal(line: "TRYAGAIN Multiple keys"), from: Self.asked) == .again)
        for line in ["CLUSTERDOWN The cluster is down", "LOADING Redis is loading", "MASTERDOWN Link", "READONLY You"] {
            #expect(Redirection(RedisRefusal(line: line), from: Self.asked) == .unavailable)
        }
    }
}
