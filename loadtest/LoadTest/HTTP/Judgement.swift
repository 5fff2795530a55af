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
        let late = measurements.keptSchedule(plan.limits) ? [] : [Self.lateness(measurements, plan.limits)]
        if wasInterrupted {
            (verdict, reasons) = (.interrupted, ["the run was ended early"] + late + missed)
        } else if !late.isEmpty {
            (verdict, reasons) = (.generatorOverloaded, late + missed)
        } else {
            (verdict, reasons) = (missed.isEmpty ? .passed : .thresholdMissed, missed)
        }
    }

    private static func lateness(_ measurements: LoadMeasurements, _ limits: GeneratorLimits) -> String {
        "\((100 * measurements.lateShare).significant) % of the requests were sent more than "
            + "\(limits.late.milliseconds.significant) ms late by the generator itself: use more --workers, a lower rate, or "
            + "a machine with less to do"
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
