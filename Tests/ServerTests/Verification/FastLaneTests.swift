// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import ReceiptForge
import Receipts
import Testing

@testable import Server

/// The fast lane is fast and nothing else: whoever asks cannot tell whether it is there.
@Suite("The fast lane", .timeLimit(.minutes(5)))
struct FastLaneTests {
    @Test func `with it and without it the same requests get the same answers, log lines and counts`() async throws {
        let (fast, routed) = try await (Self.transcript(usesFastLane: true), Self.transcript(usesFastLane: false))
        #expect(fast.answers.count == Self.requests.count && fast.answers.count == routed.answers.count)
        for (request, (one, other)) in zip(Self.requests, zip(fast.answers, routed.answers)) {
            #expect(one == other, "\(request.prefix(200))")
        }
        #expect(fast.log == routed.log && !fast.log.isEmpty)
        #expect(fast.counts == routed.counts && !fast.counts.isEmpty)
        // What is compared is worth it: every kind of answer is among them.
        #expect(Set(fast.answers.map(\.status)) == [200, 400, 401, 403, 404, 405, 415, 429])
        #expect(fast.answers.contains { $0.body.contains(#""cache":"near""#) })
        #expect(fast.answers.contains { $0.body.contains(#""verdict":"genuine""#) })
        #expect(fast.answers.contains { $0.body.contains(#""verdict":"rejected""#) })
    }

    @Test func `requests that are pipelined are answered in order, fast ones and others`() async throws {
        let receipt = Data(Forged.receipts(1)[0]).base64EncodedString()
        try await RunningGateway.with { gateway in
            try await RawConnection.with(port: gateway.port) { connection in
                let fast = post("/v1/verify", #"{"receipt":"\#(receipt)"}"#, "X-Request-Id: ")
                try await connection.send(
                    (1...4).map {
                        $0 == 3 ? "GET /v1/status HTTP/1.1\r\nHost: x\r\nX-Request-Id: 3\r\n\r\n" : fast("\($0)")
                    }
                    .joined())
                for number in 1...4 {
                    #expect(try await connection.answer()?.headers["x-request-id"] == "\(number)")
                }
            }
        }
    }

    @Test func `the last answer of a connection says so and ends it`() async throws {
        try await RunningGateway.with { gateway in
            try await RawConnection.with(port: gateway.port) { connection in
                try await connection.send(post("/v1/verify", #"{"receipt":"AQID"}"#, "Connection: ")("close"))
                let answer = try await connection.answer()
                #expect(answer?.status == 200 && answer?.headers["connection"] == "close")
                #expect(try await connection.isClosed())
            }
        }
    }

    // MARK: - Steps

    private struct Transcript {
        var answers: [RawAnswer] = []
        var log: [String] = []
        var counts: [String] = []
    }

    /// Sends all requests, one after another, to a gateway whose clock stands still.
    private static func transcript(usesFastLane: Bool) async throws -> Transcript {
        let folder = FileManager.default.temporaryDirectory.appending(component: "lane-\(usesFastLane)-\(key.id)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let (root, clients) = (folder.appending(component: "root.pem"), folder.appending(component: "clients.yaml"))
        try Forged.pki.rootPEM.write(to: root, atomically: true, encoding: .utf8)
        try clientsFile.write(to: clients, atomically: true, encoding: .utf8)
        var transcript = Transcript()
        try await RunningGateway.with {
            $0.clientsFile = clients.path
            $0.apiKeyPepper = pepper
            $0.trustRoots = [TrustRoot(path: root.path, environments: [.sandbox])]
        } surroundings: {
            $0.usesFastLane = usesFastLane
            $0.clock = { now }
        } _: { gateway in
            for request in requests {
                var answer = try #require(try await gateway.send(request))
                answer.headers["date"] = answer.headers["date"].map { _ in "some date" }
                // Buckets fill up in real time: by a token in the three quarters of an hour, though.
                answer.headers["ratelimit"] = answer.headers["ratelimit"]?.replacing(/;t=\d+/, with: "")
                answer.headers["retry-after"] = answer.headers["retry-after"].map { _ in "some time" }
                transcript.answers.append(answer)
            }
            transcript.log = gateway.log.containing(#""message":"request""#).map(Self.withoutTimes)
            let scrape = try #require(try await gateway.scrape()).split(separator: "\n").map(String.init)
            transcript.counts = scrape.filter {
                $0.contains("_total") && !$0.hasSuffix(" 0") && !$0.hasPrefix("process")
            }
        }
        return transcript
    }

    private static func withoutTimes(_ line: String) -> String {
        line.replacing(/"(duration_ms|ts|time|timestamp|trace_id|span_id)":("[^"]*"|[0-9.e-]+)/) {
            "\"\($0.output.1)\":0"
        }
    }

    // MARK: - Requests

    private static let now = Timestamp(
        millisecondsSince1970: (Forged.forge.contents.creationDate.secondsSince1970 + 60) * 1000)
    private static let key = APIKey.random()
    private static let poor = APIKey.random()
    private static let pepper = Secret("a pepper for the tests")

    private static let clientsFile: String = {
        let hasher = KeyHasher(pepper: pepper)
        return """
            clients:
              - name: shop
                apps: [\(Forged.forge.contents.bundleID), com.example.other]
                limits: [{name: day, quota: 1000, window: 30d}]
                keys:
            \(key.clientsFileSnippet(hasher: hasher))
              - name: poor
                apps: [com.example.other]
                limits: [{name: day, quota: 2, window: 30d}]
                keys:
            \(poor.clientsFileSnippet(hasher: hasher))
            """
    }()

    private static let requests: [String] = {
        let receipt = Data(Forged.receipts(1)[0]).base64EncodedString()
        let forged = Data(Forged.receipts(1)[0].dropLast() + [0]).base64EncodedString()
        let bodies = [
            #"{"receipt":"\#(receipt)"}"#, #"{"receipt":"\#(receipt)"}"#, #" {"receipt":"\#(receipt)"}"#,
            #"{"receipt":"\#(receipt)","mode":"local"}"#, #"{"receipt":"\#(receipt)","mode":"apple"}"#,
            #"{"receipt":"\#(receipt)","max_age":0}"#, #"{"receipt":"\#(receipt)","max_age":0}"#,
            #"{"receipt":"\#(receipt)","bundle_id":"com.example.other"}"#,
            #"{"receipt":"\#(receipt)","bundle_id":"com.example.nobodys"}"#,
            #"{"receipt":"\#(receipt)","device_identifier":"AQID"}"#, #"{"receipt":"\#(forged)"}"#,
            #"{"receipt":"\#(forged)"}"#, #"{"receipt":"AQID"}"#, #"{"receipt":"AQID"}"#, #"{"receipt":"A*ID"}"#,
            #"{"receipt":"AQID","receipt":"AQID"}"#, #"{"receipt":7}"#, #"{}"#, "", "[", #"{"receipt":"AQ\u0049D"}"#,
            #"{"receipt":"\#(String(repeating: "A", count: FastLane.Limits.bodyBytes))"}"#,
        ]
        let dropIns = [
            #"{"receipt-data":"\#(receipt)"}"#, #"{"receipt-data":"\#(receipt)"}"#, #"{"receipt-data":"\#(forged)"}"#,
            #"{"receipt-data":"ewo="}"#, "nonsense", #"{"receipt-data":"\#(receipt)","password":"secret"}"#,
        ]
        let owned =
            bodies.map { post("/v1/verify", $0, "X-API-Key: ")(key.exposed) }
            + dropIns.map { post("/verifyReceipt", $0, "X-API-Key: ")(key.exposed) }
        let strangers = [bodies[0], bodies[10], bodies[12]].map { post("/v1/verify", $0, "X-API-Key: ")(poor.exposed) }
        let odd = [
            post("/v1/verify", bodies[0], "X-API-Key: ")("rgk_0000000000000000.nobody"),
            post("/v1/verify?x=1", bodies[0], "X-API-Key: ")(key.exposed),
            post("//v1/verify", bodies[0], "X-API-Key: ")(key.exposed),
            post("/v1/Verify", bodies[0], "X-API-Key: ")(key.exposed),
            post("/v1/verify", bodies[0], "X-API-Key: ")(key.exposed).replacing("application/json", with: "text/plain"),
            post("/v1/verify", bodies[0], "X-API-Key: ")(key.exposed).replacing("POST", with: "PUT"),
        ]
        return (owned + strangers + odd).enumerated().map { number, request in
            request.replacing("Host: x\r\n", with: "Host: x\r\nX-Request-Id: number-\(number)\r\n", maxReplacements: 1)
        }
    }()
}

/// A request with a body, waiting for the value of one more field.
private func post(_ path: String, _ body: String, _ field: String) -> (String) -> String {
    { value in
        "POST \(path) HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n\(field)\(value)\r\n"
            + "Content-Length: \(body.utf8.count)\r\n\r\n\(body)"
    }
}

extension RunningGateway {
    fileprivate func send(_ request: String) async throws -> RawAnswer? {
        try await RawConnection.with(port: port) { connection in
            try await connection.send(request)
            return try await connection.answer()
        }
    }

    fileprivate func scrape() async throws -> String? {
        try await RawConnection.with(port: adminPort) { connection in
            try await connection.send("GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n")
            return try await connection.answer()?.body
        }
    }
}
