// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

@testable import Telemetry

/// Checks the output with Prometheus' promtool, which `make test` installs; without it the test is skipped.
struct PromtoolTests {
    private static let promtool = (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":")
        .map { "\($0)/promtool" }.first { FileManager.default.isExecutableFile(atPath: $0) }

    @Test(.enabled(if: promtool != nil, "promtool is not on the PATH: install Debian's package prometheus"))
    func `promtool accepts the exported text without complaints`() throws {
        let promtool = try #require(Self.promtool)
        let strange = "A \"b\" \\ c\nd\r\n\u{0}ü"
        let registry = try PrometheusRegistry([
            MetricFamily(
                "strange_total", .counter, "Help \(strange).", labelNames: ["x", "y"],
                labelSets: [[strange, ""], ["", strange]]),
            MetricFamily("level_ratio", .gauge, "Help."),
            MetricFamily("wait_seconds", .histogram(buckets: [1e-9, 0.005, 1, 1e9]), "Help."),
        ])
        registry.gauge(MetricFamily("level_ratio", .gauge, "Help.")).set(.nan)
        let complaints = try Self.complaints(of: promtool, about: registry.text())
        #expect(complaints == "")
        #expect(try Self.complaints(of: promtool, about: "# TYPE a counter\na 1\n") != "")
    }

    private static func complaints(of promtool: String, about text: String) throws -> String {
        let process = Process(), input = Pipe(), output = Pipe()
        process.executableURL = URL(filePath: promtool)
        process.arguments = ["check", "metrics"]
        (process.standardInput, process.standardOutput, process.standardError) = (input, output, output)
        try process.run()
        try input.fileHandleForWriting.write(contentsOf: Data(text.utf8))
        try input.fileHandleForWriting.close()
        let said = try output.fileHandleForReading.readToEnd() ?? Data()
        process.waitUntilExit()
        let text = String(decoding: said, as: UTF8.self)
        return process.terminationStatus == 0 ? text : "status \(process.terminationStatus): \(text)"
    }
}
