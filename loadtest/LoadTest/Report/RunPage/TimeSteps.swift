// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// A timeline in steps of one or more seconds, few enough to be distinguished on a page.
struct TimeSteps: Sendable {
    /// The length of a step in seconds.
    let width: Int
    let steps: [Step]

    typealias Point = RunResult.Point
    typealias Figure = (Step) -> Double?
    private static let widths = [1, 2, 5, 10, 15, 20, 30, 60, 120, 300, 600, 1200, 1800, 3600]

    init(_ timeline: [RunResult.Second], atMost most: Int = 600) {
        let seconds = (timeline.last?.second ?? -1) + 1
        self.init(timeline, width: Self.widths.first { (seconds + $0 - 1) / $0 <= most } ?? max(1, seconds / most + 1))
    }

    init(_ timeline: [RunResult.Second], width: Int) {
        self.width = width
        let end = (timeline.last?.second ?? -1) + 1
        let groups = Dictionary(grouping: timeline) { $0.second / width }.sorted { $0.key < $1.key }
        steps = groups.map { number, seconds in
            Step(start: Double(number * width), end: Double(min((number + 1) * width, end)), seconds: seconds)
        }
    }

    struct Step: Sendable {
        let start: Double
        /// The last step of a run may be shorter.
        let end: Double
        let seconds: [RunResult.Second]

        /// Returns the average of a count per second.
        func average(_ count: (RunResult.Second) -> Int) -> Double {
            Double(seconds.map(count).reduce(0, +)) / (end - start)
        }

        /// Returns the highest figure, so that no peak is lost.
        func worst(_ figure: (RunResult.Second) -> Double?) -> Double? { seconds.compactMap(figure).max() }

        /// The average target per second; nil in a closed loop.
        var target: Double? {
            let targets = seconds.compactMap(\.target)
            return targets.isEmpty ? nil : targets.reduce(0, +) / (end - start)
        }
    }
}

extension RunResult.Second {
    /// Requests by outcome; if the server sent none, by whether it answered.
    var ends: [String: Int] {
        outcomes.isEmpty
            ? ["answered": answered, "failed": failed, "shed": shed].filter { $0.value > 0 } : outcomes
    }
}

// MARK: - Points

extension TimeSteps {
    func caption(isRate: Bool) -> String {
        width == 1 ? "" : "Each \(isRate ? "step is the average" : "point is the worst") of \(width) seconds."
    }

    /// Returns a level for each step, or a point in its middle, with a gap where nothing was measured.
    func pieces(isLevel: Bool, _ figure: Figure) -> [[Point]] {
        var pieces: [[Point]] = [], end: Double?
        for step in steps {
            let moments = isLevel ? [step.start, step.end] : [(step.start + step.end) / 2]
            let points = figure(step).map { value in moments.map { Point(x: $0, y: value) } }
            if let points, end == step.start {
                pieces[pieces.count - 1] += points
            } else if let points {
                pieces.append(points)
            }
            end = points == nil ? nil : step.end
        }
        return pieces
    }

    /// Returns the outlines of areas stacked upon each other.
    func stacked(_ figures: [Figure]) -> [[Point]] {
        var floors = steps.map { _ in 0.0 }
        return figures.map { figure in
            let tops = zip(floors, steps).map { $0 + (figure($1) ?? 0) }
            defer { floors = tops }
            return edge(tops) + edge(floors).reversed()
        }
    }

    /// The outline of the area between the fewest answers of a step's seconds and the most.
    var spread: [Point] {
        let answered = steps.map { $0.seconds.map { Double($0.answered) } }
        return edge(answered.map { $0.max() ?? 0 }) + edge(answered.map { $0.min() ?? 0 }).reversed()
    }

    /// Returns a level for each step; where a step is missing, it falls to 0.
    private func edge(_ heights: [Double]) -> [Point] {
        var points: [Point] = []
        for (height, step) in zip(heights, steps) {
            if let last = points.last, last.x < step.start {
                points += [Point(x: last.x, y: 0), Point(x: step.start, y: 0)]
            }
            points += [Point(x: step.start, y: height), Point(x: step.end, y: height)]
        }
        return points
    }
}
