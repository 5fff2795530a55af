// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// What a run amounts to, and why.
struct Judgement: Hashable {
    let verdict: RunResult.Verdict
    /// A sentence each; none if it passed.
    let reasons: [String]

    init(
        _ measurements: LoadMeasurements, _ plan: LoadPlan, _ thresholds: [RunResult.Threshold], wasInterrupted: Bool
    ) {
        let missed = thresholds.filter { !$0.met }.map(\.text)
        let late = measurements.keptSchedule(of: plan) ? [] : Self.lateness(measurements, plan)
        if wasInterrupted {
            verdict = .interrupted
            reasons = ["the run was ended early"] + late + missed
        } else if !late.isEmpty {
            verdict = .generatorOverloaded
            reasons = late + missed
        } else {
            verdict = missed.isEmpty ? .passed : .thresholdMissed
            reasons = missed
        }
    }

    private static func lateness(_ measurements: LoadMeasurements, _ plan: LoadPlan) -> [String] {
        let remedy = "use more --workers, a lower rate, or a machine with less to do"
        var reasons: [String] = []
        if measurements.isLate(plan.limits) {
            reasons.append(
                "\((100 * measurements.lateShare).fourDigits) % of the requests were sent more than "
                    + "\(plan.limits.late.milliseconds.fourDigits) ms late by the generator itself: \(remedy)")
        }
        if measurements.isExhausted(plan) {
            let busy = (100 * min(1, measurements.busyShare(workers: plan.workers))).fixed(0)
            reasons.append(
                "the generator was busy, or waited for a core, \(busy) % of the time and fell behind: \(remedy)")
        }
        return reasons
    }
}

extension RunResult.Verdict {
    /// The exit status that stands for it.
    var exitStatus: Int32 {
        switch self {
        case .passed: 0
        case .thresholdMissed: 99
        case .generatorOverloaded: 98
        case .interrupted: 130
        }
    }
}
