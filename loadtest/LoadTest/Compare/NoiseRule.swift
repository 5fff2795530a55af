// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import ReceiptForge

/// Whether the seconds of two runs differ by more than the seconds of each differ among themselves.
///
/// Blocks of neighbouring seconds are drawn again and again (a moving-block bootstrap: seconds resemble their
/// neighbours, and a rank test would take each for a witness of its own); the difference counts if 99.8 % of the draws
/// agree on its direction and it is large enough to matter. Of runs that do not differ, about one figure in fifty is
/// still called different, and up to one in ten where each second strongly resembles the one before.
///
/// What changes from one run to the next (neighbours on the machine, the weather of a network) no pair of runs can show:
/// who wants to be sure repeats both.
struct NoiseRule: Sendable {
    /// What a run is summed up by.
    enum Typical: Sendable {
        /// Outliers have no say: for latencies.
        case median
        /// Every one counts: for rates and shares.
        case mean
    }

    var typical: Typical
    /// How large a difference must be to matter, as a share of the first run's typical second.
    var smallestShare = 0.0
    /// The same, in units of the figure.
    var smallest = 0.0

    static let fewestSeconds = 20
    /// Of more, several are taken together.
    static let mostSeconds = 600
    static let draws = 2000
    /// Of the draws that may disagree at each end: 0.1 %.
    private static let disagreeing = draws / 1000

    enum Judgement: String, Codable, Sendable {
        case withinNoise = "within_noise"
        case better, worse
        /// On average they differ by enough to matter, but in their typical seconds they do not: something happened.
        case fewSeconds = "in_few_seconds"
        case tooFewSeconds = "too_few_seconds"
        case notJudged = "not_judged"
    }

    /// What the seconds of two runs say of each other.
    struct UpstreamResult: Hashable, Sendable {
        /// The typical second of each run.
        let a: Double
        let b: Double
        /// b - a, and where it may lie.
        let difference: Double
        let interval: ClosedRange<Double>
        let size: Size
    }

    /// What a difference amounts to.
    enum Size: Sendable {
        case none, passing, real
    }

    /// Nil with too few seconds. Paired seconds belong together: they are drawn together, so that what a plan does to both
    /// runs at the same moment is no difference between them.
    func finding(_ a: [Double], _ b: [Double], arePaired: Bool) -> UpstreamResult? {
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
        return UpstreamResult(
            a: typicalA, b: typicalB, difference: difference, interval: interval,
            size: isLarge(difference, beside: typicalA)
                ? interval.contains(0) ? isPassing(a, b) ? .passing : .none : .real : .none)
    }

    /// Whether whole runs lie further apart than their typical seconds can: few seconds make the difference.
    func isPassing(_ a: Double, _ b: Double, beside finding: UpstreamResult) -> Bool {
        let margin = max(smallest, smallestShare * a)
        let span = (finding.interval.lowerBound - margin)...(finding.interval.upperBound + margin)
        return isLarge(b - a, beside: a) && !span.contains(b - a)
    }

    private func isLarge(_ difference: Double, beside a: Double) -> Bool {
        difference != 0 && difference.magnitude >= max(smallest, smallestShare * a.magnitude)
    }

    /// Whether the averages lie apart while half of the seconds know nothing of it.
    private func isPassing(_ a: [Double], _ b: [Double]) -> Bool {
        typical == .mean && !isLarge(Self.median(b) - Self.median(a), beside: Self.median(a))
    }

    /// Long runs in groups of neighbouring seconds, so that comparing two days takes no longer than two times ten minutes.
    private func thinned(_ seconds: [Double]) -> [Double] {
        let size = (seconds.count + Self.mostSeconds - 1) / Self.mostSeconds
        guard size > 1 else { return seconds }
        return stride(from: 0, to: seconds.count, by: size).map { start in
            sum(Array(seconds[start..<min(start + size, seconds.count)]))
        }
    }

    /// As many seconds as there are, in blocks of neighbours; the first follows the last.
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
        case .median: Self.median(values)
        }
    }

    private static func median(_ values: [Double]) -> Double {
        let sorted = values.sorted()
        let middle = sorted.count / 2
        return sorted.count % 2 == 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2
    }
}
