// SPDX-License-Identifier: Apache-2.0

import Telemetry
import Testing
import TestSupport

@testable import HTTPServer
@testable import Server
@testable import ServerTestSupport
@testable import Settings

/// Reloads of a gateway in this process.
struct ReloadServiceTests {
    @Test func `each reload is counted, logged in one line, and remembered`() async throws {
        let folder = try TemporaryFolder()
        func write(_ text: String) throws { try folder.write(text, to: "gateway.yaml") }
        try write("gateway: {log: {level: info}}")
        let (triggers, happening) = AsyncStream.makeStream(of: ReloadTrigger.self)
        let source = ConfigurationSource(environment: [:], filePath: folder.path("gateway.yaml")),
            files = FileReadings()
        _ = try source.load(readFile: files.read)
        try await RunningGateway.with { configuration in
            // The content of this test's file.
            configuration = GatewayConfiguration()
            (configuration.http.listener.port, configuration.admin.port) = (0, 0)
        } dependencies: {
            $0.reloading = Reloading(source: source, files: files, triggers: triggers)
        } _: { gateway in
            func metric(_ series: String) -> Bool {
                gateway.server.metrics.text().contains("receipt_gateway_configuration_\(series)\n")
            }
            #expect(metric(#"reloads_total{result="success"} 0"#) && metric("last_reload_successful 1"))
            #expect(metric("last_reload_timestamp_seconds 0") && gateway.server.reloads.last == nil)
            try write("gateway: {colour: red, log: {level: loud}}")
            happening.yield(.signal)
            try await eventually { metric(#"reloads_total{result="refused"} 1"#) }
            #expect(metric("last_reload_successful 0") && gateway.server.reloads.last?.problems.count == 2)
            let lines = gateway.log.containing("Configuration rejected")
            #expect(lines.count == 1 && lines.first?.contains(#""occasion":"SIGHUP""#) == true, "\(lines)")
            #expect(
                lines.first?.contains("gateway.colour") == true && lines.first?.contains("gateway.log.level") == true)
            // Two reloads in a row are two, and do not disturb each other.
            try write("gateway: {log: {level: info}}")
            happening.yield(.signal)
            happening.yield(.signal)
            try await eventually { metric(#"reloads_total{result="unchanged"} 2"#) }
            #expect(metric("last_reload_successful 1") && !metric("last_reload_timestamp_seconds 0"))
            // The system chose other ports than those of the file.
            #expect(gateway.server.reloads.last?.awaitingRestart == ["gateway.http.port", "gateway.admin.port"])
            #expect(gateway.log.containing("take effect only after a restart").count == 2)
            // A check of unchanged files does nothing.
            for _ in 0..<3 { happening.yield(.poll) }
            happening.yield(.signal)
            try await eventually { metric(#"reloads_total{result="unchanged"} 3"#) }
        }
    }
}
