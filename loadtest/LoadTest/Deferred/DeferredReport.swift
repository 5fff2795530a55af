// SPDX-License-Identifier: Apache-2.0

/// The results of `deferred`.
struct DeferredReport: Hashable, Sendable, Encodable {
    let requests: Int
    /// Answers by status; `none` counts requests without an answer.
    let answers: [String: Int]
    let answersPerSecond: Double
    let outageSeconds: Double
    let waiting: Int
    /// From Apple's return until no job waited; nil if some still do.
    let drainSeconds: Double?
    let boundSeconds: Double
    let jobsPerSecond: Double?
    let budget: Int
    let maximumCallsPerSecond: Int
    let kills: Int
    let checkedJobs: Int
    let residentBytes: Int
    let redisBytesPerJob: Int
    /// In milliseconds: the request, attempts during the outage, and the last attempt. Nil if gateways were killed.
    let cpuPerJob: Double?
    let environment: RunResult.Environment
    /// The broken promises; none if the run passed.
    let problems: [String]

    var passed: Bool { problems.isEmpty }
}

extension DeferredReport {
    init(_ outcome: DeferredOutcome, _ plan: DeferredPlan) {
        let jobs = Double(max(1, outcome.waiting))
        requests = plan.jobs
        var answers = Dictionary(uniqueKeysWithValues: outcome.statuses.map { ("\($0)", $1) })
        if outcome.unanswered > 0 { answers["none"] = outcome.unanswered }
        self.answers = answers
        let count = outcome.statuses.values.reduce(0, +)
        answersPerSecond = (Double(count) / max(0.001, outcome.postingSeconds)).rounded(toDecimals: 0)
        outageSeconds = outcome.outageSeconds.rounded(toDecimals: 1)
        waiting = outcome.waiting
        drainSeconds = outcome.drainSeconds?.rounded(toDecimals: 1)
        boundSeconds = plan.boundSeconds(waiting: outcome.waiting).rounded(toDecimals: 1)
        jobsPerSecond = outcome.drainSeconds.map { (jobs / max(0.001, $0)).rounded(toDecimals: 1) }
        (budget, maximumCallsPerSecond) = (plan.budget, outcome.meter.maximumPerSecond)
        (kills, checkedJobs) = (outcome.kills, outcome.checked)
        residentBytes = outcome.residentBytes
        redisBytesPerJob = outcome.redisBytes / max(1, outcome.waiting)
        cpuPerJob = outcome.cpuSeconds.map { (1000 * $0 / jobs).rounded(toDecimals: 3) }
        environment = .current()
        problems = Self.problems(outcome, plan)
    }

    private static func problems(_ outcome: DeferredOutcome, _ plan: DeferredPlan) -> [String] {
        let refused = outcome.statuses.filter { ![200, 202].contains($0.key) }.values.reduce(0, +)
        let accepted = outcome.statuses[202] ?? 0, bound = plan.boundSeconds(waiting: outcome.waiting)
        let isLate = outcome.drainSeconds.map { $0 > bound } ?? true
        let faults: [(Bool, String)] = [
            (outcome.unanswered > 0, "\(outcome.unanswered.grouped) requests got no answer"),
            (refused > 0, "\(refused.grouped) requests were answered neither 200 nor 202"),
            (accepted == 0, "no request was deferred"),
            (
                outcome.waiting != accepted,
                "\(accepted.grouped) requests were answered 202, and \(outcome.waiting.grouped) jobs waited"
            ),
            (outcome.left > 0, "\(outcome.left.grouped) jobs still wait"),
            (isLate, "the jobs were not done within \(bound.significant) s of Apple's return"),
            (outcome.meter.isExceeded, "the requests to Apple exceeded the budget of \(plan.budget) per second"),
            (outcome.wrong > 0, "\(outcome.wrong) of \(outcome.checked) jobs ended without Apple's verdict"),
            (accepted > 0 && outcome.checked == 0, "no result was read"),
        ]
        return faults.filter(\.0).map(\.1)
    }
}

extension DeferredReport {
    var text: String {
        let time = drainSeconds.map { "done \($0.significant) s after Apple's return" } ?? "not done"
        let head =
            "\(passed ? "PASSED" : "FAILED")  \(waiting.grouped) jobs \(time), bound \(boundSeconds.significant) s"
        return ([head] + problems.map { "  " + $0 } + ["", table]).joined(separator: "\n")
    }

    private var table: String {
        let statuses = answers.sorted { $0.key < $1.key }.map { "\($0.value.grouped) x \($0.key)" }
        var rows = [
            ["answers during the outage", statuses.joined(separator: ", ")],
            ["answers/s", answersPerSecond.asRate],
            ["outage", "\(outageSeconds.significant) s"],
            ["jobs done/s", jobsPerSecond?.significant ?? "–"],
            ["requests to Apple in a second, maximum", "\(maximumCallsPerSecond.grouped) of \(budget.grouped)"],
            ["results read", checkedJobs.grouped],
            ["memory of a gateway, maximum", "\((residentBytes >> 20).grouped) MiB"],
            ["Redis per job", "\(redisBytesPerJob.grouped) bytes"],
            ["CPU per job", cpuPerJob.map { "\($0.significant) ms" } ?? "–"],
        ]
        if kills > 0 { rows.append(["gateways killed", kills.grouped]) }
        return AlignedTable(header: ["measurement", "value"], rows: rows).text
    }
}

/// The observations of a run of `deferred`.
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
}
