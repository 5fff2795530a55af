// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser
internal import FoundationEssentials

struct VerifyCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "verify",
        abstract: "Measure parsing and verifying receipts in this process, beside what the cryptography alone takes.",
        discussion: """
            Makes receipts, checks that every implementation accepts each of them, and lets the implementations take short turns \
            in one run, so that a busy machine slows all alike:

              verifier       DER bytes to a verified receipt, its signer's chain
                             warm (known) or cold (new)
              crypto floor   one SHA-256 and one RSA-2048 verification of the same
                             receipt, nothing parsed
              CMS_verify     OpenSSL's own parser, chain building and verification
                             of the same bytes

            Examples:

              receipt-loadtest verify
              receipt-loadtest verify --purchases 3 --threads 1 --duration 5 --format json

            Compare ratios, not rates, between two machines or two days; and know that a neighbour on the same core \
            slows parsing more than cryptography.
            """)

    @Option(
        help: ArgumentHelp("Sizes of the receipts, in purchases, separated by commas.", valueName: "list"))
    var purchases = NumberList([1, 3, 9, 187])

    @Option(help: ArgumentHelp("Numbers of threads, separated by commas.", valueName: "list"))
    var threads = NumberList.oneAndAllCores

    @Option(
        help: ArgumentHelp(
            "How long each implementation works for each size and number of threads, in at least nine turns.",
            valueName: "seconds"))
    var duration = 1.0

    @Option(help: ArgumentHelp("Distinct receipts of each size, used in turn.", valueName: "count"))
    var receipts = 64

    @Option(help: ArgumentHelp("The authority and the receipts follow from this number.", valueName: "number"))
    var seed: UInt64 = 1

    @Option(help: "How to print the results.")
    var format = OutputFormat.text

    func validate() throws {
        // With yearly periods, 1,000 purchases reach back to the Middle Ages; thousands leave the calendar.
        try purchases.check("--purchases", in: 0...1000)
        try threads.check("--threads", in: 1...1024)
        try check(duration > 0 && duration <= 3600, "--duration takes seconds above 0, up to 3600, not \(duration).")
        try check((1...10_000).contains(receipts), "--receipts takes a number from 1 to 10000, not \(receipts).")
    }

    func run() throws {
        let report = try measure()
        print(try format == .json ? JSONText.of(report) : report.table)
    }
}

extension VerifyCommand {
    var plan: VerifyPlan {
        VerifyPlan(
            purchases: purchases.numbers, threads: threads.numbers, duration: .seconds(duration), receipts: receipts,
            seed: seed)
    }

    private func measure() throws -> VerifyReport {
        let progress = ProgressLine(unit: "turns", total: plan.turns)
        defer { progress.finish() }
        return try VerifyBenchmark(plan: plan).run { progress.update(done: $0) }
    }
}

extension NumberList {
    /// `1,2` on a machine with two cores, `1` on one with a single core.
    static let oneAndAllCores: NumberList = {
        let cores = ProcessInfo.processInfo.activeProcessorCount
        return NumberList(cores > 1 ? [1, cores] : [1])
    }()
}
