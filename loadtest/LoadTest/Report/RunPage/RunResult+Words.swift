// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

extension RunResult {
    /// The verdict in a few words: `Passed: all 2 thresholds were met`.
    var headline: String {
        let missed = thresholds.count { !$0.met }, all = thresholds.count
        return switch verdict {
        case .passed where all == 0: "Passed: it had no threshold"
        case .passed: all == 1 ? "Passed: its threshold was met" : "Passed: all \(all) thresholds were met"
        case .thresholdMissed: "Failed: \(missed) of \(all) thresholds missed"
        case .generatorOverloaded: "No verdict: the generator could not keep up"
        case .interrupted: "Interrupted after \(durationSeconds.rounded(toDecimals: 2).plain) seconds"
        }
    }

    /// `2,000 requests per second for 30 s, in an open loop, against http://…`.
    var sentence: String {
        let seconds = (plan.seconds ?? durationSeconds).rounded(toDecimals: 2).plain
        let loop = plan.loop == .open ? "in an open loop" : "in a closed loop"
        return
            "\(plan.load) for \(seconds) s, \(loop) over \(plan.connections.grouped) connections, against \(plan.url)."
    }
}

extension RunResult.Plan {
    /// The rate in words.
    var load: String {
        guard loop == .open, let first = stages.first else { return "As fast as it was answered" }
        let rates = stages.flatMap { [$0.fromPerSecond, $0.toPerSecond] }
        if rates.allSatisfy({ $0 == first.fromPerSecond }) { return "\(first.fromPerSecond.plain) requests per second" }
        return "\((rates.min() ?? 0).plain) to \((rates.max() ?? 0).plain) requests per second"
    }
}
