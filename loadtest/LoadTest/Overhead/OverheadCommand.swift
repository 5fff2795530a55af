// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser

/// `receipt-loadtest overhead`
struct OverheadCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "overhead",
        abstract: "Measure what asking Apple costs a gateway, beside answering from the receipt alone.",
        discussion: """
            Starts a gateway without caches and a simulated Apple that answers at once, each in a process of its own, \
            and puts the same load on the gateway in two modes that take turns: `local`, and `apple`, where each \
            request becomes a question to Apple. Then it prints requests per second, the CPU time that the gateway's \
            process took for a request, and its memory.

            Examples:

              receipt-loadtest overhead
              receipt-loadtest overhead --duration 30 --connections 32 --memory-minutes 5

            Compare ratios, not rates, between two machines or two days. The exit status is 1 if a request failed, or \
            memory was watched and grew.
            """)

    @OptionGroup var gateway: GatewayProgram

    @Option(help: ArgumentHelp("How long each mode works, in all its turns together.", valueName: "seconds"))
    var duration = 10.0

    @Option(help: ArgumentHelp("Turns of each mode.", valueName: "count"))
    var rounds = 5

    @Option(help: ArgumentHelp("Connections that wait for an answer before the next request.", valueName: "count"))
    var connections = 8

    @Option(help: ArgumentHelp("Distinct receipts, used in turn.", valueName: "count"))
    var receipts = 2000

    @Option(
        help: ArgumentHelp(
            "Then keep the load of mode apple up for so long, and say whether memory stays flat.",
            valueName: "minutes"))
    var memoryMinutes: Double?

    @Option(help: "How to print the results.")
    var format = OutputFormat.text

    func validate() throws {
        try check(duration > 0 && duration <= 3600, "--duration takes seconds above 0, up to 3600, not \(duration).")
        try check((1...100).contains(rounds), "--rounds takes a number from 1 to 100, not \(rounds).")
        let most = DriveLimits().maximumConnections
        try check((1...most).contains(connections), "--connections takes from 1 to \(most), not \(connections).")
        try check((1...100_000).contains(receipts), "--receipts takes a number from 1 to 100000, not \(receipts).")
        try check(
            memoryMinutes.map { $0 > 0 && $0 <= 1440 } ?? true, "--memory-minutes takes minutes above 0, up to 1440.")
    }

    func run() async throws {
        StandardError.warnOfDebugging()
        let (plan, format) = (plan, format)
        let path = gateway.path
        let report = try await Interruptible.run {
            try await OverheadBench.with(plan, gatewayPath: path) { try await $0.report(format) }
        }
        if format == .json { StandardOutput.write(try JSONText.of(report) + "\n") }
        if let memory = report.memory, !memory.isFlat { throw ExitCode.failure }
    }
}

extension OverheadCommand {
    /// The plan that the options describe.
    var plan: OverheadPlan {
        OverheadPlan(
            duration: duration, rounds: rounds, connections: connections, receipts: receipts,
            memoryMinutes: memoryMinutes)
    }
}

extension OverheadBench {
    /// Measures everything; for readers each result is printed as soon as it is there.
    fileprivate func report(_ format: OutputFormat) async throws -> OverheadReport {
        try await warmUp()
        let turns = try await turns()
        if format == .text { StandardOutput.write(OverheadTable(report: OverheadReport(turns)).text + "\n") }
        guard let minutes = plan.memoryMinutes else { return OverheadReport(turns) }
        if format == .text { StandardOutput.write("\n") }
        let memory = try await watchMemory(minutes: minutes) { point in
            format == .text ? StandardOutput.write(point.text + "\n") : StandardError.write(point.text + "\n")
        }
        if format == .text { StandardOutput.write(memory.text + "\n") }
        return OverheadReport(turns, memory)
    }

    /// Every other round begins with the other mode, so that neither always follows the same neighbour.
    private func turns() async throws -> [OverheadTurn] {
        let progress = ProgressLine(unit: "turns", total: plan.rounds * OverheadPlan.modes.count)
        defer { progress.finish() }
        var turns: [OverheadTurn] = []
        for round in 0..<plan.rounds {
            for mode in round.isMultiple(of: 2) ? OverheadPlan.modes : OverheadPlan.modes.reversed() {
                turns.append(try await turn(mode))
                progress.update(done: turns.count)
            }
        }
        return turns
    }
}
