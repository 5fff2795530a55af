// SPDX-License-Identifier: Apache-2.0

/// The result of a search, with every rate that was tried.
struct SearchReport: Encodable, Hashable, Sendable {
    /// The version of the format.
    var schema = 1
    var kind = "search"
    var url: String
    /// The thresholds of each step.
    var slo: [String]
    /// The highest rate that met all thresholds; nil if none did.
    var ratePerSecond: Double?
    var end: End
    var steps: [Step] = []

    enum End: String, Encodable, Sendable {
        /// The gap to the lowest rate that failed is small enough.
        case found
        /// The highest rate allowed met all thresholds.
        case maximumRate = "maximum_rate"
        case maximumSteps = "maximum_steps"
        /// One request per second missed a threshold, or the server rejected or refused everything.
        case nothing
        /// The generator could not hold a rate, which shows nothing about the server.
        case generatorOverloaded = "generator_overloaded"
        case interrupted
    }

    struct Step: Encodable, Hashable, Sendable {
        var targetPerSecond, achievedPerSecond: Double
        var p50Ms, p99Ms: Double?
        var errorsPercent: Double
        var sendLagP99Ms: Double?
        var verdict: RunResult.Verdict
        var reasons: [String]
    }
}

extension SearchReport.Step {
    init(_ result: RunResult) {
        self.init(
            targetPerSecond: result.totals.targetPerSecond ?? 0, achievedPerSecond: result.totals.achievedPerSecond,
            p50Ms: result.response.p50Ms, p99Ms: result.response.p99Ms, errorsPercent: result.errorPercent,
            sendLagP99Ms: result.generator.sendLag.p99Ms, verdict: result.verdict, reasons: result.verdictReasons)
    }

    var line: String {
        let (p50, p99, lag) = (p50Ms?.fourDigits, p99Ms?.fourDigits, sendLagP99Ms?.fourDigits)
        let cells = [
            targetPerSecond.asRate, achievedPerSecond.asRate, p50 ?? "–", p99 ?? "–", errorsPercent.fourDigits + " %",
            lag ?? "–",
        ]
        let title = verdict == .passed ? "met" : verdict == .thresholdMissed ? "missed" : verdict.title
        let rest = [title, reasons.joined(separator: "; ")].filter { !$0.isEmpty }
        return Self.columns(cells) + "  " + rest.joined(separator: ": ")
    }

    static let header = columns(["target/s", "answers/s", "p50 ms", "p99 ms", "errors", "lag p99"])

    private static func columns(_ cells: [String]) -> String {
        cells.map { String(repeating: " ", count: max(0, 10 - $0.count)) + $0 }.joined()
    }
}

extension SearchReport {
    var conclusion: String {
        let wanted = slo.joined(separator: ", ")
        let found = ratePerSecond.map { "\($0.asRate) requests/s" }
        switch end {
        case .found: return "\(found ?? "0") meet \(wanted)"
        case .maximumRate: return "\(found ?? "0") meet \(wanted); more was not tried (--max-rate)"
        case .maximumSteps: return "\(found ?? "no rate tried") meet \(wanted); --max-steps ended the search"
        case .nothing: return "no rate meets \(wanted)"
        case .generatorOverloaded:
            return "the generator could not hold the last rate, so the search ends"
                + (found.map { "; \($0) meet \(wanted), and the server may take more" } ?? "")
        case .interrupted: return "ended early" + (found.map { "; \($0) meet \(wanted)" } ?? "")
        }
    }

    var exitStatus: Int32 {
        switch end {
        case .interrupted: 130
        case .generatorOverloaded: 98
        case .found, .maximumRate, .maximumSteps, .nothing: ratePerSecond == nil ? 99 : 0
        }
    }
}
