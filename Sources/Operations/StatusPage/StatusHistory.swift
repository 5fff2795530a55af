// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import Receipts

/// What was counted up to one moment.
struct StatusReading: Sendable {
    /// The time of day, for people.
    let time: Timestamp
    /// The time that no clock's correction moves, for rates.
    let instant: ContinuousClock.Instant
    /// In the order of `StatusCount`.
    let counts: [UInt64]
    /// In the order of `StatusTiming`.
    let distributions: [[UInt64]]
    /// CPU time of the process, in seconds.
    let processorSeconds: Double
}

/// What happened between two readings.
struct StatusWindow: Sendable {
    private let from, to: StatusReading

    init(_ from: StatusReading, _ to: StatusReading) { (self.from, self.to) = (from, to) }

    /// How many were counted.
    func count(_ count: StatusCount) -> Int {
        // A counter can be begun again; then nothing is known.
        Int(clamping: to.counts[count.rawValue].subtractingOrZero(from.counts[count.rawValue]))
    }

    /// How many of several kinds were counted in a second; nil for a window without length.
    func rate(_ counts: [StatusCount]) -> Double? {
        seconds.map { seconds in Double(counts.reduce(0) { $0 + count($1) }) / seconds }
    }

    /// How many were counted in a second; nil for a window without length.
    func rate(_ count: StatusCount) -> Double? { rate([count]) }

    /// The share of one count in several; nil where all of them are 0.
    func share(_ part: StatusCount, of whole: [StatusCount]) -> Double? {
        let sum = whole.reduce(0) { $0 + count($1) }
        return sum > 0 ? Double(count(part)) / Double(sum) : nil
    }

    /// How many cores were busy.
    var cores: Double? { seconds.map { max(0, to.processorSeconds - from.processorSeconds) / $0 } }

    /// The time in seconds within which this share was done, as precisely as the buckets tell; nil where nothing was done.
    /// What lies beyond the last bound counts as that.
    func quantile(_ share: Double, of timing: StatusTiming) -> Double? {
        let old = from.distributions[timing.rawValue], new = to.distributions[timing.rawValue]
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

/// The readings of the last minutes, the oldest of which are forgotten.
struct StatusHistory: Sendable {
    /// How much is kept.
    enum Limits {
        /// From one reading to the next.
        static let beat: Duration = .seconds(2)
        /// Ten minutes of them, and one to begin with.
        static let readings = 301
        /// What "the last minute" is made of.
        static let readingsOfAMinute = 30
    }

    private var readings: [StatusReading]
    /// Where the next one goes once the ring is full.
    private var next = 0

    /// - Parameter first: what everything after it is compared with.
    init(first: StatusReading) { readings = [first] }

    /// Adds a reading, the oldest making room for it.
    mutating func append(_ reading: StatusReading) {
        guard readings.count == Limits.readings else { return readings.append(reading) }
        readings[next] = reading
        next = (next + 1) % Limits.readings
    }

    /// From the oldest to the newest.
    var inOrder: [StatusReading] { Array(readings[next...] + readings[..<next]) }

    /// The newest reading.
    var newest: StatusReading { readings[(next + readings.count - 1) % readings.count] }

    /// The last beats up to now, or what there is of them.
    func window(beats: Int) -> StatusWindow {
        let back = min(beats, readings.count - 1)
        return StatusWindow(readings[(next + readings.count - 1 - back) % readings.count], newest)
    }
}

/// The windows that the page tells of.
struct StatusWindows: Sendable {
    let beat, minute, all: StatusWindow

    init(_ history: StatusHistory) {
        beat = history.window(beats: 1)
        minute = history.window(beats: StatusHistory.Limits.readingsOfAMinute)
        all = history.window(beats: StatusHistory.Limits.readings)
    }
}
