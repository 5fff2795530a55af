// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import ServerTestSupport
@testable import Settings
@testable import Telemetry

@Suite("Sampling of request lines")
struct RequestSamplerTests {
    private let start = ContinuousClock.now
    private let rules = RequestSampling(oneIn: 10, slow: .milliseconds(500), notablePerSecond: 3)

    @Test func `one in N ordinary requests is logged, beginning with the first`() {
        let sampler = RequestSampler(rules)
        let decisions = (0..<100).map { _ in sampler.decide(status: 200, took: .milliseconds(499), at: start) }
        #expect(decisions.filter { $0 == .write(nil, suppressed: 0) }.count == 10)
        #expect(decisions[0] != .omit && decisions[1] == .omit)
        #expect(NotableRequest.allCases.allSatisfy { sampler.suppressedLines(of: $0) == 0 })
    }

    @Test func `one in one is every request`() {
        let sampler = RequestSampler(RequestSampling(oneIn: 1))
        #expect((0..<100).allSatisfy { _ in sampler.decide(status: 204, took: .zero, at: start) != .omit })
    }

    @Test(arguments: [
        (500, Duration.zero, NotableRequest.serverError), (503, .seconds(9), .serverError), (400, .zero, .clientError),
        (429, .seconds(9), .clientError), (499, .zero, .clientError), (200, .milliseconds(500), .slow),
    ])
    func `notable requests are logged up to a rate, and the next line has the number suppressed`(
        status: Int, took: Duration, kind: NotableRequest
    ) {
        let sampler = RequestSampler(rules)
        func decide(after span: Duration) -> RequestSampler.Decision {
            sampler.decide(status: status, took: took, at: start + span)
        }
        let written = RequestSampler.Decision.write(kind, suppressed: 0)
        #expect((0..<5).map { _ in decide(after: .zero) } == [written, written, written, .omit, .omit])
        #expect(sampler.suppressedLines(of: kind) == 2)
        #expect(decide(after: .seconds(1)) == .write(kind, suppressed: 2))
        #expect(decide(after: .seconds(1)) == written)
        // Each kind has its own budget.
        for other in NotableRequest.allCases where other != kind { #expect(sampler.suppressedLines(of: other) == 0) }
    }

    // MARK: - In the log

    @Test func `a sampling gateway logs failures with the reason, and counts suppressed lines`() async throws {
        try await RunningGateway.with {
            $0.log.values.requests = .sampled
            $0.log.sampling = RequestSampling(oneIn: 5, slow: .seconds(60), notablePerSecond: 1)
        } _: { gateway in
            for _ in 0..<10 { #expect(try await gateway.ask("GET /v1/status")?.status == 200) }
            for _ in 0..<200 { #expect(try await gateway.ask("GET /nowhere")?.status == 404) }
            let lines = gateway.log.containing(#""message":"request""#)
            #expect(
                lines.filter { $0.contains(#""logged_because":"sampled""#) && $0.contains(#""one_in":5"#) }.count == 2)
            let failures = lines.filter { $0.contains(#""logged_because":"client_error""#) }
            #expect(!failures.isEmpty && failures.count + 2 == lines.count)
            let metrics = try await gateway.scrape()
            let name = #"receipt_gateway_log_lines_suppressed_total{line="client_error"} "#
            #expect(metrics.contains(name + "\(200 - failures.count)\n"), "\(failures.count)")
            #expect(metrics.contains("receipt_gateway_log_lines_dropped_total 0\n"))
        }
    }

    @Test func `a gateway that logs no requests logs none`() async throws {
        try await RunningGateway.with {
            $0.log.values.requests = RequestLogging.none
        } _: { gateway in
            let answer = try await gateway.ask("GET /nowhere")
            #expect(answer?.status == 404)
            #expect(gateway.log.containing(#""message":"request""#).isEmpty)
            #expect(!gateway.log.containing("Listening").isEmpty)
        }
    }
}
