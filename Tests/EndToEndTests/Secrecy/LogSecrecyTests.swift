// SPDX-License-Identifier: Apache-2.0

import Foundation
import NIOCore
import NIOPosix
import RealServers
import Testing
import TestSupport

@testable import LoadTest

/// The log never contains a secret or a part of a receipt, even if clients send or servers repeat them.
@Suite(.serialized, .timeLimit(.patient)) struct LogSecrecyTests {
    private static let secrets = (
        apple: "a991e5a991e5b882f6b882f6c773d7c7", redis: "Redis-5ecret/password+0000042",
        callers: "cal1er5ca11er5Cal1er5CALLERS0077", pepper: "a pepper of at least thirty-two bytes",
        cacheKey: "q83vEjRWeJCrze8SNFZ4kKvN7xI0VniQq83vEjRWeJA="
    )
    private static let receipts =
        (0..<6).map { Canary(receipt: Sample.receipt(900 + $0)) }
        + (0..<2).map { Canary(receipt: Sample.forged(900 + $0)) }

    @Test func `the log, metrics and problems contain nothing from thousands of broken requests`()
        async throws
    {
        let redis = try await RealServer.redis(["--requirepass", Self.secrets.redis])
        try await Self.withCanaries(redisPort: redis.port) { settings, key, canaries in
            try await withStage("shared_secret: \(Self.secrets.apple)", settings) { stage in
                let search = try await Self.search(for: canaries, at: stage.gateway)
                var requests = FuzzedRequests(seed: 20_260_131, canaries: canaries, receipts: Self.receipts, key: key)
                for batch in 0..<20 {
                    // Apple's faults, and those of Redis.
                    try stage.play("shared_secret: \(Self.secrets.apple)\n\(Self.moods[batch % Self.moods.count])")
                    if batch == 15 { redis.kill() }
                    let connections = (0..<40).map { _ in requests.connection(of: 4) }
                    try await Self.send(connections, to: stage.gateway.dataPort)
                    try await Self.send(Array(connections.prefix(3)), to: stage.gateway.adminPort)
                    try await Self.catchUp(stage.gateway, batch)
                }
                try await Self.expectNothing(search, from: stage.gateway)
                let lines = stage.gateway.transcript.lines
                // The requests did arrive.
                #expect(lines.filter { $0.contains(#""message":"request""#) }.count > 1000)
                for word in [#""verdict":"genuine""#, #""verdict":"rejected""#, #""status":400"#, #""source":"apple""#]
                {
                    #expect(lines.contains { $0.contains(word) }, "\(word)")
                }
            }
        }
    }

    private static let moods = [
        "", "faults: [{fault: {receipt_status: 21004}}]", "faults: [{fault: html}]", "faults: [{fault: truncated}]",
        "faults: [{fault: {http_status: 503}}]", "faults: [{fault: reset}]",
        "faults: [{fault: {tampered: other_bundle_id}}]",
    ]

    @Test(arguments: [
        (nil, "registers=none"), ("limit=20", "limit=20,registers=none"), ("registers=all", "registers=all"),
    ])
    func `a report of a crash has no memory, unless the operator wants it`(options: String?, expected: String)
        async throws
    {
        let gateway = try await RunningGateway(options.map { ["SWIFT_BACKTRACE": $0] } ?? [:])
        #expect(try gateway.environment.contains("SWIFT_BACKTRACE=\(expected)"))
        #expect(await gateway.stop() == 0)
    }

    @Test func `an Apple and a Redis that repeat their input cause no leak in the log`() async throws {
        let apple = try await EchoingPeer.apple(), redis = try await EchoingPeer.redis()
        try await Self.withCanaries(redisPort: redis.port) { settings, key, canaries in
            let url = "http://127.0.0.1:\(apple.port)/verifyReceipt"
            let settings = settings.merging(["GATEWAY_APPLE_BREAKER": "metrics_only"]) { $1 }
            try await withGateway(askingAt: (url, url), settings) { gateway in
                let search = try await Self.search(for: canaries, at: gateway)
                for number in 0..<80 {
                    let receipt = Self.receipts[number % 6].text
                    let body: [String: Any] =
                        number % 2 == 0
                        ? ["receipt": receipt, "mode": "apple"]
                        : ["receipt-data": receipt, "password": Self.secrets.callers]
                    let path = number % 2 == 0 ? "/v1/verify" : "/verifyReceipt"
                    let answer = try await gateway.post(body, to: path, key: key)
                    #expect(answer.status == 200)
                }
                try await Self.catchUp(gateway, 0)
                try await Self.expectNothing(search, from: gateway)
                let lines = gateway.transcript.lines
                #expect(lines.contains { $0.contains("(contains request data)") })
                #expect(lines.contains { $0.contains("Redis is unavailable") && $0.contains("repeats the password") })
            }
        }
        try await apple.close()
        try await redis.close()
    }

    @Test(arguments: 0..<5) func `the search finds each form of a leak`(form: Int) {
        let secret = Canary(secret: Self.secrets.apple), search = CanarySearch([secret, Self.receipts[0]])
        for canary in [secret, Self.receipts[0]] {
            let written = canary.written(form)
            for start in [0, 1, 2, 3, 7] {
                // Any twelve bytes of it, in every form.
                let leak = written.dropFirst(start * (form == 1 ? 3 : form == 2 ? 6 : 1)).prefix(12 * 6)
                #expect(search.leak(in: ["innocent", "{\"message\":\"\(leak)\"}"]) != nil, "\(leak)")
            }
        }
        #expect(
            search.leak(in: [#"{"time":"2026-11-21T22:00:00.000Z","trace_id":"4bf92f3577b34da6a3ce929d0e0e4736"}"#])
                == nil)
    }

    // MARK: - Steps

    /// Runs a test with the settings of a gateway with every kind of secret.
    private static func withCanaries(
        redisPort: Int, _ test: ([String: String], String, [Canary]) async throws -> Void
    ) async throws {
        let folder = try ScratchFolder()
        let clients = try await FleetClients([(name: "fuzzer", policies: "    may: [purge]\n")], in: folder)
        let key = try #require(clients.keys["fuzzer"])
        let half = try #require(key.split(separator: ".").last.map(String.init))
        let settings = clients.settings.merging([
            "GATEWAY_LOG_LEVEL": "trace", "GATEWAY_LOG_REQUESTS": "all", "GATEWAY_CACHE_KEYS": "k:\(secrets.cacheKey)",
            "GATEWAY_APPLE_SHARED_SECRET": secrets.apple, "GATEWAY_REDIS_URL": "redis://127.0.0.1:\(redisPort)",
            "GATEWAY_REDIS_PASSWORD": secrets.redis, "GATEWAY_SHUTDOWN_GRACE": "5s",
        ]) { $1 }
        let words = [secrets.apple, secrets.redis, secrets.callers, secrets.pepper, secrets.cacheKey, half]
        try await test(settings, key, words.map { Canary(secret: $0) } + receipts)
    }

    /// Sends each on its own connection, and waits until the gateway has closed it.
    private static func send(_ connections: [[UInt8]], to port: Int) async throws {
        try await withThrowingTaskGroup { group in
            for bytes in connections {
                group.addTask {
                    let channel = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
                        .channelOption(.allowRemoteHalfClosure, value: true)
                        .connect(host: "127.0.0.1", port: port).get()
                    // The gateway may have closed before it has read everything.
                    try? await channel.writeAndFlush(ByteBuffer(bytes: bytes))
                    try? await channel.close(mode: .output)
                    try await eventually("the gateway answers or ends the connection") { !channel.isActive }
                }
            }
            try await group.waitForAll()
        }
    }

    /// Waits until all log lines so far were read: dropped lines cannot be searched.
    private static func catchUp(_ gateway: RunningGateway, _ batch: Int) async throws {
        let last = "GET /nowhere HTTP/1.1\r\nHost: localhost\r\nX-Request-Id: batch-\(batch)\r\n\r\n"
        let earlierLines = gateway.transcript.lines.count
        try await send([Array(last.utf8)], to: gateway.dataPort)
        try await eventually("the log is read") {
            gateway.transcript.lines.dropFirst(earlierLines).contains {
                $0.contains(#""request_id":"batch-\#(batch)""#)
            }
        }
    }

    /// Returns a search that ignores the gateway's own words.
    private static func search(for canaries: [Canary], at gateway: RunningGateway) async throws -> CanarySearch {
        CanarySearch(canaries, except: try await Scrape(gateway).text.split(separator: "\n").map(String.init))
    }

    private static func expectNothing(_ search: CanarySearch, from gateway: RunningGateway) async throws {
        let metrics = try await Scrape(gateway).text.split(separator: "\n").map(String.init)
        let status = try await gateway.get("/readyz", port: gateway.adminPort)
        #expect(await gateway.stop() == 0)
        try await eventually("the log is complete") { gateway.transcript.isComplete }
        let lines = gateway.transcript.lines
        #expect(!lines.contains { $0.contains("dropped_lines") })
        let leak = search.leak(in: lines + metrics + [String(decoding: status.body, as: UTF8.self)])
        #expect(leak == nil, "\(leak ?? "")")
    }
}
