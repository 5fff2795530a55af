// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// Two runs side by side.
struct RunComparison: Sendable {
    let a: RunResult
    let b: RunResult
    /// What was asked for differently: with any of these, a difference may be the plan's.
    let planDifferences: [Difference]
    /// Where it ran differently.
    let environmentDifferences: [Difference]
    let figures: [ComparedFigure]

    struct Difference: Encodable, Hashable, Sendable {
        let name: String
        let a: String
        let b: String
    }

    init(_ a: RunResult, _ b: RunResult) {
        self.a = a
        self.b = b
        planDifferences = Self.differences(a.plan.comparable, b.plan.comparable)
        environmentDifferences = Self.differences(a.environment.comparable, b.environment.comparable)
        figures = FigureComparer(a, b, isSamePlan: planDifferences.isEmpty).figures
    }

    private static func differences(_ a: [(String, String)], _ b: [(String, String)]) -> [Difference] {
        zip(a, b).compactMap { a, b in a.1 == b.1 ? nil : Difference(name: a.0, a: a.1, b: b.1) }
    }

    /// Figures in which b is worse, noise aside.
    var regressions: [ComparedFigure] { figures.filter { $0.judgement == .worse } }
    var improvements: [ComparedFigure] { figures.filter { $0.judgement == .better } }
    /// Figures that lie apart because of few seconds.
    var events: [ComparedFigure] { figures.filter { $0.judgement == .fewSeconds } }
    private var wereJudged: Bool { figures.contains { $0.typicalA != nil } }

    /// What it comes to, in one line.
    var headline: String {
        func names(_ figures: [ComparedFigure]) -> String { figures.map(\.name).joined(separator: ", ") }
        if !wereJudged { return "Too few seconds to tell: at least \(NoiseRule.fewestSeconds) are needed" }
        switch (regressions.isEmpty, improvements.isEmpty) {
        case (true, true) where !events.isEmpty: return "No lasting difference; in few seconds: \(names(events))"
        case (true, true): return "No difference beyond the noise"
        case (false, true): return "B is worse: \(names(regressions))"
        case (true, false): return "B is better: \(names(improvements))"
        case (false, false): return "B is worse: \(names(regressions)); better: \(names(improvements))"
        }
    }

    /// What has to be known before any number is believed.
    var warnings: [String] {
        let plan = planDifferences.map(\.name).joined(separator: ", ")
        return (plan.isEmpty ? [] : ["The runs had different plans (\(plan)): differences may be the plan's."])
            + [("A", a), ("B", b)].compactMap { name, run in
                switch run.verdict {
                case .generatorOverloaded: "\(name)'s generator could not keep up: its numbers are about the generator."
                case .interrupted: "\(name) was interrupted."
                case .passed, .thresholdMissed: nil
                }
            }
    }
}

extension RunResult.Plan {
    /// What two runs must share to be compared; the seed may differ, as chance may.
    fileprivate var comparable: [(String, String)] {
        [
            ("address", url), ("loop", loop.rawValue), ("arrivals", arrival.rawValue),
            (
                "rate",
                stages.map { stage in
                    let (from, to) = (stage.fromPerSecond.plain, stage.toPerSecond.plain)
                    return "\(from == to ? from : "\(from) to \(to)")/s for \(stage.seconds.plain) s"
                }.joined(separator: ", then ")
            ),
            ("connections", "\(connections)"), ("distinct receipts", "\(keys)"), ("Zipf exponent", zipf.plain),
            ("mix", mix.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value.plain)" }.joined(separator: ", ")),
            ("timeout", "\(timeoutMilliseconds.plain) ms"), ("warm-up", "\(warmupSeconds.plain) s"),
        ]
    }
}

extension RunResult.Environment {
    fileprivate var comparable: [(String, String)] {
        [
            ("version", version), ("revision", revision ?? "unknown"), ("processor", cpu), ("cores", "\(cores)"),
            ("allowed cores", allowedCores.map(String.init).joined(separator: ", ")), ("kernel", kernel),
            ("memory", memoryBytes.bytesText),
        ]
    }
}
