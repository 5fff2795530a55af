// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// The progress of a job and an estimate of its end. Time is an argument.
struct ProgressMeter {
    /// The name of what is counted, in the plural.
    let unit: String
    let total: Int
    /// The shortest time between two lines.
    let interval: Duration
    /// Short jobs show nothing, and the first second allows no estimate.
    private var nextLine = Duration.seconds(1)

    init(unit: String, total: Int, interval: Duration) {
        self.unit = unit
        self.total = total
        self.interval = interval
    }

    /// Returns the line to show, or nil if the last one is recent.
    ///
    /// - Parameters:
    ///   - done: The number of units done.
    ///   - elapsed: The time since the job began.
    mutating func line(done: Int, elapsed: Duration) -> String? {
        guard done > 0, elapsed >= nextLine else { return nil }
        nextLine = elapsed + interval
        return text(done: done, elapsed: elapsed)
    }

    private func text(done: Int, elapsed: Duration) -> String {
        let share = Int(100 * Double(done) / Double(total))
        let remaining = elapsed.seconds / Double(done) * Double(total - done)
        return "\(share) %, \(done.grouped) of \(total.grouped) \(unit), about \(Self.rough(remaining)) left"
    }

    /// Returns whole seconds, from two minutes on whole minutes.
    private static func rough(_ seconds: Double) -> String {
        seconds < 120 ? "\(Int(seconds.rounded(.up))) s" : "\(Int((seconds / 60).rounded())) min"
    }
}
