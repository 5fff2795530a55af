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

    @Option(help: .value("list", "Sizes of the receipts, in purchases, separated by commas."))
    var purchases = NumberList(numbers: [1, 3, 9, 187])

    @Option(help: .value("list", "Numbers of threads, separated by commas."))
    var threads = NumberList.oneAndAllCores

    @Option(
        help: .value(
            "seconds",
            "How long each implementation works for each size and number of threads, in at least nine "
                + "turns."))
    var duration = 1.0

    @Option(help: .value("count", "Distinct receipts of each size, used in turn."))
    var receipts = 64

    @Option(help: .value("number", "The authority and the receipts follow from this number."))
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
        return NumberList(numbers: cores > 1 ? [1, cores] : [1])
    }()
}

struct VerifyReport: Encodable, Sendable {
    let cases: [VerifyCase]
}

/// One row: receipts of one size on a number of threads. Rates are medians over the rounds, of all threads together;
/// ratios are medians of the ratios within each round.
struct VerifyCase: Encodable, Sendable {
    let purchases: Int
    /// The mean size of a receipt in DER.
    let bytes: Int
    let threads: Int
    /// `warm` or `cold`: the signer's chain was verified before or not.
    let chain: Implementation
    let receiptsPerSecond, floorPerSecond, cmsVerifyPerSecond: Double
    /// 1 would mean that everything but the cryptography is free.
    let ratioToFloor: Double
    let ratioToCMSVerify: Double
    /// The time of one thread for one receipt.
    let nanosecondsPerReceipt: Double
    /// The speed of decoding base64 text; not part of the other numbers.
    let base64BytesPerSecond: Double
    let receiptsPerSecondLowest, receiptsPerSecondHighest: Double
    /// The rate as a multiple of one thread's; nil if one thread was not measured.
    let scaling: Double?
}

extension VerifyCase {
    init(_ samples: SampleReceipts, _ measurements: Measurements, threads: Int, chain: Implementation) {
        func rates(of implementation: Implementation, _ threads: Int) -> Rates {
            measurements[Entrant(implementation: implementation, threads: threads)] ?? Rates()
        }
        let ours = rates(of: chain, threads)
        let floor = rates(of: .floor, threads), cmsVerify = rates(of: .cmsVerify, threads)
        let decoded = rates(of: .base64, threads).median * Double(samples.meanBase64ByteCount)
        let scaling = ours.ratio(to: rates(of: chain, 1))
        self.init(
            purchases: samples.purchases, bytes: samples.meanByteCount, threads: threads, chain: chain,
            receiptsPerSecond: ours.median.rounded(toDecimals: 1),
            floorPerSecond: floor.median.rounded(toDecimals: 1),
            cmsVerifyPerSecond: cmsVerify.median.rounded(toDecimals: 1),
            ratioToFloor: ours.ratio(to: floor).rounded(toDecimals: 4),
            ratioToCMSVerify: ours.ratio(to: cmsVerify).rounded(toDecimals: 2),
            nanosecondsPerReceipt: (Double(threads) * 1e9 / ours.median).rounded(),
            base64BytesPerSecond: decoded.rounded(),
            receiptsPerSecondLowest: (ours.min() ?? 0).rounded(toDecimals: 1),
            receiptsPerSecondHighest: (ours.max() ?? 0).rounded(toDecimals: 1),
            scaling: scaling > 0 ? scaling.rounded(toDecimals: 3) : nil)
    }
}

extension VerifyReport {
    var table: String { TextTable(header: Self.header, rows: cases.map(\.cells)).text + "\n\n" + Self.legend }

    private static let header = [
        "purchases", "bytes", "threads", "chain", "receipts/s", "ns/receipt", "floor/s", "CMS_verify/s", "of floor",
        "x CMS_verify", "scaling", "slowest..fastest turn", "base64 MB/s",
    ]

    private static let legend = """
        receipts/s     DER bytes to a verified receipt, all threads together, median of the turns; ns/receipt is the
                       time one thread spends on one receipt
        chain          warm: the signer's chain was verified before; cold: nothing was
        floor/s        the crypto floor: one SHA-256 over the signed bytes and one RSA-2048 verification, no parsing
        CMS_verify/s   OpenSSL's d2i_CMS_bio and CMS_verify
        of floor, x CMS_verify, scaling (against one thread)
                       medians of the ratios within each round, because a shared machine has fast and slow rounds
        base64 MB/s    text decoded per second, in millions of bytes; a gateway pays for it beside receipts/s
        All implementations took turns in one run on the same receipts. Allocations are not counted.
        """
}

extension VerifyCase {
    fileprivate var cells: [String] {
        [
            String(purchases), bytes.grouped, String(threads), chain.rawValue,
            Self.rate(receiptsPerSecond), Self.rate(nanosecondsPerReceipt), Self.rate(floorPerSecond),
            Self.rate(cmsVerifyPerSecond), (100 * ratioToFloor).fixed(1) + " %", ratioToCMSVerify.fixed(1),
            scaling?.fixed(2) ?? "-",
            Self.rate(receiptsPerSecondLowest) + ".." + Self.rate(receiptsPerSecondHighest),
            Self.rate(base64BytesPerSecond / 1e6),
        ]
    }

    private static func rate(_ number: Double) -> String {
        Int(number.rounded()).grouped
    }
}
