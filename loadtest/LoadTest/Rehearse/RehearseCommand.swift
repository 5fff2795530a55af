// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import AppleSimulator
internal import ArgumentParser

/// `receipt-loadtest rehearse`
struct RehearseCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "rehearse",
        abstract: "Watch a gateway live through a bad day of Apple's, compressed into a minute.",
        discussion: """
            Starts a gateway and a simulated Apple on free ports of this machine, sends requests about genuine \
            receipts of paying customers, and prints what clients were told, line by line: how fast, on whose word, \
            how often Apple was asked, and how the circuit breaker stood. New customers come all the time; the others \
            come again and want an answer that is not older than --max-age. Without --scenario Apple has the day of \
            24 January 2020: a sixth of the time is peaceful, then 45 % of the calls fail with 50x, then all are \
            answered with a page of HTML, and in the last third it is over.

            Examples:

              receipt-loadtest rehearse
              receipt-loadtest rehearse --scenario loadtest/scenarios/throttled.yaml --rate 100

            The exit status is 0 if every receipt was answered genuine, by whatever source, and 1 if one was not.
            """)

    @OptionGroup var gateway: GatewayProgram

    @Option(help: ArgumentHelp("What goes wrong at Apple's, in YAML.", valueName: "file"))
    var scenario: String?

    @Option(help: ArgumentHelp("How long requests are sent.", valueName: "seconds"))
    var duration = 60.0

    @Option(help: ArgumentHelp("Requests per second.", valueName: "number"))
    var rate = 50.0

    @Option(help: ArgumentHelp("Distinct receipts.", valueName: "count"))
    var receipts = 200

    @Option(help: "Whom the gateway is to ask.")
    var mode = VerifyMode.auto

    @Option(help: ArgumentHelp("The oldest answer that clients take: hours, compressed as well.", valueName: "seconds"))
    var maxAge = 3

    @Option(help: ArgumentHelp("Rows of the table.", valueName: "count"))
    var rows = 20

    @Option(help: "How to print the trace.")
    var format = OutputFormat.text

    func validate() throws {
        try check(duration >= 1 && duration <= 3600, "--duration takes from 1 to 3600 seconds, not \(duration).")
        try check(rate >= 1 && rate <= 2000, "--rate takes from 1 to 2000 requests per second, not \(rate).")
        try check((1...100_000).contains(receipts), "--receipts takes a number from 1 to 100000, not \(receipts).")
        try check((0...86_400).contains(maxAge), "--max-age takes from 0 to 86400 seconds, not \(maxAge).")
        try check((1...1000).contains(rows), "--rows takes a number from 1 to 1000, not \(rows).")
    }

    func run() async throws {
        let rehearsal = try rehearsal()
        let isText = format == .text
        let isGood = try await Interruptible.run {
            var rows = 0
            let report = try await rehearsal.run { row in
                defer { rows += 1 }
                guard isText else { return }
                StandardOutput.write((rows == 0 ? RehearsalTable.header + "\n" : "") + RehearsalTable.line(row) + "\n")
            }
            StandardOutput.write(try isText ? Self.end(of: report) : JSONText.of(report) + "\n")
            return report.summary.isGood
        }
        guard isGood else { throw ExitCode.failure }
    }

    private static func end(of report: RehearsalReport) -> String {
        "\n\(report.summary.text)\n\n\(RehearsalTable.legend)\n"
    }
}

extension RehearseCommand {
    /// The plan that the options describe.
    var plan: RehearsalPlan {
        RehearsalPlan(
            duration: duration, rate: rate, receipts: receipts, mode: mode, maximumAge: maxAge, rows: rows)
    }

    private func rehearsal() throws -> Rehearsal {
        Rehearsal(
            plan: plan, gatewayPath: gateway.path,
            scenario: try scenario.map(ScenarioFile.read) ?? OutageStory(duration: duration).scenario())
    }
}
