// SPDX-License-Identifier: Apache-2.0

internal import ReceiptForge

/// A test of whether the seconds of two runs differ by more than the seconds of each differ among themselves.
///
/// A moving-block bootstrap: it draws blocks of neighbouring seconds, since seconds resemble their neighbours and a
/// rank test would take each as independent. A difference counts if 99.8 % of the draws agree on its direction and it
/// is large enough to matter. Of runs that do not differ, about one figure in fifty is still called different. It is up
/// to one figure in ten where each second strongly resembles the second before.
///
/// No pair of runs shows what changes from run to run, such as other programs on the machine: repeat both.
struct NoiseRule: Sendable {
    enum Typical: Sendable {
        /// For latencies: outliers do not count.
        case median
        /// For rates and shares: every second counts.
        case mean
    }

    var typical: Typical
    /// The smallest difference that matters, as a share of the first run's typical second.
    var smallestShare = 0.0
    /// The smallest difference that matters, in units of the figure.
    var smallest = 0.0

    static let fewestSeconds = 20
    /// Of more seconds, neighbours are averaged.
    static let mostSeconds = 600
    static let draws = 2000
    /// The number of draws at each end that may disagree: 0.1 %.
    private static let disagreeing = draws / 1000

    enum Judgement: String, Codable, Sendable {
        case withinNoise = "within_noise"
        case better, worse
        /// They differ enough on average, but not in their typical seconds: there was an event.
        case fewSeconds = "in_few_seconds"
        case tooFewSeconds = "too_few_seconds"
        case notJudged = "not_judged"
    }

    struct Estimate: Hashable, Sendable {
        let a, b: Double
        /// b - a, and its range.
        let difference: Double
        let interval: ClosedRange<Double>
        let size: Size
    }

    enum Size: Sendable {
        case none, passing, real
    }

    /// Returns nil with too few seconds. Paired seconds are drawn together, so that a change of the plan's rate, which
    /// affects both runs in the same second, is no difference.
    func estimate(_ a: [Double], _ b: [Double], arePaired: Bool) -> Estimate? {
        guard min(a.count, b.count) >= Self.fewestSeconds, !arePaired || a.count == b.count else { return nil }
        let (a, b) = (thinned(a), thinned(b))
        var random = SplitMix64(seed: 1)
        var differences = (0..<Self.draws).map { _ in
            let first = Self.blocks(of: a.count, &random)
            let second = arePaired ? first : Self.blocks(of: b.count, &random)
            return sum(second.map { b[$0] }) - sum(first.map { a[$0] })
        }
        differences.sort()
        let interval = differences[Self.disagreeing]...differences[Self.draws - 1 - Self.disagreeing]
        let (typicalA, typicalB) = (sum(a), sum(b))
        let difference = typicalB - typicalA
        return Estimate(
            a: typicalA, b: typicalB, difference: difference, interval: interval,
            size: isLarge(difference, beside: typicalA)
                ? interval.contains(0) ? isPassing(a, b) ? .passing : .none : .real : .none)
    }

    /// Returns true if the whole runs differ by more than their typical seconds can: few seconds make the difference.
    func isPassing(_ a: Double, _ b: Double, beside estimate: Estimate) -> Bool {
        let margin = max(smallest, smallestShare * a)
        let span = (estimate.interval.lowerBound - margin)...(estimate.interval.upperBound + margin)
        return isLarge(b - a, beside: a) && !span.contains(b - a)
    }

    private func isLarge(_ difference: Double, beside a: Double) -> Bool {
        difference != 0 && difference.magnitude >= max(smallest, smallestShare * a.magnitude)
    }

    private func isPassing(_ a: [Double], _ b: [Double]) -> Bool {
        typical == .mean && !isLarge(b.median - a.median, beside: a.median)
    }

    /// Returns the averages of neighbouring seconds, so that two days take no longer than two times ten minutes.
    private func thinned(_ seconds: [Double]) -> [Double] {
        let size = (seconds.count + Self.mostSeconds - 1) / Self.mostSeconds
        guard size > 1 else { return seconds }
        return stride(from: 0, to: seconds.count, by: size).map { start in
            sum(Array(seconds[start..<min(start + size, seconds.count)]))
        }
    }

    /// Draws this many seconds in blocks of neighbours; the first follows the last.
    private static func blocks(of count: Int, _ random: inout SplitMix64) -> [Int] {
        let length = Int(Double(count).squareRoot().rounded(.up))
        var seconds: [Int] = []
        seconds.reserveCapacity(count + length)
        while seconds.count < count {
            let start = Int.random(in: 0..<count, using: &random)
            for second in start..<(start + length) { seconds.append(second % count) }
        }
        return Array(seconds.prefix(count))
    }

    private func sum(_ values: [Double]) -> Double {
        switch typical {
        case .mean: values.reduce(0, +) / Double(values.count)
        case .median: values.median
        }
    }
}
