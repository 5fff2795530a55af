// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// The seconds of a run that count: whole ones, after the warm-up and before the last request was due.
struct MeasuredSeconds: Sendable {
    /// Numbered from the end of the warm-up.
    let seconds: [RunResult.Second]

    init(_ result: RunResult) {
        let start = Int(result.plan.warmupSeconds.rounded(.up))
        // A run that was measured for 29.999 s has thirty seconds.
        let end = result.lastDue + 0.05
        seconds = result.timeline.filter { $0.second >= start && Double($0.second + 1) <= end }.map { second in
            var moved = second
            moved.second -= start
            return moved
        }
    }

    /// The seconds in which there was something to measure.
    func values(_ figure: (RunResult.Second) -> Double?) -> [Int: Double] {
        Dictionary(seconds.compactMap { second in figure(second).map { (second.second, $0) } }) { first, _ in first }
    }
}

extension RunResult.Second {
    /// Of the requests that ended in this second; nil if none did.
    func share(of count: Int) -> Double? {
        let all = answered + failed + shed
        return all > 0 ? Double(count) / Double(all) : nil
    }
}
