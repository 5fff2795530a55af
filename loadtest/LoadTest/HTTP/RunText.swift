// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser

/// A result for readers: the verdict first.
struct RunText {
    let result: RunResult

    var text: String {
        let parts = [verdict, generator, latencies, outcomes, problems, thresholds]
        return parts.filter { !$0.isEmpty }.joined(separator: "\n\n")
    }

    /// A line for the verdict, and a line for each reason.
    var verdict: String {
        let totals = result.totals
        let rate = totals.achievedPerSecond.asRate
        let target = totals.targetPerSecond.map { " of \($0.asRate)" } ?? ""
        let latency = [("p50", result.response.p50Ms), ("p99", result.response.p99Ms)]
            .compactMap { name, value in value.map { "\(name) \($0.fourDigits) ms" } }
        let facts =
            ["\(rate)\(target) answers/s for \(result.durationSeconds.fourDigits) s"] + latency
            + ["errors \(result.errorPercent.fourDigits) %"]
        return ([result.verdict.title + "  " + facts.joined(separator: ", ")] + result.verdictReasons.map { "  " + $0 })
            .joined(separator: "\n")
    }

    private var generator: String {
        let generator = result.generator, totals = result.totals
        let isBusy = generator.cpuShare > 0.9
        let cpu =
            "CPU \((generator.cpuShare * 100).fixed(0)) % of a core" + (result.plan.workers > 1 ? " each" : "")
            + (isBusy ? ": it may be what limits, use more --workers" : "")
        guard result.plan.loop == .open else {
            return
                "closed loop: each of \(result.plan.connections) connections waits for its answer, so a slow server "
                + "gets fewer requests\ngenerator: \(cpu)"
        }
        let lag = generator.sendLag
        return
            "generator \(result.scheduleText): \(generator.lateSends.grouped) of \(totals.intended.grouped) requests late, "
            + "send lag p50 \((lag.p50Ms ?? 0).fourDigits) ms, p99 \((lag.p99Ms ?? 0).fourDigits) ms, \(cpu)"
    }

    private var latencies: String {
        let figures: [(String, (RunResult.Distribution) -> Double?)] = [
            ("mean", \.meanMs), ("p50", \.p50Ms), ("p90", \.p90Ms), ("p99", \.p99Ms), ("p99.9", \.p99_9Ms),
            ("p99.99", \.p99_99Ms), ("max", \.maxMs),
        ]
        guard result.response.count > 0 else { return "" }
        let rows = figures.map { name, value in
            [name] + [result.response, result.service].map { value($0)?.fourDigits ?? "–" }
        }
        return AlignedTable(header: ["ms", "response", "service"], rows: rows).text
            + "\nresponse from when a request was due, service from when it was sent"
    }

    private var outcomes: String {
        let all = result.outcomes.reduce(0) { $0 + Double($1.count) }
        let rows = result.outcomes.map { row in
            [row.outcome, row.count.grouped, (100 * Double(row.count) / all).fixed(2) + " %"]
                + [row.response.p50Ms, row.response.p99Ms, row.response.maxMs].map { $0?.fourDigits ?? "–" }
        }
        let header = ["outcome", "requests", "share", "p50 ms", "p99 ms", "max ms"]
        return rows.isEmpty ? "" : AlignedTable(header: header, rows: rows).text
    }

    /// The errors, and the statuses if there was more than 200.
    private var problems: String {
        let statuses = result.statuses.sorted { $0.key < $1.key }.map { "\($0.key): \($0.value.grouped)" }
        let errors = result.errors.sorted { $0.key < $1.key }.map { "\($0.key): \($0.value.grouped)" }
        let unusual = result.statuses.keys.contains { $0 != "200" }
        return [("statuses  ", unusual ? statuses : []), ("errors  ", errors)]
            .filter { !$0.1.isEmpty }.map { $0.0 + $0.1.joined(separator: ", ") }.joined(separator: "\n")
    }

    private var thresholds: String {
        result.thresholds.map { ($0.met ? "met     " : "MISSED  ") + $0.text }.joined(separator: "\n")
    }
}

extension RunResult.Verdict {
    var title: String {
        switch self {
        case .passed: "PASSED"
        case .thresholdMissed: "THRESHOLD MISSED"
        case .generatorOverloaded: "GENERATOR OVERLOADED"
        case .interrupted: "INTERRUPTED"
        }
    }
}

extension RunResult {
    /// The generator's punctuality in a few words. Figures stand if it was late by little beside the response.
    fileprivate var scheduleText: String {
        if generator.keptSchedule { return "kept its schedule" }
        let isHarmless = verdict == .passed || verdict == .thresholdMissed
        return isHarmless ? "was late, by little beside the response" : "did NOT keep its schedule"
    }

    /// The share of failed and unanswered requests in percent, without requests that the server shed or the end cut
    /// off.
    var errorPercent: Double {
        let unanswered = [RequestFailure.timeout, .noConnection, .queueFull].map { errors[$0.rawValue, default: 0] }
        let failed = totals.failed + unanswered.reduce(0, +)
        return totals.intended > 0 ? 100 * Double(failed) / Double(totals.intended) : 0
    }
}

enum RunFormat: String, CaseIterable, Sendable, ExpressibleByArgument {
    case text
    case json
    /// A line for each second while the run goes on, and a line with the whole result.
    case ndjson
    case csv
    /// Nothing: the exit status tells.
    case quiet

    func line(_ second: RunResult.Second) throws -> String {
        self == .ndjson ? try JSONOutput.compact(second) + "\n" : ""
    }

    func text(_ result: RunResult) throws -> String {
        switch self {
        case .text: RunText(result: result).text + "\n"
        case .json: try JSONOutput.of(result) + "\n"
        case .ndjson: try JSONOutput.compact(result) + "\n"
        case .csv: Self.rows(result.timeline)
        case .quiet: ""
        }
    }

    private static func rows(_ timeline: [RunResult.Second]) -> String {
        let outcomes = LoadOutcome.allCases.map(\.rawValue)
        let names = [
            "second", "target", "sent", "answered", "failed", "shed", "p50_ms", "p90_ms", "p99_ms", "max_ms",
            "send_lag_p99_ms",
        ]
        let rows = timeline.map { row in
            let counts = [row.second, row.sent, row.answered, row.failed, row.shed].map(String.init)
            let figures = [row.target, row.p50Ms, row.p90Ms, row.p99Ms, row.maxMs, row.sendLagP99Ms].map {
                $0.map { "\($0)" } ?? ""
            }
            return [counts[0], figures[0]] + counts[1...] + figures[1...]
                + outcomes.map { String(row.outcomes[$0] ?? 0) }
        }
        return ([names + outcomes] + rows).map { $0.joined(separator: ",") + "\n" }.joined()
    }
}
