// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
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

    /// Figures in which B is worse by more than noise.
    var regressions: [ComparedFigure] { figures.filter { $0.judgement == .worse } }
    private var improvements: [ComparedFigure] { figures.filter { $0.judgement == .better } }
    /// Figures that differ because of few seconds.
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
            "timeout": "\(timeoutMilliseconds.plain) ms", "warm-up": "\(warmupSeconds.plain) s",
        ]
    }
}

extension RunResult.Environment {
    fileprivate var comparable: KeyValuePairs<String, String> {
        [
            "version": version, "revision": revision ?? "unknown", "processor": cpu, "cores": "\(cores)",
            "allowed cores": allowedCores.map(String.init).joined(separator: ", "), "kernel": kernel,
            "memory": memoryBytes.bytesText,
        ]
    }
}
