// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser
internal import FoundationEssentials
internal import ReceiptForge

struct VerifyCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "verify",
        abstract: "Measure parsing and verifying evidence in this process, beside what the cryptography alone takes.",
        usage: "receipt-loadtest verify [<options>]",
        discussion: """
            Makes evidence of one kind, checks that every implementation accepts all of it, and lets the implementations \
            take short turns in one run, so that a busy machine slows all alike:

              verifier       bytes to a verified receipt, transaction or notification,
                             its signer's chain warm (known) or cold (new)
              crypto floor   one SHA-256 and one verification with the signer's key
                             (RSA-2048, or P-256 for a JWS) of the same evidence,
                             nothing parsed; three of each for a notification,
                             which has two JWS inside
              CMS_verify     receipts: OpenSSL's own parser, chain building and
                             verification of the same bytes
              chain walk     JWS: the same with OpenSSL, and the chain of the header's
                             certificates verified each time, as in Apple's
                             libraries: three signatures, nine of a notification

            Examples:

              receipt-loadtest verify
              receipt-loadtest verify --purchases 3 --threads 1 --duration 5 --format json
              receipt-loadtest verify --evidence jws --threads 1,2
              receipt-loadtest verify --evidence notification --threads 1

            Compare ratios, not rates, between two machines or two days; and know that a neighbour on the same core \
            slows parsing more than cryptography.
            """)

    @Option(
        help: "What to verify: app receipts, signed transactions, transaction receipts as in iOS 6, or notifications.")
    var evidence = ForgedEvidenceKind.receipt

    @Option(
        help: .value("list", "Sizes of app receipts, in purchases, separated by commas (default: 1,3,9,187)."))
    var purchases: NumberList?

    @Option(help: .value("list", "Numbers of threads, separated by commas."))
    var threads = NumberList.oneAndAllCores

    @Option(
        help: .value(
            "seconds",
            "How long each implementation works for each size and number of threads, in at least nine "
                + "turns."))
    var duration = 1.0

    @Option(help: .value("count", "Distinct pieces of evidence of each size, used in turn."))
    var receipts = 64

    @Option(help: .value("number", "The authority and the evidence follow from this number."))
    var seed: UInt64 = 1

    @Option(help: "How to print the results.")
    var format = ReportFormat.text

    func validate() throws {
        // With yearly periods, 1,000 purchases reach back to the Middle Ages; thousands leave the calendar.
        try purchases?.check("--purchases", in: 0...1000)
        try check(purchases == nil || evidence == .receipt, "--purchases is for app receipts; all others have one.")
        try threads.check("--threads", in: 1...1024)
        try check(duration > 0 && duration <= 3600, "--duration takes seconds above 0, up to 3600, not \(duration).")
        try check("--receipts", receipts, in: 1...10_000)
    }

    func run() throws {
        let report = try measure()
        try format.write(report, or: report.table)
    }

    var plan: VerifyPlan {
        VerifyPlan(
            evidence: evidence, purchases: purchases?.numbers ?? (evidence == .receipt ? [1, 3, 9, 187] : [1]),
            threads: threads.numbers, duration: .seconds(duration), receipts: receipts, seed: seed)
    }

    private func measure() throws -> VerifyReport {
        let progress = ProgressLine(unit: "turns", total: plan.turns)
        return try plan.run { progress.update(done: $0) }
    }
}

extension NumberList {
    /// `1,2` on a machine with two cores, `1` on a machine with a single core.
    static let oneAndAllCores: NumberList = {
        let cores = ProcessInfo.processInfo.activeProcessorCount
        return NumberList(numbers: cores > 1 ? [1, cores] : [1])
    }()
}
