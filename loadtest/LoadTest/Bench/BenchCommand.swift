// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser
internal import FoundationEssentials

struct BenchCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "bench",
        abstract: "Measure the gateway beside a bare handler, nginx and Varnish.",
        discussion: """
            Starts everything itself, servers on one core and the load on another one, lets them take turns run by \
            run, and prints each figure with its target. `make bench` builds for release first.

              near         near-cache hits beside a bare SwiftNIO handler, nginx and
                           Varnish; with the log of all requests, of some and of
                           none
              local        local verification of distinct receipts over HTTP
              verify       parse-and-verify in process
              shared       shared-cache hits over Redis beside redis-benchmark
              fleet        CPU and Redis operations of a request: answered by
                           Apple, by the near cache, by the shared cache of one,
                           two and three gateways
              tail         p99 at half of saturation
              flood        genuine customers beside a flood of forged receipts
              connections, growth, churn
                           memory of idle connections, over minutes, and after
                           100,000 distinct receipts
              bodies       the most expensive bodies that an event loop reads
              start        from nothing to the first verified receipt

            Examples:

              receipt-loadtest bench
              receipt-loadtest bench --only near --only tail --runs 9
              receipt-loadtest bench --quick

            nginx, varnish, varnish-modules, redis-server and redis-tools must be installed (.ci/deps bench).
            """)

    @OptionGroup var gateway: GatewayProgram

    @Option(
        help: ArgumentHelp(
            "The bare handler's program (default: receipt-ceilings beside this program).", valueName: "path"))
    var ceilings: String?

    @Option(help: ArgumentHelp("Configurations of nginx and Varnish.", valueName: "folder"))
    var peers = "loadtest/peers"

    @Option(help: "What to measure; repeatable (default: everything).")
    var only: [BenchPart] = []

    @Option(help: ArgumentHelp("Runs of each server (default: 5).", valueName: "count"))
    var runs: Int?

    @Option(help: ArgumentHelp("How long each run takes (default: 4s).", valueName: "time"))
    var duration: TimeSpan?

    @Option(help: ArgumentHelp("How long memory is watched for growth (default: 1).", valueName: "minutes"))
    var minutes: Double?

    @Flag(help: "A second or two for each figure, to see that everything works.")
    var quick = false

    @Option(name: .shortAndLong, help: ArgumentHelp("Where the figures are written as JSON.", valueName: "file"))
    var output = ".bench/latest.json"

    @Option(help: "How to print the results.")
    var format = OutputFormat.text

    func validate() throws {
        try check(runs.map { (1...100).contains($0) } ?? true, "--runs takes from 1 to 100.")
        try check(duration.map { (0.1...600).contains($0.seconds) } ?? true, "--duration takes from 100ms to 10m.")
        try check(minutes.map { $0 > 0 && $0 <= 1440 } ?? true, "--minutes takes minutes above 0, up to 1440.")
        try check(Set(only).count == only.count, "--only names something twice.")
    }

    func run() async throws {
        StandardError.warnOfDebugging()
        let report = try await Interruptible.run { [self] in
            let folder = try ScratchFolder()
            defer { folder.remove() }
            let bench = try await Bench(
                plan, gatewayPath: gateway.path, ceilingsPath: ceilings ?? ThisProgram.neighbour("receipt-ceilings"),
                templates: peers, folder: folder)
            return try await bench.run()
        }
        try write(report)
        StandardOutput.write(try (format == .json ? JSONText.of(report) : BenchTable(report: report).text) + "\n")
    }

    private func write(_ report: BenchReport) throws {
        let file = URL(filePath: output)
        try FileManager.default.createDirectory(at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
        try Data((try JSONText.of(report) + "\n").utf8).write(to: file, options: .atomic)
    }
}

extension BenchCommand {
    var plan: BenchPlan {
        let parts = only.isEmpty ? BenchPart.allCases : BenchPart.allCases.filter(only.contains)
        var plan = quick ? BenchPlan.quick(parts) : BenchPlan(parts: parts)
        if let runs { plan.runs = runs }
        if let duration { plan.seconds = duration.seconds }
        if let minutes { plan.minutes = minutes }
        return plan
    }
}
