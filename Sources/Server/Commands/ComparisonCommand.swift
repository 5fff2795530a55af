// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser
internal import Clients
internal import Gateway
internal import JSON
internal import Receipts
internal import RedisStore
internal import Settings

struct ComparisonCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "comparison",
        abstract: "Show where sources of answers differ.",
        discussion: """
            The command reads what the gateways share in Redis. It needs the same Redis and the same \
            GATEWAY_CACHE_KEYS; gateways may run meanwhile.

            Exit status: 0 for success; see the help of the command.
            """,
        subcommands: [ComparisonReportCommand.self])
}

struct ComparisonReportCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "report",
        abstract: "Show the results of comparisons of the last seven days.",
        usage: "receipt-gateway comparison report [--format <format>] [--config <file>]",
        discussion: """
            Prints for each pair of sources how many answers were compared and equal, and each kind of difference: the \
            field, what the answer said, what the other source said, how often, and up to three examples. No example \
            has data of a customer:

              receipt-gateway comparison report
              receipt-gateway comparison report --format json

            The gateways compare answers if gateway.comparison.mode names a pair of sources.

            Exit status: 0 for success, also with differences, 1 if Redis does not answer, 64 if the command line is \
            wrong, 78 if the configuration is wrong or has no Redis.
            """)

    @Option(help: "The output format: text, or one JSON object.")
    var format = OutputFormat.text

    @OptionGroup var options: ConfigurationOptions

    func run() async throws {
        let fleet = try options.fleet(storing: "results of comparisons"), now = Timestamp.now()
        let tallies = try await fleet.useOrExit { try await fleet.store.comparisons.tallies(at: now) }
        let report = ComparisonListing(tallies, by: fleet.configuration.comparison, at: now)
        print(format == .json ? report.json : report.text)
    }
}

/// The results of comparisons for a terminal or a program.
struct ComparisonListing: Sendable {
    private let tallies: [(pair: ComparisonPair, tally: ComparisonTally)]
    private let rules: ComparisonRules
    /// The begin of the first day.
    private let since: Timestamp

    /// - Parameter rules: the settings of this command, which explain why there are no results.
    init(_ tallies: [ComparisonPair: ComparisonTally], by rules: ComparisonRules, at now: Timestamp) {
        self.tallies = ComparisonPair.allCases.compactMap { pair in tallies[pair].map { (pair, $0) } }
        self.rules = rules
        since = ComparisonTally.start(until: now)
    }

    // MARK: - For people

    var text: String {
        guard !tallies.isEmpty else {
            return "No answer was compared since \(since.day). \(advice)"
        }
        return tallies.map { text(of: $0, $1) }.joined(separator: "\n\n")
    }

    private var advice: String {
        if rules.mode == .off { return "Set gateway.comparison.mode." }
        if rules.share == 0 { return "Set gateway.comparison.share above 0." }
        return """
            gateway.comparison.mode is \(rules.mode.rawValue), and share \(rules.share), in the configuration of this \
            command. Only new answers about evidence count, from no cache and not degraded. `receipt-gateway doctor` says \
            what the comparison lacks; receipt_gateway_comparisons_total of each gateway counts what was dropped.
            """
    }

    private func text(of pair: ComparisonPair, _ tally: ComparisonTally) -> String {
        let kinds = tally.kinds.count
        let differences = kinds == 0 ? "no difference" : "\(kinds) \(kinds == 1 ? "kind" : "kinds") of difference"
        var lines = [
            """
            \(pair.rawValue), since \(since.day): of \(tally.compared.grouped) compared, \(tally.equal.grouped) equal; \
            \(differences). \(tally.unanswered.grouped) more had no answer of the other source.
            """
        ]
        if kinds > 0 { lines.append(TextTable(header: Self.header, rows: tally.kindsByCount.flatMap(Self.rows)).text) }
        return lines.joined(separator: "\n")
    }

    private static let header = [
        "FIELD", "ANSWER", "OTHER SOURCE", "COUNT", "EXAMPLE", "APP", "PRODUCT", "EVIDENCE", "APART", "OFF BY",
    ]

    private static func rows(_ kind: ComparisonKind, _ found: ComparisonTally.Kind) -> [[String]] {
        let head = [kind.field.rawValue, kind.answered, kind.compared, found.count.grouped]
        let examples = found.examples.map { example in
            [
                "\(example.hour)", example.bundleID ?? "-", example.productID ?? "-",
                [example.environment?.rawValue, example.evidence.rawValue].compactMap(\.self).joined(separator: " "),
                example.age.map { "\($0)s" } ?? "-", example.seconds.map { "\($0)s" } ?? "-",
            ].map { $0.printable() }
        }
        let rest = examples.isEmpty ? [Array(repeating: "-", count: 6)] : examples
        return rest.enumerated().map { ($0 == 0 ? head : Array(repeating: "", count: head.count)) + $1 }
    }

    // MARK: - For programs

    /// `{"since", "pairs": [{"pair", "compared", "equal", "unanswered", "differences": [{"field", "answer", "other",
    /// "count", "examples": […]}]}]}`
    var json: String {
        let json = JSONWriter.object { json in
            json.member("since", since.description)
            json.objects("pairs", of: tallies) { json, result in
                json.member("pair", result.pair.rawValue)
                json.member("compared", result.tally.compared)
                json.member("equal", result.tally.equal)
                json.member("unanswered", result.tally.unanswered)
                json.objects("differences", of: result.tally.kindsByCount) { json, difference in
                    json.member("field", difference.kind.field.rawValue)
                    json.member("answer", difference.kind.answered)
                    json.member("other", difference.kind.compared)
                    json.member("count", difference.found.count)
                    json.objects("examples", of: difference.found.examples) { $1.write(&$0) }
                }
            }
        }
        return String(decoding: json, as: UTF8.self)
    }
}

extension ComparisonExample {
    fileprivate func write(_ json: inout JSONWriter) {
        json.member("hour", hour.description)
        json.member("bundle_id", bundleID)
        json.member("product_id", productID)
        json.member("environment", environment?.rawValue)
        json.member("evidence", evidence.rawValue)
        json.member("seconds_apart", age)
        json.member("off_by_seconds", seconds)
    }
}

extension Int {
    /// The number with a comma between groups of three digits.
    fileprivate var grouped: String { String(self).replacing(/\B(?=(?:\d{3})+$)/, with: ",") }
}
