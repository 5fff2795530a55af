// SPDX-License-Identifier: Apache-2.0

import AppleSimulator
import Cryptography
import FoundationEssentials
import HTTPTypes
import InMemoryTracing
import Logging
import NIOHTTP1
import RealServers
import ReceiptForge
import Receipts
import Redis
import Testing
import TestSupport
import Tracing

@testable import Clients
@testable import HTTPServer
@testable import RedisStore
@testable import Server
@testable import Settings
@testable import Telemetry

/// Log lines of a request, and its spans if a tracer is linked.
@Suite("The trace of a request", .timeLimit(.patient))
struct RequestTracingTests {
    private var gateway: RunningGateway { .current }
    private static let traceID = "4bf92f3577b34da6a3ce929d0e0e4736"
    private static let parent = "traceparent: 00-\(traceID)-00f067aa0ba902b7-01\r\n"

    @Test(.gateway) func `a request line has the sender's trace, or a new one if none was sent`() async throws {
        let sent = try await gateway.ask(Self.parent + "X-Request-Id: one\r\n")
        #expect(sent.status == 200 && sent.headers["x-request-id"] == "one")
        #expect(sent.headers["traceresponse"] == nil && sent.headers["traceparent"] == nil)
        let invalid = "traceparent: 00-\(Self.traceID)-00f067aa0ba902b7-01-\r\n"
        _ = try await gateway.ask(invalid + "X-Request-Id: two\r\n")
        _ = try await gateway.ask(Self.parent + Self.parent + "X-Request-Id: three\r\n")
        let lines = ["one", "two", "three"].flatMap { gateway.log.containing(#""request_id":"\#($0)""#) }
        #expect(lines.count == 3)
        #expect(lines.map { $0.contains(#""trace_id":"\#(Self.traceID)""#) } == [true, false, false])
        #expect(
            lines.allSatisfy { $0.contains(/"trace_id":"[0-9a-f]{32}"/) && $0.contains(/"span_id":"[0-9a-f]{16}"/) }
        )
    }

    @Test(.gateway) func `a request rejected by the edge has a trace as well`() async throws {
        let answer = try await gateway.send(
            "POST /v1/verify HTTP/1.1\r\nHost: x\r\n\(Self.parent)Expect: wonders\r\nContent-Length: 2\r\n\r\n")
        #expect(answer?.status == 417)
        #expect(gateway.log.containing(Self.traceID).count == 1)
    }

    @Test func `without a tracer the trace is parsed only for a log line`() async throws {
        let context = try RequestContext.forTests(["traceparent": "00-\(Self.traceID)-00f067aa0ba902b7-01"])
        let isAlone = RequestTracing.off.begin(context) { RequestContext.current == nil }
        #expect(isAlone)
        #expect(context.span == nil)
        // A second read gives the same trace.
        #expect(context.traceIDs == context.traceIDs && context.traceIDs.traceID == Self.traceID)
    }

    @Test func `an API key sent as a request ID is replaced`() {
        let key = APIKey.random().exposed
        #expect(RequestID(sent: key).text != key && key.utf8.count <= RequestID.maximumBytes)
        #expect(RequestID(sent: "rgk").text == "rgk")
    }

    // MARK: - Spans

    @Test func `a linked tracer gets spans of the request and its steps, without receipt data`()
        async throws
    {
        let tracer = W3CTracer(), receipt = Data(Forged.receipts(1)[0]).base64EncodedString()
        try await Self.withFleet(tracer) { gateway in
            let answer = try await gateway.ask(
                Self.parent + "tracestate: vendor=1\r\nbaggage: secret=1\r\n",
                #"{"receipt":"\#(receipt)","mode":"apple"}"#)
            #expect(answer.body.contains(#""source":"apple""#), "\(answer)")
            // The result is stored after the response.
            try await eventually { tracer.spans.contains { $0.operationName == "SET" } }
            let request = try #require(tracer.spans.first { $0.kind == .server })
            #expect(request.operationName == "POST /v1/verify")
            #expect(request.traceID == Self.traceID && request.parentSpanID == "00f067aa0ba902b7")
            #expect(tracer.spans.allSatisfy { $0.traceID == Self.traceID })
            let inside = tracer.spans.filter { $0.kind != .server }
            #expect(inside.allSatisfy { $0.parentSpanID == request.spanID })
            #expect(inside.map(\.operationName).filter { $0 == "POST" }.count == 2, "production, then the sandbox")
            #expect(Set(inside.map(\.operationName)) == ["verify receipt", "GET", "POST", "SET"])
            Self.expectWords(in: tracer.spans, request)
            // The log has the tracer's span, also in the lines about requests to Apple.
            let lines = gateway.log.containing(#""span_id":"\#(request.spanID)""#)
            #expect(lines.filter { $0.contains(#""message":"request""#) }.count == 1)
            let said = lines.filter { $0.contains(#""message":"Apple answered""#) && $0.contains(Self.traceID) }
            #expect(said.count == 2 && said.allSatisfy { $0.contains(#""api":"verify_receipt""#) })
            #expect(lines.contains { $0.contains(#""upstream":"sandbox""#) && $0.contains(#""upstream_ms":"#) })
            // The fields that the tracer was given.
            let carrier = tracer.memory.performedContextExtractions.first?.carrier as? [String: String]
            #expect(carrier?.keys.sorted() == ["traceparent", "tracestate"])
        }
    }

    private static func expectWords(in spans: [FinishedInMemorySpan], _ request: FinishedInMemorySpan) {
        let attributes = request.attributes
        #expect(attributes.get("http.request.method") == "POST" && attributes.get("http.route") == "/v1/verify")
        #expect(attributes.get("http.response.status_code") == 200)
        #expect(attributes.get("receipt_gateway.verdict") == "genuine")
        #expect(attributes.get("receipt_gateway.upstream_outcome") == "answered")
        #expect(attributes.get("receipt_gateway.api") == "verify_receipt")
        let asked = spans.last { $0.operationName == "POST" }?.attributes
        #expect(asked?.get("receipt_gateway.api") == "verify_receipt")
        #expect(asked?.get("server.address") == "127.0.0.1" && asked?.get("http.response.status_code") == 200)
        #expect(spans.first { $0.operationName == "GET" }?.attributes.get("db.system.name") == "redis")
        let receipt = Data(Forged.receipts(1)[0]).base64EncodedString()
        for span in spans {
            span.attributes.forEach { _, value in
                #expect(!receipt.contains("\(value)".prefix(20)) || "\(value)".count < 20)
            }
        }
    }

    @Test func `rejected receipts appear in their spans`() async throws {
        let tracer = W3CTracer()
        try await RunningGateway.with(dependencies: { $0.tracer = tracer }) { gateway in
            #expect(try await gateway.ask("").status == 200)
            #expect(try await gateway.send("GET /nowhere HTTP/1.1\r\nHost: x\r\n\r\n")?.status == 404)
            try await eventually { tracer.spans.filter { $0.kind == .server }.count == 2 }
            let verified = try #require(tracer.spans.first { $0.operationName == "verify receipt" })
            #expect(verified.attributes.get("receipt_gateway.reason") != nil)
            #expect(verified.startInstant.nanosecondsSinceEpoch <= verified.endInstant.nanosecondsSinceEpoch)
            #expect(tracer.spans.map(\.operationName).contains("GET"))
        }
    }

    /// Runs a gateway with a real Redis and a simulated Apple.
    private static func withFleet(_ tracer: W3CTracer, _ test: (RunningGateway) async throws -> Void) async throws {
        let redis = try await RealServer.redis()
        let apple = try await AppleSimulator.start(AppleSimulator.Configuration(pki: Forged.pki))
        let folder = FileManager.default.temporaryDirectory.appending(component: "traces-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let root = folder.appending(component: "root.pem")
        try Forged.pki.rootPEM.write(to: root, atomically: true, encoding: .utf8)
        let url = try RedisURL("redis://127.0.0.1:\(redis.port)"), keys = try StoreKeys(StoreNode.cacheKey)
        try await RunningGateway.with {
            $0.apple.isEnabled = true
            ($0.apple.productionURL, $0.apple.sandboxURL) = (
                UpstreamURL(apple.productionURL), UpstreamURL(apple.sandboxURL)
            )
            $0.apple.sharedSecret = Secret("0123456789abcdef0123456789abcdef")
            $0.trustRoots = [TrustRoot(path: root.path, environments: [.sandbox])]
            ($0.redis.url, $0.redis.deadline) = (url, Patience.forOperation)
            $0.cacheKeys = keys
            $0.log.values.level = .debug
        } dependencies: {
            $0.tracer = tracer
        } _: { gateway in
            try await eventually { try await gateway.send(.readiness, port: gateway.adminPort)?.status == 200 }
            try await test(gateway)
        }
        await apple.stop()
        redis.kill()
    }
}

extension String {
    fileprivate static let readiness = "GET /readyz HTTP/1.1\r\nHost: x\r\n\r\n"
}

extension RunningGateway {
    /// Verifies an invalid receipt, with these header lines.
    fileprivate func ask(_ fields: String, _ body: String = #"{"receipt":"AQID"}"#) async throws -> RawAnswer {
        try #require(
            try await send(
                "POST /v1/verify HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n\(fields)"
                    + "Content-Length: \(body.utf8.count)\r\n\r\n\(body)"))
    }
}
