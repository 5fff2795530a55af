// SPDX-License-Identifier: Apache-2.0

struct DeferredOutcome: Hashable, Sendable {
    /// The answers to the requests by their statuses, and the requests without an answer.
    var statuses: [Int: Int] = [:]
    var unanswered = 0
    /// The time for posting alone.
    var postingSeconds = 0.0
    /// From the first request to Apple's return.
    var outageSeconds = 0.0
    /// The jobs in Redis at Apple's return, and at the end.
    var waiting = 0
    var left = 0
    /// From Apple's return until no job waited; nil if some still do.
    var drainSeconds: Double?
    var meter = CallMeter(budget: 1)
    var kills = 0
    /// The memory of the largest gateway, at its maximum.
    var residentBytes = 0
    /// The growth of Redis by all jobs.
    var redisBytes = 0
    /// The CPU of the gateways for all jobs; nil if some were killed, whose CPU is unknown.
    var cpuSeconds: Double?
    /// The jobs whose result was read, and the jobs among them without Apple's verdict.
    var checked = 0
    var wrong = 0

    /// Returns the figures, with the promises of the gateway as their targets.
    func report(_ plan: DeferredCommand) -> FigureReport {
        var report = FigureReport(title: "Deferred verifications")
        let accepted = statuses[202] ?? 0, answered = statuses.values.reduce(0, +), jobs = Double(max(1, waiting))
        report.add("requests deferred (202)", Double(accepted), "", .atLeast(1))
        report.addFaults("requests without an answer", unanswered)
        report.addFaults("answers other than 200 and 202", answered - accepted - (statuses[200] ?? 0))
        report.addFaults("requests deferred beside jobs that waited, difference", abs(accepted - waiting))
        report.addFaults("jobs left at the end", left)
        report.add(
            "time until no job waited", drainSeconds ?? plan.limitSeconds(waiting: waiting), "s",
            .atMost(plan.boundSeconds(waiting: waiting)))
        report.add(
            "requests to Apple at once, beyond the budget of \(plan.budget) per second", meter.maximumBurst, "",
            .atMost(meter.permittedBurst))
        report.add("results read", Double(checked), "", .atLeast(1))
        report.addFaults("results without Apple's verdict", wrong)
        for (status, count) in statuses.sorted(by: { $0.key < $1.key }) {
            report.add("answers \(status) during the outage", Double(count), "")
        }
        report.add("answers", Double(answered) / max(0.001, postingSeconds), "/s")
        report.add("outage", outageSeconds, "s")
        report.add("jobs that waited at Apple's return", Double(waiting), "")
        if let drainSeconds { report.add("jobs done", jobs / max(0.001, drainSeconds), "/s") }
        report.add("requests to Apple in a second, maximum", Double(meter.maximumPerSecond), "")
        report.add("memory of a gateway, maximum", Double(residentBytes) / 1_048_576, "MiB")
        report.add("Redis per job", Double(redisBytes) / jobs, "bytes")
        if let cpuSeconds { report.add("CPU per job", 1000 * cpuSeconds / jobs, "ms") }
        if kills > 0 { report.add("gateways killed", Double(kills), "") }
        return report
    }
}
