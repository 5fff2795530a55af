// SPDX-License-Identifier: Apache-2.0

import JSON
import Testing
import TestSupport

@testable import Server
@testable import ServerTestSupport

/// The doctor's check of the collector.
@Suite("The collector in the doctor's report", .timeLimit(.patient))
struct TracesCheckTests {
    private static func check(_ environment: [String: String]) async throws -> CheckResult {
        let report = CheckReport(.traces)
        await AreaCheck(configuration: try loadConfiguration(environment), report: report).checkTraces()
        let checks = report.close()
        #expect(checks.map(\.subject) == ["collector"])
        return try #require(checks.first)
    }

    @Test func `without a collector there is one line`() async throws {
        let check = try await Self.check([:])
        #expect(check.level == .ok && check.seen.contains("no spans are exported"))
    }

    @Test(arguments: ["", "{}", #"{"partialSuccess":{}}"#])
    func `a collector that takes an export without spans is well`(answer: String) async throws {
        let receiver = WebhookReceiver(answerBody: answer)
        try await receiver.run { port in
            let url = "http://127.0.0.1:\(port)"
            let check = try await Self.check([
                "OTEL_EXPORTER_OTLP_ENDPOINT": url, "OTEL_EXPORTER_OTLP_HEADERS": "x-key=hidden",
            ])
            #expect(check.level == .ok && check.seen.hasPrefix("\(url)/v1/traces: HTTP 200 "), "\(check)")
            #expect(!"\(check)".contains("hidden"))
        }
        let sent = try #require(receiver.received.first)
        #expect(receiver.received.count == 1 && sent.requestLine == "POST /v1/traces HTTP/1.1")
        #expect(sent.headers["content-type"] == "application/json" && sent.headers["x-key"] == "hidden")
        let resource = try #require(try JSONValue(parsing: sent.body).elements("resourceSpans").first)
        #expect(resource.elements("scopeSpans").allSatisfy { $0.elements("spans").isEmpty })
    }

    @Test(
        arguments: [
            (401, .failed, "gateway.traces.headers"), (404, .failed, "/v1/traces"), (400, .failed, "OTLP in JSON"),
            (302, .failed, "a collector answers there"), (503, .warning, "See its log"),
        ] as [(Int, CheckResult.Level, String)])
    func `a collector that refuses an export is named with advice`(
        status: Int, level: CheckResult.Level, advice: String
    ) async throws {
        try await WebhookReceiver(status: status).run { port in
            let check = try await Self.check(["GATEWAY_TRACES_ENDPOINT": "http://127.0.0.1:\(port)/otlp"])
            #expect(check.level == level && check.seen.contains("/otlp: HTTP \(status): "), "\(check)")
            #expect(check.advice?.contains(advice) == true, "\(check)")
        }
    }

    @Test func `a page in the place of a collector is a warning`() async throws {
        try await WebhookReceiver(answerBody: "<html></html>").run { port in
            let check = try await Self.check(["GATEWAY_TRACES_ENDPOINT": "http://127.0.0.1:\(port)/v1/traces"])
            #expect(check.level == .warning && check.advice?.contains("usually 4318") == true, "\(check)")
        }
    }

    @Test func `a collector that cannot be reached fails with advice`() async throws {
        let closed = try await Self.check(["OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1"])
        #expect(closed.level == .failed && closed.seen.hasSuffix("the connection was refused or has no route"))
        #expect(closed.advice?.hasPrefix("Start the collector") == true)
    }
}
