// SPDX-License-Identifier: Apache-2.0

import Cryptography
import Gateway
import NIOCore
import Receipts
import Resilience
import Testing

@testable import API
@testable import HTTPServer
@testable import Server
@testable import ServerTestSupport
@testable import Telemetry

@Suite("The near cache")
struct NearCacheTests {
    // MARK: - Size

    @Test(arguments: [32 << 10, 64 << 10, 1 << 20])
    func `genuine answers stay within the cache's size`(maximumBytes: Int) throws {
        let cache = NearCache(maximumBytes: maximumBytes)
        let keys = try (0..<2000).map { try Self.key($0, bytes: 800) }
        for key in keys { cache.insert(try Self.known(bytes: 700), for: key) }
        let found = keys.reversed().count { cache.reply(to: $0) != nil }
        #expect(found > 0 && found * 700 <= maximumBytes)
    }

    @Test func `rejections stay within a sixteenth of the size`() throws {
        let cache = NearCache(maximumBytes: 1 << 20)
        let keys = try (0..<2000).map { try Self.key($0) }
        for key in keys { cache.insert(try Self.known(isGenuine: false, bytes: 1 << 10), for: key) }
        let found = keys.reversed().count { cache.reply(to: $0) != nil }
        #expect(found > 0 && found <= 64)
    }

    @Test func `the parts of a large cache are filled together`() throws {
        let cache = NearCache(maximumBytes: 64 << 20)
        let keys = try (0..<2000).map { try Self.key($0) }
        for key in keys { cache.insert(try Self.known(bytes: 1 << 16), for: key) }
        let found = keys.count { cache.reply(to: $0) != nil }
        // Of 960 that are as large as their bodies.
        #expect((900..<960).contains(found))
    }

    @Test func `the name of an expected app is counted, of any length`() throws {
        var options = VerificationOptions()
        options.expectations.bundleID = String(repeating: "x", count: 10_000)
        #expect(try Self.known(to: options).byteCount >= 10_000)
    }

    @Test func `of a request's options only those remain that decide its cost, its app and its age`() throws {
        var options = VerificationOptions()
        options.expectations = Expectations(bundleID: "com.example", applicationVersion: "1", deviceIdentifier: [1])
        options.mode = .appleFirst
        options.maximumAge = .seconds(5)
        options.itemCount = 3
        options.isLookup = true
        options.sentSecret = Secret("secret")
        let kept = try Self.known(to: options).options
        #expect(kept.expectations == Expectations(bundleID: "com.example"))
        #expect(kept.mode == .appleFirst && kept.maximumAge == .seconds(5) && kept.itemCount == 3 && kept.isLookup)
        #expect(kept.sentSecret == nil)
    }

    @Test func `a cache of size 0 stores nothing`() throws {
        let cache = NearCache(maximumBytes: 0)
        cache.insert(try Self.known(), for: try Self.key(0))
        #expect(try cache.reply(to: Self.key(0)) == nil)
    }

    // MARK: - Eviction

    @Test func `a flood of junk evicts no genuine answer`() throws {
        let cache = NearCache(maximumBytes: 1 << 17)
        cache.insert(try Self.known(), for: try Self.key(-1))
        for number in 0..<5000 { cache.insert(try Self.known(isGenuine: false), for: try Self.key(number)) }
        #expect(try cache.reply(to: Self.key(-1))?.isGenuine == true)
    }

    @Test func `an answer in use stays, others are evicted`() throws {
        let cache = NearCache(maximumBytes: 1 << 17)
        for number in [-1, -2] { cache.insert(try Self.known(), for: try Self.key(number)) }
        for number in 0..<1000 {
            cache.insert(try Self.known(), for: try Self.key(number))
            #expect(try cache.reply(to: Self.key(-1)) != nil)
        }
        #expect(try cache.reply(to: Self.key(-2)) == nil)
    }

    @Test func `requests that come once do not evict the answers in use`() throws {
        let cache = NearCache(maximumBytes: 1 << 17)
        let inUse = try (-80..<0).map { try Self.key($0) }
        for key in inUse { cache.insert(try Self.known(), for: key) }
        for key in inUse { _ = cache.reply(to: key) }
        for number in 0..<2000 { cache.insert(try Self.known(), for: try Self.key(number)) }
        #expect(inUse.allSatisfy { cache.reply(to: $0) != nil })
    }

    @Test(arguments: [true, false])
    func `a new verdict replaces one of the other kind`(isGenuine: Bool) throws {
        let cache = NearCache(maximumBytes: 1 << 17)
        for isGenuine in [!isGenuine, isGenuine] {
            cache.insert(try Self.known(isGenuine: isGenuine), for: try Self.key(0))
        }
        #expect(try cache.reply(to: Self.key(0))?.isGenuine == isGenuine)
    }

    @Test func `a client that sends ever new requests evicts only its own answers`() throws {
        let cache = NearCache(maximumBytes: 1 << 17)
        let others = try (0..<8).map { try Self.key($0, of: "shop") }
        for key in others { cache.insert(try Self.known(), for: key) }
        for number in 0..<2000 { cache.insert(try Self.known(), for: try Self.key(number, of: "flood")) }
        #expect(others.allSatisfy { cache.reply(to: $0) != nil })
        // A client may use the room the others leave.
        let found = try (0..<2000).count { try cache.reply(to: Self.key($0, of: "flood")) != nil }
        #expect(found >= 90)
    }

    @Test func `a request too large to be recognised has no key`() throws {
        let most = NearCache.Limits.bodyBytes
        #expect(throws: Never.self) { try Self.key(1, bytes: most) }
        let large = NearCache.Key(
            endpoint: "/v1/verify", body: Self.body(1, bytes: most + 1), answersVersion: 0, client: "shop")
        #expect(large == nil)
    }

    // MARK: - Keys

    @Test func `requests that differ in one byte, in length or in endpoint never share an answer`() throws {
        let body = Array(Self.body(7, bytes: 257).readableBytesView)
        var bodies = [body, body + [0], Array(body.dropLast()), []]
        for index in body.indices {
            var other = body
            other[index] ^= 1
            bodies.append(other)
        }
        let keys = try bodies.flatMap { body in
            try ["/v1/verify", "/verifyReceipt"].map { try Self.key(of: ByteBuffer(bytes: body), endpoint: $0) }
        }
        #expect(Set(keys).count == keys.count)
        for key in keys {
            let cache = NearCache(maximumBytes: 1 << 20)
            cache.insert(try Self.known(), for: key)
            #expect(keys.count { cache.reply(to: $0) != nil } == 1)
        }
    }

    @Test func `an answer of one version of the secrets and roots is not used for the next`() throws {
        let body = Self.body(1, bytes: 300)
        let keys = try [0, 1].map { try Self.key(of: body, answersVersion: $0) }
        let cache = NearCache(maximumBytes: 1 << 20)
        cache.insert(try Self.known(), for: keys[0])
        #expect(cache.reply(to: keys[0]) != nil && cache.reply(to: keys[1]) == nil)
        // A request that began before the change stores its answer under the old version.
        cache.insert(try Self.known(), for: keys[0])
        #expect(cache.reply(to: keys[1]) == nil)
    }

    // MARK: - Concurrency

    @Test func `many tasks may read and write at once`() async throws {
        let cache = NearCache(maximumBytes: 1 << 17)
        let known = [try Self.known(), try Self.known(isGenuine: false)]
        let keys = try (0..<64).map { try Self.key($0) }
        await withTaskGroup(of: Void.self) { group in
            for task in 0..<8 {
                group.addTask {
                    for turn in 0..<500 {
                        let key = keys[(task * 11 + turn) % keys.count]
                        if cache.reply(to: key) == nil { cache.insert(known[turn % 3 % 2], for: key) }
                    }
                }
            }
        }
        #expect(keys.contains { cache.reply(to: $0) != nil })
    }

    // MARK: - Samples

    private static func key(_ number: Int, bytes: Int = 64, of client: String = "shop") throws -> NearCache.Key {
        try key(of: body(number, bytes: bytes), client: client)
    }

    private static func key(
        of body: ByteBuffer, endpoint: String = "/v1/verify", answersVersion: UInt64 = 0, client: String = "shop"
    ) throws -> NearCache.Key {
        try #require(NearCache.Key(endpoint: endpoint, body: body, answersVersion: answersVersion, client: client))
    }

    private static func body(_ number: Int, bytes: Int) -> ByteBuffer {
        var body = ByteBuffer(string: "\(number) ")
        body.writeRepeatingByte(UInt8(ascii: "x"), count: max(0, bytes - body.readableBytes))
        return body
    }

    private static func known(
        isGenuine: Bool = true, bytes: Int = 64, to options: VerificationOptions = VerificationOptions()
    ) throws -> CachedReply {
        let sample = isGenuine ? try genuine.get() : try rejected.get()
        return CachedReply(
            sample.answer, to: options, validity: sample.validity, counters: sample.counters,
            reply: Reply(body: ReplyBody(Array(buffer: body(0, bytes: bytes)))))
    }

    private struct Sample {
        let answer: Answer
        let validity: AnswerValidity
        let counters: VerdictCounters
    }

    // Created once: thousands are inserted.
    private static let genuine = Result { try sample(of: .appReceipt(Forged.receipts(1)[0])) }
    private static let rejected = Result { try sample(of: .appReceipt([0x30])) }

    private static func sample(of evidence: Evidence) throws -> Sample {
        let now = Timestamp.now()
        let answer = try Forged.service.computed(VerificationRequest(evidence: evidence, mode: .local), at: now)
        let metrics = try VerificationMetrics(PrometheusRegistry(MetricCatalogue.all))
        return Sample(
            answer: answer.repeated, validity: try #require(AnswerValidity(answer, at: now)),
            counters: metrics.counters(for: answer, to: .appReceipt))
    }
}
