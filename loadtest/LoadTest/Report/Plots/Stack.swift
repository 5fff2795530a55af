// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// Outcomes one upon the other, as levels for each step.
struct Stack: Sendable {
    struct Layer: Sendable {
        var lower: [RunResult.Point]
        var upper: [RunResult.Point]
    }

    let layers: [Layer]
    /// Of each step, all outcomes together.
    let totals: [Double]

    init(steps: TimeSteps, names: [String]) {
        var floors = steps.steps.map { _ in 0.0 }
        layers = names.map { name in
            let tops = zip(floors, steps.steps).map { $0 + $1.count(of: name) }
            defer { floors = tops }
            return Layer(lower: Self.levels(floors, steps), upper: Self.levels(tops, steps))
        }
        totals = floors
    }

    /// Where a step is missing, the level falls to nothing.
    private static func levels(_ heights: [Double], _ steps: TimeSteps) -> [RunResult.Point] {
        var points: [RunResult.Point] = []
        for (height, step) in zip(heights, steps.steps) {
            if let last = points.last, last.x < step.start {
                points += [RunResult.Point(x: last.x, y: 0), RunResult.Point(x: step.start, y: 0)]
            }
            points += [RunResult.Point(x: step.start, y: height), RunResult.Point(x: step.end, y: height)]
        }
        return points
    }
}

extension TimeSteps.Step {
    /// Its outcomes; where the server did not say, whether there was an answer at all.
    var outcomeNames: [String] {
        let isSilent = outcomes.isEmpty
        return isSilent ? ["answered", "failed", "shed"].filter { count(of: $0) > 0 } : Array(outcomes.keys)
    }

    /// Each second on average.
    func count(of outcome: String) -> Double {
        if !outcomes.isEmpty { return outcomes[outcome] ?? 0 }
        return switch outcome {
        case "answered": answered
        case "failed": failed
        case "shed": shed
        default: 0
        }
    }
}
