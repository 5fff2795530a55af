// SPDX-License-Identifier: Apache-2.0

import Foundation
import ReceiptForge
import TestSupport

/// Requests with canaries in every part, complete and broken, determined by a seed.
struct FuzzedRequests {
    private var generator: SplitMix64
    private let canaries: [Canary]
    private let receipts: [Canary]
    private let key: String

    init(seed: UInt64, canaries: [Canary], receipts: [Canary], key: String) {
        generator = SplitMix64(seed: TestSeed.number(seed))
        (self.canaries, self.receipts, self.key) = (canaries, receipts, key)
    }

    /// Returns the bytes of one connection: some requests, the last of them perhaps truncated.
    mutating func connection(of count: Int) -> [UInt8] {
        var bytes = (0..<count).flatMap { _ in request() }
        if roll(4) == 0 { bytes.removeLast(Int.random(in: 0..<min(bytes.count, 4000), using: &generator)) }
        return bytes
    }

    private mutating func roll(_ sides: Int) -> Int { Int.random(in: 0..<sides, using: &generator) }

    private mutating func pick(_ texts: [String]) -> String { texts[roll(texts.count)] }

    /// Returns a canary in some form, or the beginning of one if a header has no room for more.
    private mutating func canary(upTo bytes: Int = 100_000) -> String {
        String(canaries[roll(canaries.count)].written(roll(20)).prefix(bytes))
    }

    private mutating func request() -> [UInt8] {
        let body = self.body()
        var fields = ["Host: \(roll(8) == 0 ? canary(upTo: 200) : "localhost")"]
        if roll(10) > 0 { fields.append("\(pick(["Authorization: Bearer", "X-API-Key:"])) \(key)") }
        fields.append("Content-Type: \(roll(8) == 0 ? canary(upTo: 300) : "application/json")")
        for _ in 0..<roll(4) { fields.append(field()) }
        let isChunked = roll(6) == 0
        let length = roll(30) == 0 ? body.count + roll(100) : body.count
        fields.append(isChunked ? "Transfer-Encoding: chunked" : "Content-Length: \(length)")
        let head = "\(method()) \(target()) HTTP/1.1\r\n" + fields.joined(separator: "\r\n") + "\r\n\r\n"
        guard isChunked else { return mutated(Array(head.utf8)) + body }
        return mutated(Array(head.utf8)) + Array("\(String(body.count, radix: 16))\r\n".utf8) + body
            + Array("\r\n0\r\n\(roll(2) == 0 ? "Trailer-Of: \(canary(upTo: 200))\r\n" : "")\r\n".utf8)
    }

    private mutating func method() -> String {
        roll(6) > 0 ? "POST" : pick(["GET", "PUT", "DELETE", "OPTIONS", "HEAD", "BREW", canary(upTo: 40)])
    }

    private mutating func target() -> String {
        guard roll(4) == 0 else { return pick(["/v1/verify", "/verifyReceipt"]) }
        let word = canary(upTo: 1500)
        return pick([
            "/\(word)", "/v1/verify?receipt=\(word)", "/v1/verify#\(word)", "/v1/cache/transactions/\(word)",
            "/v1/apple/\(word)/sandbox/inApps/v1/transactions/1",
            "/v1/apple/com.example.app/production/inApps/v1/transactions/\(word.prefix(60))?\(word)",
            "/v1/apple/com.example.app/sandbox/inApps/v2/history/1?revision=\(word)", "/v1/status?\(word)",
            "//v1/verify/\(word)", "http://\(word)/v1/verify", word, "/v1/verify/%00\(word)",
        ])
    }

    private mutating func field() -> String {
        let word = canary(upTo: 3000)
        return pick([
            "X-Anything: \(word)", "Cookie: session=\(word)", "\(word): x", "Authorization: Basic \(word)",
            "Authorization: Bearer \(word)", "X-API-Key: \(word)", "Expect: \(word)", "Connection: \(word)",
            "Forwarded: for=\(word)", "X-Forwarded-For: \(word)", "traceparent: \(word)",
            "traceparent: 00-\(word)x-00f067aa0ba902b7-01", "tracestate: \(word)", "tracestate: a=\(word.prefix(200))",
            // Valid identifiers are logged on purpose. These are not valid.
            "X-Request-Id: \(word)+\(String(repeating: "x", count: 64))", "X-Request-Id: \(key)",
            "X-Request-Id: /\(word)",
            "Upgrade: \(word)", "Referer: https://x/?\(word)", "User-Agent: \(word)", "Content-Encoding: \(word)",
        ])
    }

    private mutating func body() -> [UInt8] {
        let receipt = receipts[roll(receipts.count)].text, word = canary(upTo: 20_000)
        let texts: [String] = [
            #"{"receipt":"\#(receipt)"}"#, #"{"receipt":"\#(receipt)","mode":"\#(pick(["auto", "local", "apple"]))"}"#,
            #"{"receipt":"\#(receipt)","mode":"\#(word)"}"#, #"{"receipt":"\#(word)"}"#,
            #"{"receipt":"\#(receipt)","bundle_id":"\#(word.prefix(200))"}"#,
            #"{"receipt":"\#(receipt)","app_version":"\#(word.prefix(200))","device_identifier":"\#(word.prefix(200))"}"#,
            #"{"\#(word)":"\#(receipt)"}"#, #"{"receipt":{"\#(word)":["\#(word)"]}}"#, #"{"max_age":"\#(word)"}"#,
            #"{"receipt":"\#(receipt)" \#(word)"#, #"{"receipt":"\#(receipt)"}\#(word)"#, word, "",
            #"{"receipt-data":"\#(receipt)","password":"\#(canaries[roll(canaries.count)].text.prefix(64))"}"#,
            #"{"receipt-data":"\#(receipt)","password":"\#(word)","exclude-old-transactions":true}"#,
            #"{"receipt-data":"\#(word)","password":["\#(word)"]}"#, "receipt-data=\(word)&password=\(word)",
        ]
        let bytes = Array(pick(texts).utf8)
        return roll(8) == 0 ? mutated(bytes) : bytes
    }

    /// Returns the bytes, sometimes with a few random changes.
    private mutating func mutated(_ bytes: [UInt8]) -> [UInt8] {
        guard roll(8) == 0, !bytes.isEmpty else { return bytes }
        var bytes = bytes
        for _ in 0...roll(3) { bytes[roll(bytes.count)] = UInt8.random(in: .min ... .max, using: &generator) }
        return bytes
    }
}
