// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

extension LoadMeasurements {
    /// Answers per second, those of 429 not among them.
    var answersPerSecond: Double? { seconds > 0 ? Double(counts.answered) / seconds : nil }

    /// The share of requests that their worker took up late.
    var lateShare: Double { counts.intended > 0 ? Double(counts.late) / Double(counts.intended) : 0 }

    /// Processor time of the workers, as a share of a core for each.
    func cpuShare(workers: Int) -> Double { seconds > 0 ? cpuSeconds / seconds / Double(workers) : 0 }

    /// Whether requests were taken up when they were due.
    func keptSchedule(_ limits: GeneratorLimits) -> Bool { lateShare <= limits.maximumLateShare }
}
