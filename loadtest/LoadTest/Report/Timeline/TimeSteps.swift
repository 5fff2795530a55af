// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// A timeline in as many steps as can be seen apart. A step of several seconds shows the average of their counts and the
/// worst of their latencies, so that no peak is lost; whoever draws them says so.
struct TimeSteps: Sendable {
    /// Seconds in a step.
    let width: Int
    let steps: [Step]

    /// More would not be seen apart on a page.
    static let most = 600
    private static let widths = [1, 2, 5, 10, 15, 20, 30, 60, 120, 300, 600, 1200, 1800, 3600]

    init(_ timeline: [RunResult.Second], atMost most: Int = Self.most) {
        let seconds = (timeline.last?.second ?? -1) + 1
        self.init(timeline, width: Self.widths.first { (seconds + $0 - 1) / $0 <= most } ?? max(1, seconds / most + 1))
    }

    /// In steps of so many seconds.
    init(_ timeline: [RunResult.Second], width: Int) {
        let seconds = (timeline.last?.second ?? -1) + 1
        self.width = width
        var parts: [[RunResult.Second]] = []
        for second in timeline {
            if let last = parts.last?.first, last.second / width == second.second / width {
                parts[parts.count - 1].append(second)
            } else {
                parts.append([second])
            }
        }
        steps = parts.map { Step($0, width: width, until: seconds) }
    }

    /// What happened in the seconds of one step.
    struct Step: Hashable, Sendable {
        let start: Double
        let length: Double
        /// Each second on average; nil in a closed loop.
        let target: Double?
        let sent: Double
        let answered: Double
        let failed: Double
        let shed: Double
        let fewestAnswered: Double
        let mostAnswered: Double
        /// The highest of its seconds, in milliseconds.
        let p50, p90, p99, maximum, sendLagP99: Double?
        /// Each second on average.
        let outcomes: [String: Double]

        var middle: Double { start + length / 2 }
        var end: Double { start + length }
    }
}

extension TimeSteps.Step {
    /// Of seconds in one step, of which the last of a run may be cut short.
    init(_ seconds: [RunResult.Second], width: Int, until end: Int) {
        let first = (seconds.first?.second ?? 0) / width * width
        let length = Double(max(1, min(width, end - first)))
        func average(_ count: (RunResult.Second) -> Int) -> Double {
            seconds.map { Double(count($0)) }.reduce(0, +) / length
        }
        func highest(_ figure: (RunResult.Second) -> Double?) -> Double? { seconds.compactMap(figure).max() }
        start = Double(first)
        self.length = length
        let targets = seconds.compactMap(\.target)
        target = targets.isEmpty ? nil : targets.reduce(0, +) / length
        sent = average(\.sent)
        answered = average(\.answered)
        failed = average(\.failed)
        shed = average(\.shed)
        fewestAnswered = Double(seconds.map(\.answered).min() ?? 0)
        mostAnswered = Double(seconds.map(\.answered).max() ?? 0)
        p50 = highest(\.p50)
        p90 = highest(\.p90)
        p99 = highest(\.p99)
        maximum = highest(\.maximum)
        sendLagP99 = highest(\.sendLagP99)
        outcomes = seconds.reduce(into: [:]) { sums, second in
            for (outcome, count) in second.outcomes { sums[outcome, default: 0] += Double(count) / length }
        }
    }
}

// MARK: - As lines

extension TimeSteps {
    typealias Point = RunResult.Point

    /// A point in the middle of each step, with a gap where nothing was measured.
    func line(_ figure: (Step) -> Double?) -> [[Point]] {
        pieces { step in figure(step).map { [Point(x: step.middle, y: $0)] } }
    }

    /// A level for each step.
    func levels(_ figure: (Step) -> Double?) -> [[Point]] {
        pieces { step in figure(step).map { [Point(x: step.start, y: $0), Point(x: step.end, y: $0)] } }
    }

    private func pieces(_ points: (Step) -> [Point]?) -> [[Point]] {
        var pieces: [[Point]] = [], end: Double?
        for step in steps {
            defer { end = points(step) == nil ? nil : step.end }
            guard let points = points(step) else { continue }
            if end == step.start, !pieces.isEmpty {
                pieces[pieces.count - 1] += points
            } else {
                pieces.append(points)
            }
        }
        return pieces
    }
}
