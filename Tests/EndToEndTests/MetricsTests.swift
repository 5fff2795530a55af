// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import TestSupport

/// `/metrics` of the real binary, as Prometheus scrapes it.
struct MetricsTests {
    @Test func `a scrape counts the answers that clients got`() async throws {
        let folder = try ScratchFolder()
        let (gateway, sample) = try await RunningGateway.withSample(in: folder)
        for _ in 0..<3 { #expect(try await gateway.verify(sample).status == 200) }
        #expect(try await gateway.verify(sample, ["bundle_id": "com.example.another-app"]).status == 200)
        #expect(try await gateway.verify(sample, ["mode": "apple"]).status == 200)
        #expect(try await gateway.post(Data("{}".utf8)).status == 400)
        #expect(try await gateway.get("/nowhere", port: gateway.dataPort).status == 404)
        let scrape = try await Scrape(gateway)
        let expected: [String: Double] = [
            #"http_requests_total{route="/v1/verify",method="POST",code="200"}"#: 5,
            #"http_requests_total{route="/v1/verify",method="POST",code="400"}"#: 1,
            #"http_requests_total{route="other",method="GET",code="404"}"#: 1,
            #"http_requests_total{route="/v1/verify",method="POST",code="500"}"#: 0,
            #"http_request_duration_seconds_count{route="/v1/verify",code_class="2xx"}"#: 5,
            #"http_request_duration_seconds_bucket{route="/v1/verify",code_class="4xx",le="+Inf"}"#: 1,
            "http_requests_in_flight": 0, "http_bodies_in_flight_bytes": 0,
            "http_bodies_in_flight_limit_bytes": 268_435_456,
            #"verifications_total{verdict="genuine",source="local",cache="miss",environment="Sandbox"}"#: 1,
            #"verifications_total{verdict="genuine",source="local",cache="near",environment="Sandbox"}"#: 2,
            #"verifications_total{verdict="rejected",source="local",cache="miss",environment="unknown"}"#: 1,
            #"rejections_total{rule="bundle_id_mismatch"}"#: 1,
            #"receipt_answers_total{source="local"}"#: 3, #"receipt_answers_total{source="app_store_server_api"}"#: 0,
            #"undecided_total{reason="upstream_not_configured"}"#: 1, #"lifecycle_stage{stage="ready"}"#: 1,
            #"lifecycle_stage{stage="draining"}"#: 0,
        ]
        for (series, value) in expected { #expect(scrape[series] == value, "\(series)") }
        #expect(scrape.values["prometheus_export_undeclared_total"] == 0)
        #expect(await gateway.stop() == 0)
    }

    @Test func `an idle node exports fewer than 1,500 series, about as many as docs/metrics.md says`() async throws {
        let count = try await Scrape(RunningGateway()).values.count
        #expect(count < 1500)
        let file = repositoryRoot.appending(path: "docs/metrics.md")
        let text = try String(contentsOf: file, encoding: .utf8)
        let said = try #require(text.firstMatch(of: /An idle node exports about ([0-9,]+) series/)).output.1
        let number = try #require(Int(said.replacing(",", with: "")))
        #expect(abs(count - number) < number / 10, "\(count)")
    }

    @Test func `the process is described`() async throws {
        let begin = Date().timeIntervalSince1970
        let scrape = try await Scrape(RunningGateway())
        func value(_ name: String) throws -> Double { try #require(scrape.values[name]) }
        #expect(try value("process_cpu_seconds_total") > 0)
        let resident = try value("process_resident_memory_bytes")
        #expect(resident > 1_000_000)
        #expect(try value("process_virtual_memory_bytes") > resident)
        let openFiles = try value("process_open_fds")
        #expect((5...1000).contains(openFiles))
        #expect(try value("process_max_fds") >= openFiles)
        // The kernel rounds the time of the boot to whole seconds.
        let started = try value("process_start_time_seconds")
        let now = Date().timeIntervalSince1970
        #expect((begin - 2...now + 2).contains(started))
        let loaded = try #require(scrape["configuration_load_timestamp_seconds"])
        #expect((begin - 1...now).contains(loaded))
    }

    @Test func `clients cannot see the metrics`() async throws {
        let gateway = try await RunningGateway()
        #expect(try await gateway.get("/metrics", port: gateway.dataPort).status == 404)
    }

    private static let hasPromtool = (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":")
        .contains { FileManager.default.isExecutableFile(atPath: "\($0)/promtool") }

    @Test(.enabled(if: hasPromtool, "promtool is not on the PATH: install Debian's package prometheus"))
    func `promtool reports nothing about a scrape`() async throws {
        let folder = try ScratchFolder()
        let file = try folder.write(try await Scrape(RunningGateway()).text, to: "metrics")
        let opinion = try await Program.shell.run(["-c", "promtool check metrics <'\(file)'"])
        #expect(opinion.status == 0 && opinion.output == "" && opinion.errors == "", "\(opinion)")
    }
}
