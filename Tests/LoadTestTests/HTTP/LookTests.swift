// SPDX-License-Identifier: Apache-2.0

import Testing
import TestSupport

@testable import LoadTest

/// Metrics watched during a load, and one printed exchange.
@Suite(.timeLimit(.patient)) struct LookTests {
    private static func answer(_ body: String, status: Int = 200) -> String {
        "HTTP/1.1 \(status) X\r\nContent-Length: \(body.utf8.count)\r\n\r\n" + body
    }

    @Test func `metrics are looked at once a second, and what matters is kept`() async throws {
        try await PlayServer.with { number in
            .answer(Self.answer("process_cpu_seconds_total \(number + 1)\n"))
        } _: { server in
            let watch = MetricWatch([try LoadTarget("http://127.0.0.1:\(server.port)", defaultPath: "/metrics")])
            try await watch.check()
            let looking = Task { await watch.run(from: .now) }
            try await eventually("two points") { watch.series.first?.points.count ?? 0 >= 2 }
            looking.cancel()
            await looking.value
            let series = try #require(watch.series.first)
            #expect(series.name == "process_cpu_seconds_total" && series.labels.isEmpty)
            #expect(series.points.prefix(2).map(\.y) == [2, 3])
            #expect(series.points[0].x < series.points[1].x)
            #expect(watch.complaints.isEmpty)
        }
    }

    @Test(arguments: [(200, "<html>"), (500, "up 1\n")])
    func `what is no metrics is said before the run`(status: Int, body: String) async throws {
        try await PlayServer.with { _ in
            .answer(Self.answer(body, status: status))
        } _: { server in
            let watch = MetricWatch([try LoadTarget("http://127.0.0.1:\(server.port)/metrics")])
            await #expect(throws: ScrapeError.self) { try await watch.check() }
        }
    }

    @Test func `one exchange is shown as it went over the wire`() async throws {
        try await PlayServer.with { _ in
            .answer(Self.answer("a\u{1B}b", status: 429))
        } _: { server in
            let target = try LoadTarget("http://127.0.0.1:\(server.port)/x")
            let request = RequestForm.request("GET", target, [], body: nil)
            let text = try await Exchange(target: target, timeout: .seconds(60)).transcript(of: request)
            for word in ["GET /x HTTP/1.1", "HTTP/1.1 429 X", "a\\x1bb", "outcome: shed"] {
                #expect(text.contains(word), "\(word)")
            }
        }
    }

    @Test func `an exchange that is none is shown, too`() async throws {
        try await PlayServer.with { _ in
            .answerAndClose("SSH-2.0\r\n")
        } _: { server in
            let target = try LoadTarget("http://127.0.0.1:\(server.port)")
            let request = RequestForm.request("GET", target, [], body: nil)
            let text = try await Exchange(target: target).transcript(of: request)
            #expect(text.contains("SSH-2.0") && text.contains("no whole answer"))
        }
    }
}
