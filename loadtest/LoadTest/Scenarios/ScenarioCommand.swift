// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser
internal import FoundationEssentials

struct ScenarioCommand: LongRunCommand {
    static let configuration = CommandConfiguration(
        commandName: "scenario",
        abstract: "Start a fleet, put load on it while faults occur, and check thresholds.",
        usage: "receipt-loadtest scenario <file> ... [<options>]",
        discussion: """
            Each file says which fleet is started on free ports of this machine (gateways, Redis, HAProxy, a simulated \
            Apple), what its clients send, what happens when, and which thresholds apply. loadtest/scenarios/load has some, with \
            every name explained in steady.yaml.

            Examples:

              receipt-loadtest scenario loadtest/scenarios/load/*.yaml
              receipt-loadtest scenario loadtest/scenarios/load/redis-outage.yaml -o results
              receipt-loadtest scenario loadtest/scenarios/load/steady.yaml \\
                --scale 0.2 --rate-scale 0.5

            redis-server and haproxy must be installed (.ci/deps bench). Load and fleet share this machine. Everything \
            that was started is ended, also by ^C.

            Exit status: 0 if no threshold was missed, 99 if a threshold was missed, 98 if the generator could not keep its \
            schedule, 64 for wrong usage, 130 after ^C.
            """)

    @Argument(help: .value("file", "Scenarios, in the order in which they are run."))
    var files: [String]

    @OptionGroup var gateway: GatewayProgram

    @Option(
        name: .shortAndLong,
        help: .value("folder", "Write each result as FOLDER/NAME.json, for 'report' and 'compare'."))
    var output: String?

    @Option(help: .value("factor", "Make all times so much longer; 0.2 is a fifth."))
    var scale = 1.0

    @Option(help: .value("factor", "Make all rates so much higher."))
    var rateScale = 1.0

    func validate() throws {
        try check("--scale", scale, in: 0.01...100)
        try check("--rate-scale", rateScale, in: 0.001...100)
    }

    func measure() async throws -> Int32 {
        let scenarios = try files.map(LoadScenario.read)
        if let output {
            try FileManager.default.createDirectory(atPath: output, withIntermediateDirectories: true)
        }
        var worst: Int32 = 0
        for scenario in scenarios where !Task.isCancelled {
            let run = ScenarioRun(scenario: scenario, scale: ScenarioScale(time: scale, rate: rateScale))
            let result = try await RunningFleet.start(scenario.fleet, gatewayPath: gateway.path).whileRunning(run.run)
            worst = max(worst, result.verdict.exitStatus)
            StandardOutput.write(scenario.name + ": " + RunText(result: result).verdict + "\n")
            if let output { try result.write(to: "\(output)/\(scenario.name).json") }
        }
        return worst
    }
}
