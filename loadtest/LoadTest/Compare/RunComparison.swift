// SPDX-License-Identifier: Apache-2.0

struct RunComparison: Sendable {
    let a, b: RunResult
    /// Each of these may explain a difference between the runs.
    let planDifferences, environmentDifferences: [Difference]
    private(set) var figures: [ComparedFigure] = []

    struct Difference: Encodable, Hashable, Sendable {
        let name, a, b: String
    }

    init(_ a: RunResult, _ b: RunResult) {
        self.a = a
        self.b = b
        planDifferences = Self.differences(a.plan.comparable, b.plan.comparable)
        environmentDifferences = Self.differences(a.environment.comparable, b.environment.comparable)
        figures = comparedFigures
    }

    private static func differences(
        _ a: KeyValuePairs<String, String>, _ b: KeyValuePairs<String, String>
    ) -> [Difference] {
        zip(a, b).compactMap { a, b in a.value == b.value ? nil : Difference(name: a.key, a: a.value, b: b.value) }
    }

    var runs: [(name: String, run: RunResult)] { [("A", a), ("B", b)] }

    var regressions: [ComparedFigure] { figures.filter { $0.judgement == .worse } }
    private var improvements: [ComparedFigure] { figures.filter { $0.judgement == .better } }
    var events: [ComparedFigure] { figures.filter { $0.judgement == .fewSeconds } }

    var headline: String {
        func names(_ figures: [ComparedFigure]) -> String { figures.map(\.name).joined(separator: ", ") }
        guard figures.contains(where: { $0.typicalSecondA != nil }) else {
            return "Too few seconds to tell: at least \(NoiseRule.fewestSeconds) are needed"
        }
        switch (regressions.isEmpty, improvements.isEmpty) {
        case (true, true) where !events.isEmpty: return "No lasting difference; in few seconds: \(names(events))"
        case (true, true): return "No difference beyond the noise"
        case (false, true): return "B is worse: \(names(regressions))"
        case (true, false): return "B is better: \(names(improvements))"
        case (false, false): return "B is worse: \(names(regressions)); better: \(names(improvements))"
        }
    }

    /// Reasons not to rely on the numbers.
    var warnings: [String] {
        let plan = planDifferences.map(\.name).joined(separator: ", ")
        return (plan.isEmpty ? [] : ["The runs had different plans (\(plan)): differences may be the plan's."])
            + runs.compactMap { name, run in
                switch run.verdict {
                case .generatorOverloaded: "\(name)'s generator could not keep up: its numbers are about the generator."
                case .interrupted: "\(name) was interrupted."
                case .passed, .thresholdMissed: nil
                }
            }
    }
}

extension RunResult.Plan {
    /// The properties that two runs must share to be compared; the seed may differ.
    fileprivate var comparable: KeyValuePairs<String, String> {
        let rates = stages.map { stage in
            let rates = [stage.fromPerSecond.plain, stage.toPerSecond.plain]
            return "\(rates[0] == rates[1] ? rates[0] : "\(rates[0]) to \(rates[1])")/s for \(stage.seconds.plain) s"
        }
        return [
            "address": url, "loop": loop.rawValue, "arrivals": arrival.rawValue,
            "rate": rates.joined(separator: ", then "), "connections": "\(connections)",
            "distinct receipts": "\(keys)", "Zipf exponent": zipf.plain,
            "mix": mix.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value.plain)" }.joined(separator: ", "),
            "timeout": "\(timeoutMs.plain) ms", "warm-up": "\(warmupSeconds.plain) s",
        ]
    }
}

extension RunResult.Environment {
    fileprivate var comparable: KeyValuePairs<String, String> {
        [
            "version": version, "processor": cpu, "cores": "\(cores)",
            "allowed cores": allowedCores.map(String.init).joined(separator: ", "), "kernel": kernel,
            "memory": memoryBytes.bytesText,
        ]
    }
}

extension RunComparison {
    private static let smallestShare = 0.05
    /// Smaller differences of shares of requests do not matter, in percentage points.
    private static let smallestPoints = 0.1

    var comparedFigures: [ComparedFigure] {
        [
            judged(
                ComparedFigure("answered", "/s", a.totals.achievedPerSecond, b.totals.achievedPerSecond),
                NoiseRule(typical: .mean, smallestShare: Self.smallestShare), isMoreBetter: true
            ) { Double($0.answered) },
            latency("response p50", \.p50Ms, \.p50Ms), latency("response p90", \.p90Ms, \.p90Ms),
            latency("response p99", \.p99Ms, \.p99Ms),
            ComparedFigure("response p99.9", "ms", a.response.p99_9Ms, b.response.p99_9Ms),
            ComparedFigure("slowest response", "ms", a.response.maxMs, b.response.maxMs),
            ComparedFigure("service p50", "ms", a.service.p50Ms, b.service.p50Ms),
            ComparedFigure("service p99", "ms", a.service.p99Ms, b.service.p99Ms),
            share("failed", { $0.totals.intended > 0 ? $0.errorPercent : nil }, \.failed),
            share("shed", { Self.percent($0.totals.shed, of: $0.totals.intended) }, \.shed),
            ComparedFigure("unanswered", "", Double(a.totals.unanswered), Double(b.totals.unanswered)),
            ComparedFigure("send lag p99", "ms", a.generator.sendLag.p99Ms, b.generator.sendLag.p99Ms),
        ]
    }

    private func latency(
        _ name: String, _ value: (RunResult.Distribution) -> Double?, _ second: (RunResult.Second) -> Double?
    ) -> ComparedFigure {
        judged(
            ComparedFigure(name, "ms", value(a.response), value(b.response)),
            NoiseRule(typical: .median, smallestShare: Self.smallestShare), second)
    }

    private static func percent(_ count: Int, of all: Int) -> Double? {
        all > 0 ? 100 * Double(count) / Double(all) : nil
    }

    private func share(
        _ name: String, _ total: (RunResult) -> Double?, _ second: (RunResult.Second) -> Int
    ) -> ComparedFigure {
        judged(
            ComparedFigure(name, "%", total(a), total(b)),
            NoiseRule(typical: .mean, smallest: Self.smallestPoints)
        ) { Self.percent(second($0), of: $0.answered + $0.failed + $0.shed) }
    }

    private func judged(
        _ figure: ComparedFigure, _ rule: NoiseRule, isMoreBetter: Bool = false,
        _ value: (RunResult.Second) -> Double?
    ) -> ComparedFigure {
        let seconds = [a, b].map { run in
            run.measuredSeconds.compactMap { second in value(second).map { (second.second, $0) } }
        }
        // Seconds of the same plan are drawn in pairs.
        let arePaired = planDifferences.isEmpty && seconds[0].map(\.0) == seconds[1].map(\.0)
        var figure = figure
        guard let estimate = rule.estimate(seconds[0].map(\.1), seconds[1].map(\.1), arePaired: arePaired) else {
            figure.judgement = .tooFewSeconds
            return figure
        }
        (figure.typicalSecondA, figure.typicalSecondB) = (estimate.a, estimate.b)
        (figure.differenceLow, figure.differenceHigh) = (estimate.interval.lowerBound, estimate.interval.upperBound)
        switch estimate.size {
        case .none:
            let isPassing =
                if let a = figure.a, let b = figure.b { rule.isPassing(a, b, beside: estimate) } else { false }
            figure.judgement = isPassing ? .fewSeconds : .withinNoise
        case .passing: figure.judgement = .fewSeconds
        case .real: figure.judgement = (estimate.difference > 0) == isMoreBetter ? .better : .worse
        }
        return figure
    }
}

struct ComparedFigure: Encodable, Hashable, Sendable {
    let name: String
    /// `ms`, `/s`, `%`.
    let unit: String
    /// Of the whole runs.
    let a, b: Double?
    /// Of b to a; nil if a is 0.
    let ratio: Double?
    /// The typical seconds of the runs, from which noise is judged, and the range of their difference.
    fileprivate(set) var typicalSecondA, typicalSecondB, differenceLow, differenceHigh: Double?
    fileprivate(set) var judgement = NoiseRule.Judgement.notJudged

    init(_ name: String, _ unit: String, _ a: Double?, _ b: Double?) {
        self.name = name
        self.unit = unit
        self.a = a
        self.b = b
        if let a, let b, a > 0 { ratio = b / a } else { ratio = nil }
    }
}

extension RunResult {
    /// The seconds that count, numbered from the end of the warm-up: whole seconds before the last request was due.
    var measuredSeconds: [Second] {
        let start = Int(plan.warmupSeconds.rounded(.up))
        // A run of 29.999 s has thirty seconds.
        let end = lastDue + 0.05
        return timeline.filter { $0.second >= start && Double($0.second + 1) <= end }.map { second in
            var moved = second
            moved.second -= start
            return moved
        }
    }
}
