// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser

/// `receipt-loadtest fleet`
struct FleetCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "fleet",
        abstract: "Measure what requests cost a fleet of gateways and the Redis they share.",
        discussion: """
            Starts Redis, a simulated Apple and up to three gateways, each in a process of its own, and prints for \
            answers of Apple's, of a node's own memory and of Redis: the commands and round trips to Redis, and the \
            gateways' CPU time, with and without token leases; then shared hits of one gateway beside \
            redis-benchmark doing the same; then the same load on one, two and three gateways.

            Examples:

              receipt-loadtest fleet
              receipt-loadtest fleet --duration 10 --connections 64 --format json

            redis-server, redis-cli and redis-benchmark must be installed. Compare ratios, not rates, between two \
            machines or two days.
            """)

    @OptionGroup var gateway: GatewayProgram

    @Option(help: ArgumentHelp("How long each load lasts.", valueName: "seconds"))
    var duration = 3.0

    @Option(help: ArgumentHelp("The most gateways.", valueName: "count"))
    var nodes = 3

    @Option(help: ArgumentHelp("Connections that wait for an answer before the next request.", valueName: "count"))
    var connections = 32

    @Option(help: ArgumentHelp("Distinct receipts, used in turn.", valueName: "count"))
    var receipts = 500

    @Option(help: "How to print the results.")
    var format = OutputFormat.text

    func validate() throws {
        try check(duration > 0 && duration <= 600, "--duration takes seconds above 0, up to 600, not \(duration).")
        try check((1...10).contains(nodes), "--nodes takes a number from 1 to 10, not \(nodes).")
        let most = DriveLimits().maximumConnections
        try check((1...most).contains(connections), "--connections takes from 1 to \(most), not \(connections).")
        try check((1...5000).contains(receipts), "--receipts takes a number from 1 to 5000, not \(receipts).")
    }

    func run() async throws {
        StandardError.warnOfDebugging()
        let plan = FleetPlan(duration: duration, nodes: nodes, connections: connections, receipts: receipts)
        let path = gateway.path
        let report = try await Interruptible.run {
            try await FleetStage.with(plan, gatewayPath: path) { try await FleetBench(stage: $0).report() }
        }
        StandardOutput.write(try (format == .json ? JSONText.of(report) : FleetTable(report: report).text) + "\n")
    }
}

extension FleetBench {
    fileprivate func report() async throws -> FleetReport {
        var report = FleetReport()
        let progress = ProgressLine(unit: "parts", total: 7)
        defer { progress.finish() }
        for leases in FleetPlan.Leases.allCases {
            report.costs += try await costs(leases)
            progress.update(done: report.costs.count / 3 + report.sharedHits.count)
            report.sharedHits.append(try await sharedHits(leases))
            progress.update(done: report.costs.count / 3 + report.sharedHits.count)
        }
        report.sizes = try await sizes(.with)
        progress.update(done: 7)
        return report
    }
}
