// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser

struct CompareCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "compare",
        abstract: "Show the differences between two runs that are larger than noise.",
        usage: "receipt-loadtest compare <a.json> <b.json> [<options>]",
        discussion: """
            Examples:

              receipt-loadtest compare before.json after.json
              receipt-loadtest compare before.json after.json -o compare.html
              receipt-loadtest compare main.json branch.json --fail-on-regression

            Compared are the seconds after the warm-up: a difference counts if typical seconds differ in 99.8 % of \
            \(NoiseRule.draws) draws of blocks of seconds, and if it is at least 5 % (for shares of requests: 0.1 % of \
            all). Runs of fewer than \(NoiseRule.fewestSeconds) seconds are not judged. Differences of the plans are \
            listed.

            Exit status: 0, or 99 with --fail-on-regression if a figure became worse.
            """)

    @Argument(help: .value("a.json", "The first result."))
    var a: String

    @Argument(help: .value("b.json", "The result to compare with it."))
    var b: String

    @Option(name: .shortAndLong, help: .value("path", "Also write a page with both runs in the same plots."))
    var output: String?

    @Option(help: "How to print the differences.")
    var format = ReportFormat.text

    @Flag(help: "Exit with status 99 if a figure became worse by more than noise.")
    var failOnRegression = false

    func validate() throws {
        try check(output != "-", "-o takes a path: standard output has the differences.")
    }

    func run() throws {
        let comparison = RunComparison(try RunResultFile.read(a), try RunResultFile.read(b))
        if let output { try comparison.page.write(to: output) }
        try format.write(ComparisonReport(comparison), or: comparison.text)
        if failOnRegression, !comparison.regressions.isEmpty { throw ExitCode(99) }
    }
}
