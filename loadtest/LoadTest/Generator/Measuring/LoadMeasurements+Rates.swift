// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

extension LoadMeasurements {
    /// Answers per second, those of 429 not among them.
    var answersPerSecond: Double? { seconds > 0 ? Double(counts.answered) / seconds : nil }

    /// The share of requests that their worker took up late.
    var lateShare: Double { counts.intended > 0 ? Double(counts.late) / Double(counts.intended) : 0 }

    /// Processor time of the workers, as a share of a core for each.
    func cpuShare(workers: Int) -> Double { seconds > 0 ? cpuSeconds / seconds / Double(workers) : 0 }

    /// The share of the time in which the workers worked, or would have if others had left them a core.
    func busyShare(workers: Int) -> Double {
        seconds > 0 ? (cpuSeconds + readySeconds) / seconds / Double(workers) : 0
    }

    /// Whether requests were taken up when they were due, and the workers had room to do so.
    func keptSchedule(of plan: LoadPlan) -> Bool {
        plan.isClosed || !(isLate(plan.limits) || isExhausted(plan))
    }

    /// Too many were taken up too late, and not by little beside the latencies that were measured.
    func isLate(_ limits: GeneratorLimits) -> Bool {
        guard lateShare > limits.maximumLateShare else { return false }
        guard let lag = sendLag.milliseconds(atPercentile: 99), let wait = response.milliseconds(atPercentile: 99)
        else {
            return true
        }
        return lag > limits.maximumLagShare * wait
    }

    /// The workers were busy all the time and fell behind: whose fault slow answers are cannot be told.
    func isExhausted(_ plan: LoadPlan) -> Bool {
        let done = counts.answered + counts.shed + counts.failed
        let isBehind =
            Double(done) < plan.limits.minimumDoneShare * Double(counts.intended)
            || seconds > plan.seconds / plan.limits.minimumDoneShare
        return isBehind && busyShare(workers: plan.workers) > plan.limits.maximumBusyShare
    }
}
