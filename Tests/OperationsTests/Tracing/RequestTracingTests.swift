// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import HTTPClient
import JSON
import Logging
import NIOHTTP1
import Synchronization
import Testing
import TestSupport

@testable import Clients
@testable import HTTPServer
@testable import Server
@testable import ServerTestSupport
@testable import Settings
@testable import Telemetry

/// Log lines of a request, and its spans if they are exported.
@Suite("The trace of a request", .timeLimit(.patient))
struct RequestTracingTests {
    private var gateway: RunningGateway { .current }
    private static let traceID = "4bf92f3577b34da6a3ce929d0e0e4736"
    private static let parent = "traceparent: 00-\(traceID)-00f067aa0ba902b7-01"

    @Test(.gateway) func `a request line has the sender's trace, or a new one if none was sent`() async throws {
        let sent = try await gateway.verify([Self.parent, "X-Request-Id: one"])
        #expect(sent.status == 200 && sent.headers["x-request-id"] == "one")
        #expect(sent.headers["traceresponse"] == nil && sent.headers["traceparent"] == nil)
        _ = try await gateway.verify([Self.parent + "-", "X-Request-Id: two"])
        _ = try await gateway.verify([Self.parent, Self.parent, "X-Request-Id: three"])
        let lines = ["one", "two", "three"].flatMap { gateway.log.containing(#""request_id":"\#($0)""#) }
        #expect(lines.count == 3)
        #expect(lines.map { $0.contains(#""trace_id":"\#(Self.traceID)""#) } == [true, false, false])
        #expect(
            lines.allSatisfy { $0.contains(/"trace_id":"[0-9a-f]{32}"/) && $0.contains(/"span_id":"[0-9a-f]{16}"/) }
        )
    }

    @Test(.gateway) func `a request rejected by the edge has a trace as well`() async throws {
        let answer = try await gateway.ask("POST /v1/verify", [Self.parent, "Expect: wonders"])
        #expect(answer?.status == 417)
        #expect(gateway.log.containing(Self.traceID).count == 1)
    }

    @Test func `without spans the trace is parsed only for a log line`() async throws {
        let context = try RequestContext.forTests(["traceparent": "00-\(Self.traceID)-00f067aa0ba902b7-01"])
        #expect(!RequestTracing.off.begin(context))
        let isAlone = RequestTracing.off.run(context) { RequestContext.current == nil && TraceScope.current == nil }
        #expect(isAlone && context.trace == nil)
        // A second read gives the same trace.
        #expect(context.traceIDs == context.traceIDs && context.traceIDs.traceID == Self.traceID)
    }

    @Test func `an API key sent as a request ID is replaced`() {
        let key = APIKey.random().exposed
        #expect(RequestID(sent: key).text != key && key.utf8.count <= RequestID.maximumBytes)
        #expect(RequestID(sent: "rgk").text == "rgk")
    }

    // MARK: - Spans

    @Test func `a trace has each step of a request, and no receipt data`() async throws {
        let collector = SpanCollector(), receipt = Data(Forged.receipts(1)[0]).base64EncodedString()
        try await collector.run { url in
            try await TracedFleet.withNode(to: url) { gateway in
                let answer = try await gateway.verify(
                    [Self.parent, "baggage: secret=1"], #"{"receipt":"\#(receipt)","mode":"apple"}"#)
                #expect(answer.body.contains(#""source":"apple""#), "\(answer)")
                // The result is stored after the response.
                try await eventually {
                    ["store result", "POST /v1/verify"].allSatisfy { !collector.spans(named: $0).isEmpty }
                }
                // The log has the span, also in the lines about requests to Apple.
                let lines = gateway.log.containing(#""trace_id":"\#(Self.traceID)""#)
                let request = try #require(collector.spans.first { $0.kind == "2" })
                #expect(lines.contains { $0.contains(#""message":"request""#) && $0.contains(request.spanID) })
                #expect(lines.filter { $0.contains(#""message":"Apple answered""#) }.count == 2)
                try Self.expectStory(collector, request)
            }
        }
        let sent = collector.server.received
        #expect(!sent.isEmpty && sent.allSatisfy { $0.requestLine == "POST /v1/traces HTTP/1.1" })
        #expect(sent.allSatisfy { $0.headers["content-type"] == "application/json" })
        #expect(sent.allSatisfy { !String(decoding: $0.body, as: UTF8.self).contains(receipt.prefix(40)) })
    }

    /// Expects the spans of edge, cache, Redis and Apple, each within its cause.
    private static func expectStory(_ collector: SpanCollector, _ request: SpanCollector.Span) throws {
        #expect(request.name == "POST /v1/verify" && request.parent == "00f067aa0ba902b7" && !request.isError)
        // Redis is also used for what no request waits for; these spans are of no trace.
        let spans = collector.spans
        #expect(spans.allSatisfy { $0.traceID == traceID && $0.start <= $0.end && $0.start > 0 })
        func within(_ cause: SpanCollector.Span) -> [SpanCollector.Span] { spans.filter { $0.parent == cause.spanID } }
        let steps = within(request)
        #expect(
            Set(steps.map(\.name)).isSuperset(of: ["receive request", "verify receipt", "look up result", "POST"]))
        let lookUp = try #require(steps.first { $0.name == "look up result" })
        #expect(lookUp.attributes["receipt_gateway.cache"] == "miss")
        let redis = try #require(within(lookUp).first)
        #expect(redis.name == "PIPELINE" && redis.kind == "3" && redis.attributes["db.system.name"] == "redis")
        #expect(redis.attributes["db.operation.batch.size"] == "3")
        let store = try #require(steps.first { $0.name == "store result" })
        #expect(!within(store).isEmpty)
        let apple = steps.filter { $0.name == "POST" }
        #expect(apple.count == 2 && apple.allSatisfy { $0.kind == "3" }, "production, then the sandbox")
        #expect(Set(apple.map { $0.attributes["receipt_gateway.upstream"] }) == ["production", "sandbox"])
        #expect(apple.allSatisfy { $0.attributes["server.address"] == "127.0.0.1" })
        #expect(apple.allSatisfy { $0.attributes["http.response.status_code"] == "200" })
        #expect(request.attributes["http.route"] == "/v1/verify" && request.attributes["url.scheme"] == "http")
        #expect(request.attributes["http.response.status_code"] == "200")
        #expect(request.attributes["receipt_gateway.verdict"] == "genuine")
        #expect(request.attributes["receipt_gateway.api"] == "verify_receipt")
        let resource = try #require(collector.requests.first?.elements("resourceSpans").first?["resource"])
        #expect(SpanCollector.attributes(of: resource)["service.name"] == "receipt-gateway")
    }

    @Test func `the last spans are exported at the shutdown`() async throws {
        let collector = SpanCollector()
        try await collector.run { url in
            try await RunningGateway.with({ $0.traces.endpoint = url }) { gateway in
                let verified = try await gateway.verify()
                let (ready, missing) = (try await gateway.ask("GET /readyz"), try await gateway.ask("GET /nowhere"))
                #expect(verified.status == 200 && ready?.status == 200 && missing?.status == 404)
            }
        }
        let verified = try #require(collector.spans(named: "verify receipt").first)
        #expect(verified.attributes["receipt_gateway.reason"] != nil)
        #expect(collector.spans(named: "GET").first?.attributes["http.response.status_code"] == "404")
        #expect(collector.spans.filter { $0.kind == "2" }.count == 2, "health checks have no spans")
    }

    @Test func `a batch that the collector is too busy for is sent again, once`() async throws {
        let collector = SpanCollector()
        collector.server.answer(503)
        try await collector.run { url in
            try await RunningGateway.with({ $0.traces.endpoint = url }) { gateway in
                #expect(try await gateway.verify().status == 200)
                try await eventually { !gateway.log.containing("The collector does not take the spans").isEmpty }
                let sent = collector.server.received.count
                collector.server.answer(200)
                try await eventually { collector.server.received.count > sent }
                try await eventually { !gateway.log.containing("The collector takes the spans again").isEmpty }
                let metrics = gateway.server.metrics.text()
                #expect(metrics.contains(#"receipt_gateway_trace_spans_total{result="failed"} 0"#))
                #expect(!metrics.contains(#"receipt_gateway_trace_spans_total{result="exported"} 0"#))
            }
        }
    }

    @Test func `spans that come while a batch is sent wait for their batch to fill`() async throws {
        let recorder = SpanRecorder(TraceSampler(.alwaysOn, ratio: 1)) { _, _ in }
        let scope = try #require(RequestTracing(recorder).begin(following: nil, isTrusted: false))
        let left = Mutex(20)
        let collector = SpanCollector(
            server: WebhookReceiver {
                let isLeft = left.withLock { left in
                    left -= 1
                    return left >= 0
                }
                if isLeft { scope.record("meanwhile", .internal, took: .zero) }
            })
        try await collector.run { url in
            let exporter = try Self.exporter(recorder, url)
            for _ in 0...SpanRecorder.Limits.batch { scope.record("before", .internal, took: .zero) }
            await exporter.exportWaiting()
            #expect(collector.spans.count == SpanRecorder.Limits.batch + 2, "all that waited, and one that came")
            #expect(collector.requests.count == 2 && recorder.takeBatch().count == 1)
            await exporter.finish()
        }
    }

    @Test func `a batch in flight at the shutdown is sent again`() async throws {
        let collector = SpanCollector(server: WebhookReceiver(status: nil))
        let fates = Mutex<[SpanFate: Int]>([:])
        let recorder = SpanRecorder(TraceSampler(.alwaysOn, ratio: 1)) { fate, count in
            fates.withLock { $0[fate, default: 0] += count }
        }
        try await collector.run { url in
            let exporter = try Self.exporter(recorder, url), running = Task { await exporter.run() }
            try #require(RequestTracing(recorder).begin(following: nil, isTrusted: false)).end(
                "last", .internal, took: .zero)
            recorder.wake()
            try await eventually { !collector.server.received.isEmpty }
            collector.server.answer(200)
            running.cancel()
            await running.value
            await exporter.finish()
        }
        #expect(collector.spans.map(\.name) == ["last", "last"] && fates.withLock { $0 } == [.exported: 1])
    }

    private static func exporter(_ recorder: SpanRecorder, _ collector: CollectorURL) throws -> SpanExporter {
        SpanExporter(
            recorder, over: try HTTPTransport(TransportConfiguration(TracesConfiguration())), to: collector.text,
            headers: [], format: OTLPTraces(resource: []), timeout: Patience.forOperation,
            logger: Logger(label: "spans"))
    }

    @Test func `the flag of a client counts if the clients file trusts the client`() async throws {
        for (fields, isTrusted) in [("apps: '*'\n    may: [trace]", true), ("apps: '*'", false)] {
            let collector = SpanCollector(), key = APIKey.random()
            try await collector.run { url in
                try await RunningGateway.withClient(
                    key, fields, change: { ($0.traces.endpoint, $0.traces.sampler) = (url, .parentOrOff) }
                ) { gateway in
                    _ = try await gateway.ask("GET /v1/status", ["X-API-Key: \(key.exposed)", Self.parent])
                }
            }
            #expect(collector.spans.contains { $0.traceID == Self.traceID } == isTrusted)
        }
    }
}

extension RunningGateway {
    /// Verifies an invalid receipt, with these header fields.
    fileprivate func verify(
        _ fields: [String] = [], _ body: String = #"{"receipt":"AQID"}"#
    ) async throws -> RawAnswer {
        try #require(try await post("/v1/verify", fields, body: body))
    }
}
