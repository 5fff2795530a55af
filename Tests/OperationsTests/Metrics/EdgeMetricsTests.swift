// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import Logging
import NIOCore
import NIOEmbedded
import Resilience
import Testing
import TestSupport

@testable import Clients
@testable import HTTPServer
@testable import Server
@testable import ServerTestSupport
@testable import Telemetry

/// A connection without a socket. The test decides when its requests are answered.
private struct Connection {
    let channel: EmbeddedChannel
    let registry: PrometheusRegistry
    let log = LogLines()
    private let answers: AsyncStream<Reply>.Continuation

    init(answerDeadline: TimeAmount = .hours(1)) throws {
        let rules = EdgeRules(
            bodyLimit: .kibibytes(1), headersDeadline: .hours(1), requestDeadline: .hours(1),
            answerDeadline: answerDeadline, idleDeadline: .hours(1), shutdownGrace: .hours(1))
        registry = try PrometheusRegistry(MetricCatalogue.all)
        let (replies, answers) = AsyncStream.makeStream(of: Reply.self)
        self.answers = answers
        let route = Route(.post, "/v1/verify") { _, _ in
            .wait {
                for await reply in replies { return .done(reply) }
                throw CancellationError()
            }
        }
        let settings = LogSettings(LogSettings.Values(level: .trace, requests: .all))
        let edge = Edge(
            rules: rules, budget: BodyBudget(.mebibytes(1)), lifecycle: ServerLifecycle(),
            pipeline: RequestPipeline(
                [route], logger: .silent, requestLogger: log.logger(settings), writingTo: log, settings),
            metrics: EdgeMetrics(registry))
        channel = EmbeddedChannel(handler: EdgeHandler(edge, HTTPLimits()))
    }

    func ask(bodyBytes: Int = 3) throws {
        let head = "POST /v1/verify HTTP/1.1\r\nHost: localhost\r\nContent-Length: \(bodyBytes)\r\n\r\n"
        try channel.writeInbound(ByteBuffer(string: head + String(repeating: " ", count: bodyBytes)))
        channel.embeddedEventLoop.run()
    }

    func answer() {
        answers.yield(Reply(body: []))
        channel.embeddedEventLoop.run()
    }

    func requests(_ route: String, _ method: String, _ code: String) -> UInt64 {
        registry.counter(MetricCatalogue.requests, [route, method, code]).value
    }

    var inFlight: Double { registry.gauge(MetricCatalogue.requestsInFlight).value }
    var connections: Double { registry.gauge(MetricCatalogue.connections).value }
}

struct EdgeMetricsTests {
    private var gateway: RunningGateway { .current }

    @Test func `a request is in flight from its end to the end of its response`() throws {
        let connection = try Connection()
        for _ in 0..<2 {
            #expect(connection.inFlight == 0)
            try connection.ask()
            #expect(connection.inFlight == 1)
            connection.answer()
        }
        #expect(connection.inFlight == 0)
        #expect(connection.registry.requestCount == 2)
        #expect(connection.requests("/v1/verify", "POST", "200") == 2)
        let timed = connection.registry.histogram(MetricCatalogue.requestDuration, ["/v1/verify", "2xx"])
        #expect(timed.cumulativeCounts.last == 2 && timed.sum > 0)
    }

    @Test func `a broken connection ends its request in flight`() throws {
        let connection = try Connection()
        try connection.ask()
        #expect(connection.connections == 1)
        connection.channel.close(promise: nil)
        connection.channel.embeddedEventLoop.run()
        #expect(connection.inFlight == 0)
        #expect(connection.connections == 0)
        #expect(connection.registry.requestCount == 0)
    }

    @Test func `a late response is counted once, as the 503 that was sent`() throws {
        let connection = try Connection(answerDeadline: .zero)
        try connection.ask()
        connection.channel.embeddedEventLoop.advanceTime(to: .now() + .hours(2))
        connection.answer()
        #expect(connection.registry.requestCount == 1)
        #expect(connection.requests("/v1/verify", "POST", "503") == 1)
        #expect(connection.registry.counter(MetricCatalogue.refusals, ["answer_late"]).value == 1)
        #expect(connection.inFlight == 0)
        let lines = connection.log.containing(#""request_id""#)
        #expect(lines.count == 1 && lines[0].contains(#""status":503"#), "\(lines)")
        #expect(lines[0].contains(#""body_bytes":3"#), "\(lines)")
        #expect(lines[0].contains(#""route":"/v1/verify""#) && lines[0].contains(#""client":"loopback""#), "\(lines)")
    }

    @Test func `a request rejected by the edge is counted with its cause`() throws {
        let connection = try Connection()
        try connection.ask(bodyBytes: 1025)
        #expect(connection.registry.requestCount == 1)
        #expect(connection.requests("/v1/verify", "POST", "413") == 1)
        #expect(connection.registry.counter(MetricCatalogue.refusals, ["body_too_large"]).value == 1)
        #expect(connection.inFlight == 0)
    }

    @Test(.gateway) func `malformed requests have neither route nor method`() async throws {
        let answer = try await gateway.send("no HTTP\r\n\r\n")
        #expect(answer?.status == 400)
        let requests = gateway.server.metrics.counter(MetricCatalogue.requests, ["other", "other", "400"])
        #expect(requests.value == 1)
    }
}
