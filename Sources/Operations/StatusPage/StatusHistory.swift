// SPDX-License-Identifier: Apache-2.0

internal import Receipts

struct StatusReading: Sendable {
    /// The wall-clock time, for people.
    let time: Timestamp
    /// The monotonic time, for rates.
    let instant: ContinuousClock.Instant
    /// In the order of `StatusCount`.
    let counts: [UInt64]
    /// In the order of `StatusTiming`.
    let distributions: [[UInt64]]
    let processorSeconds: Double
}

struct StatusWindow: Sendable {
    private let from, to: StatusReading

    init(_ from: StatusReading, _ to: StatusReading) { (self.from, self.to) = (from, to) }

    func count(_ count: StatusCount) -> Int {
        // A counter may be reset; then the increase is unknown.
        Int(clamping: to.counts[count.position].subtractingOrZero(from.counts[count.position]))
    }

    func count(_ counts: [StatusCount]) -> Int { counts.reduce(0) { $0 + count($1) } }

    /// Returns the rate of several counts per second; nil for an empty window.
    func rate(_ counts: [StatusCount]) -> Double? { seconds.map { Double(count(counts)) / $0 } }

    func rate(_ count: StatusCount) -> Double? { rate([count]) }

    /// Returns a count's share of several; nil if all of them are 0.
    func share(_ part: StatusCount, of whole: [StatusCount]) -> Double? {
        let sum = count(whole)
        return sum > 0 ? Double(count(part)) / Double(sum) : nil
    }

    var cores: Double? { seconds.map { max(0, to.processorSeconds - from.processorSeconds) / $0 } }

    /// Returns a quantile in seconds, interpolated within its bucket; nil without values. Values beyond the last bound
    /// count as that bound.
    func quantile(_ share: Double, of timing: StatusTiming) -> Double? {
        let old = from.distributions[timing.position], new = to.distributions[timing.position]
        let counts = zip(new, old).map { $0.subtractingOrZero($1) }
        guard let total = counts.last, total > 0 else { return nil }
        let rank = Double(total) * share, bounds = timing.bounds
        guard let index = counts.firstIndex(where: { Double($0) >= rank }), index < bounds.count else {
            return bounds.last
        }
        let below = index > 0 ? Double(counts[index - 1]) : 0, start = index > 0 ? bounds[index - 1] : 0
        return start + (bounds[index] - start) * (rank - below) / max(1, Double(counts[index]) - below)
    }

    private var seconds: Double? {
        let span = (to.instant - from.instant) / .seconds(1)
        return span > 0 ? span : nil
    }
}

extension UInt64 {
    fileprivate func subtractingOrZero(_ other: UInt64) -> UInt64 { self > other ? self - other : 0 }
}

/// The readings of the last minutes, in a ring buffer.
struct StatusHistory: Sendable {
    enum Limits {
        static let tick: Duration = .seconds(2)
        /// Ten minutes of readings, and one reading to begin with.
        static let readings = 301
        /// The readings of "the last minute".
        static let readingsOfAMinute = 30
    }

    private var readings: [StatusReading]
    /// The position of the next reading once the ring is full.
    private var next = 0

    init(first: StatusReading) { readings = [first] }

    mutating func append(_ reading: StatusReading) {
        guard readings.count == Limits.readings else { return readings.append(reading) }
        readings[next] = reading
        next = (next + 1) % Limits.readings
    }

    var inOrder: [StatusReading] { Array(readings[next...] + readings[..<next]) }

    var newest: StatusReading { readings[(next + readings.count - 1) % readings.count] }

    func window(ticks: Int) -> StatusWindow {
        let back = min(ticks, readings.count - 1)
        return StatusWindow(readings[(next + readings.count - 1 - back) % readings.count], newest)
    }
}

struct StatusWindows: Sendable {
    let now, minute, all: StatusWindow

    init(_ history: StatusHistory) {
        now = history.window(ticks: 1)
        minute = history.window(ticks: StatusHistory.Limits.readingsOfAMinute)
        all = history.window(ticks: StatusHistory.Limits.readings)
    }
}
