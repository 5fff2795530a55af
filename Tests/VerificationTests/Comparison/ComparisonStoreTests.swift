// SPDX-License-Identifier: Apache-2.0

import Gateway
import RealServers
import Receipts
import Redis
import Testing
import TestSupport

@testable import RedisStore
@testable import ServerTestSupport

/// The behaviour of every store of the results of comparisons, in this process and in Redis.
@Suite(.timeLimit(.patient)) struct ComparisonStoreTests {
    typealias Samples = ComparisonSamples

    /// Two nodes' stores with the same contents.
    private static func stores(_ kind: StoreKind) -> (any ComparisonStore, any ComparisonStore) {
        switch kind {
        case .embedded:
            let store = EmbeddedComparisonStore()
            return (store, store)
        case .redis:
            let stage = NotificationStage.current
            return (stage.comparisons(), stage.comparisons())
        }
    }

    @Test(.redis, arguments: StoreKind.allCases)
    func `results of all nodes count together, by pair and kind`(kind: StoreKind) async throws {
        let (one, other) = Self.stores(kind), now = Samples.now
        #expect(try await one.tallies(at: now).isEmpty)
        try await one.record(.compared([:]), of: .localAndApple, at: now)
        try await other.record(.compared([:]), of: .localAndApple, at: now)
        let both = [Samples.renewed: Samples.example(), Samples.missing: Samples.example("coins")]
        try await other.record(.compared(both), of: .localAndApple, at: now)
        try await one.record(.compared([Samples.missing: Samples.example("coins")]), of: .localAndApple, at: now)
        try await one.record(.unanswered, of: .verifyReceiptAndServerAPI, at: now)
        let expected = Samples.tally {
            ($0.compared, $0.equal) = (4, 2)
            $0.kinds[Samples.renewed] = .init(count: 1, examples: [Samples.example()])
            $0.kinds[Samples.missing] = .init(count: 2, examples: [Samples.example("coins"), Samples.example("coins")])
        }
        for store in [one, other] {
            let tallies = try await store.tallies(at: now)
            #expect(tallies[.localAndApple] == expected)
            #expect(tallies[.verifyReceiptAndServerAPI] == Samples.tally { $0.unanswered = 1 })
        }
        #expect(expected.kindsByCount.map(\.kind) == [Samples.missing, Samples.renewed])
    }

    @Test(.redis, arguments: StoreKind.allCases)
    func `a report covers seven days, with the newest three examples of each kind`(kind: StoreKind) async throws {
        let store = Self.stores(kind).0
        for day in Int64(0)..<9 {
            let time = Samples.time(days: day), example = Samples.example("\(day)", hour: time)
            try await store.record(.compared([Samples.renewed: example]), of: .localAndApple, at: time)
        }
        let found = try #require(try await store.tallies(at: Samples.time(days: 8))[.localAndApple])
        #expect(found.compared == 7 && found.equal == 0 && found.kinds[Samples.renewed]?.count == 7)
        #expect(found.kinds[Samples.renewed]?.examples.map(\.productID) == ["8", "7", "6"])
        #expect(try await store.tallies(at: Samples.time(days: 15)).isEmpty)
    }

    @Test(.redis, arguments: StoreKind.allCases)
    func `a day keeps three examples of a kind, and counts all`(kind: StoreKind) async throws {
        let store = Self.stores(kind).0
        for number in 0..<10 {
            let result = ComparisonResult.compared([Samples.renewed: Samples.example("\(number)")])
            try await store.record(result, of: .localAndApple, at: Samples.now)
        }
        let found = try #require(try await store.tallies(at: Samples.now)[.localAndApple]?.kinds[Samples.renewed])
        #expect(found.count == 10 && Set(found.examples.map(\.productID)) == ["7", "8", "9"])
    }

    @Test(.redis, arguments: StoreKind.allCases)
    func `a day has a limited number of kinds`(kind: StoreKind) async throws {
        let store = Self.stores(kind).0, limit = ComparisonTally.Limits.kinds
        let words = (0...limit).map { number in
            String(decoding: "\(1000 + number)".utf8.map { $0 - UInt8(ascii: "0") + UInt8(ascii: "a") }, as: UTF8.self)
        }
        for word in words {
            let kind = ComparisonKind(.verdict, "genuine", word)
            try await store.record(.compared([kind: Samples.example()]), of: .localAndApple, at: Samples.now)
        }
        let found = try #require(try await store.tallies(at: Samples.now)[.localAndApple])
        #expect(found.compared == limit + 1 && found.kinds.count == limit)
        // A known kind still counts.
        let known = ComparisonKind(.verdict, "genuine", words[0])
        try await store.record(.compared([known: Samples.example()]), of: .localAndApple, at: Samples.now)
        #expect(try await store.tallies(at: Samples.now)[.localAndApple]?.kinds[known]?.count == 2)
    }
}

/// Results of comparisons in a real Redis.
@Suite(.timeLimit(.patient)) struct RedisComparisonsTests {
    typealias Samples = ComparisonSamples
    private var stage: NotificationStage { .current }

    private static func key(_ time: Timestamp = Samples.now) -> String {
        "gw:{c}:local_apple:\(ComparisonTally.day(of: time))"
    }

    @Test(.redis) func `every key expires, and examples are sealed`() async throws {
        let result = ComparisonResult.compared([Samples.renewed: Samples.example("a-product")])
        for _ in 0..<2 { try await stage.comparisons().record(result, of: .localAndApple, at: Samples.now) }
        #expect(try stage.server.ask("KEYS", "*") == Self.key())
        let milliseconds = try #require(Int64(try stage.server.ask("PTTL", Self.key())))
        #expect((604_800_000...691_200_000).contains(milliseconds))
        let contents = try stage.server.ask("HGETALL", Self.key())
        #expect(!contents.contains("a-product") && !contents.contains("com.example.shop"))
        // A node without the key counts, and shows no example.
        let faults = RecordedValues<SharedCacheFault>()
        let stranger = stage.comparisons(keys: StoreSamples.secondKey, observe: faults.add)
        let found = try await stranger.tallies(at: Samples.now)[.localAndApple]?.kinds[Samples.renewed]
        #expect(found == .init(count: 2) && faults.all == [.sealUnknownKey, .sealUnknownKey])
    }

    @Test(.redis) func `what no gateway wrote is ignored`() async throws {
        let store = stage.comparisons(), faults = RecordedValues<SharedCacheFault>()
        try await store.record(.compared([Samples.renewed: Samples.example()]), of: .localAndApple, at: Samples.now)
        let example = try stage.server.ask("HGET", Self.key(), "x1:\(Samples.renewed.text)")
        #expect(!example.isEmpty)
        for (name, value) in [
            ("equal", "-9"), ("unanswered", "none"), ("k:state:active:expired:more", "1"), ("k:STATE:a:b", "1"),
            ("k:state:a:b", "99999999999999999999"), ("x0:\(Samples.renewed.text)", "not sealed"), ("", ""), (":", "1"),
            ("k:state:\(String(repeating: "a", count: 41)):b", "1"),
        ] { _ = try stage.server.ask("HSET", Self.key(), name, value) }
        let found = try await stage.comparisons(observe: faults.add).tallies(at: Samples.now)[.localAndApple]
        #expect(
            found
                == Samples.tally {
                    $0.compared = 1
                    $0.kinds[Samples.renewed] = .init(count: 1, examples: [Samples.example()])
                })
        #expect(faults.all == [.sealMalformed])
    }

    @Test(.redis) func `a key of another type and numbers that cannot grow begin anew`() async throws {
        let store = stage.comparisons()
        _ = try stage.server.ask("SET", Self.key(), "text")
        #expect(try await store.tallies(at: Samples.now).isEmpty)
        try await store.record(.compared([:]), of: .localAndApple, at: Samples.now)
        #expect(try await store.tallies(at: Samples.now)[.localAndApple]?.compared == 1)
        _ = try stage.server.ask("HSET", Self.key(), "compared", "text")
        try await store.record(.compared([:]), of: .localAndApple, at: Samples.now)
        #expect(try await store.tallies(at: Samples.now)[.localAndApple]?.compared == 1)
        #expect(try await store.tallies(at: Samples.now)[.localAndApple]?.equal == 2)
    }

    @Test(.redis) func `an example is bound to its kind and day`() async throws {
        let store = stage.comparisons(), faults = RecordedValues<SharedCacheFault>()
        for kind in [Samples.renewed, Samples.missing] {
            try await store.record(.compared([kind: Samples.example()]), of: .localAndApple, at: Samples.now)
        }
        let move: RedisWord = """
            redis.call('HSET', KEYS[1], ARGV[1], redis.call('HGET', KEYS[1], ARGV[2]))
            return 1
            """
        let names = [Samples.missing, Samples.renewed].map { RedisWord("x1:\($0.text)") }
        _ = try await stage.redis.send(
            RedisCommand([RedisWord("EVAL"), move, 1, RedisWord(Self.key())] + names, key: RedisWord(Self.key())))
        let found = try await stage.comparisons(observe: faults.add).tallies(at: Samples.now)[.localAndApple]
        #expect(found?.kinds[Samples.missing] == .init(count: 1) && faults.all == [.sealInvalid])
    }
}
