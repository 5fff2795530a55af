// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser
internal import Foundation

/// Builds the result of a run, second by second.
struct RunRecord {
    let plan: LoadPlan
    let description: RunResult.Plan
    let startedAt = RunResult.Moment.now
    private(set) var timeline: [RunResult.Second] = []

    mutating func add(_ slice: SecondSlice) -> RunResult.Second {
        let second = RunResult.Second(slice, target: plan.target(inSecond: slice.second))
        // No more than a day's.
        if timeline.count < RunResultLimits.seconds { timeline.append(second) }
        return second
    }

    func result(_ measurements: LoadMeasurements, _ extras: Extras, wasInterrupted: Bool) -> RunResult {
        var thresholds = extras.thresholds.map { $0.check(measurements, counts: extras.counts) } + extras.checked
        let useful = UsefulAnswers(mix: description.mix, requests: measurements.counts.intended, url: plan.target.url)
        let useless = useful.missed(by: measurements, beside: extras.thresholds)
        if let useless { thresholds.append(useless.threshold) }
        let judgement = Judgement(
            measurements, plan, thresholds, hint: useless?.hint, wasInterrupted: wasInterrupted)
        return RunResult(
            verdict: judgement.verdict, verdictReasons: judgement.reasons, startedAt: startedAt,
            durationSeconds: measurements.seconds.rounded(toDecimals: 3), plan: description,
            environment: .current(), generator: generator(measurements),
            totals: totals(measurements, wasInterrupted: wasInterrupted),
            response: .init(measurements.response), service: .init(measurements.service),
            outcomes: outcomes(measurements),
            statuses: Dictionary(uniqueKeysWithValues: measurements.statuses.map { (String($0), $1) }),
            errors: Dictionary(uniqueKeysWithValues: measurements.failures.map { ($0.rawValue, $1) }),
            timeline: timeline, marks: extras.marks, metrics: extras.metrics, thresholds: thresholds)
    }

    /// The parts of a result that the generator does not measure.
    struct Extras {
        var thresholds: [Threshold] = []
        var counts: [ScenarioCount: Int] = [:]
        var checked: [RunResult.Threshold] = []
        var marks: [RunResult.Mark] = []
        var metrics: [RunResult.Series] = []
    }

    private func generator(_ measurements: LoadMeasurements) -> RunResult.Generator {
        RunResult.Generator(
            keptSchedule: measurements.keptSchedule(of: plan), sendLag: .init(measurements.sendLag),
            lateSends: measurements.counts.late, cpuSeconds: measurements.cpuSeconds.rounded(toDecimals: 3),
            cpuShare: measurements.cpuShare(workers: plan.workers).rounded(toDecimals: 3))
    }

    private func totals(_ measurements: LoadMeasurements, wasInterrupted: Bool) -> RunResult.Totals {
        let counts = measurements.counts
        // What was due later is no part of a run that was ended early.
        let seconds = wasInterrupted ? min(plan.seconds, measurements.seconds) : plan.seconds
        let target = plan.isClosed || seconds <= 0 ? nil : Double(counts.intended) / seconds
        return RunResult.Totals(
            intended: counts.intended, sent: counts.sent, answered: counts.answered, failed: counts.failed,
            shed: counts.shed, unanswered: counts.sent - counts.answered - counts.failed - counts.shed,
            targetPerSecond: target?.rounded(toDecimals: 3),
            achievedPerSecond: (measurements.answersPerSecond ?? 0).rounded(toDecimals: 3),
            sentBytes: counts.sentBytes, receivedBytes: counts.receivedBytes)
    }

    private func outcomes(_ measurements: LoadMeasurements) -> [RunResult.Outcome] {
        LoadOutcome.allCases.filter { measurements.counts[$0] > 0 }
            .map { outcome in
                RunResult.Outcome(
                    outcome: outcome.rawValue, count: measurements.counts[outcome],
                    response: .init(measurements.byOutcome[outcome.index]))
            }
            .sorted { $0.count > $1.count }
    }
}

extension LoadPlan {
    /// Returns the number of requests due in a second, warm-up included; nil in a closed loop.
    func target(inSecond second: Int) -> Double? {
        guard !isClosed else { return nil }
        let start = Double(second), end = start + 1
        let warm = max(0, min(end, warmupSeconds) - start) * schedule.first
        let (from, to) = (start - warmupSeconds, min(end - warmupSeconds, seconds))
        guard to > 0 else { return warm.rounded(toDecimals: 3) }
        return (warm + max(0, schedule.curve.count(by: to) - schedule.curve.count(by: max(0, from)))).rounded(
            toDecimals: 3)
    }
}

extension RunResult.Second {
    init(_ slice: SecondSlice, target: Double?) {
        let counts = slice.counts, at = slice.response.figure
        let counted = LoadOutcome.allCases.filter { counts[$0] > 0 }.map { ($0.rawValue, counts[$0]) }
        self.init(
            second: slice.second, target: target, sent: counts.sent, answered: counts.answered, failed: counts.errors,
            shed: counts.shed, p50Ms: at(50), p90Ms: at(90), p99Ms: at(99), maxMs: at(100),
            sendLagP99Ms: slice.sendLag.figure(99),
            outcomes: Dictionary(uniqueKeysWithValues: counted))
    }
}

extension Latencies {
    /// Returns a percentile in milliseconds, as results have it.
    fileprivate func figure(_ percentile: Double) -> Double? {
        milliseconds(atPercentile: percentile)?.rounded(toDecimals: 4)
    }
}

extension RunResult.Distribution {
    init(_ latencies: Latencies) {
        self.init()
        count = latencies.count
        guard count > 0 else { return }
        let at = latencies.figure
        meanMs = latencies.mean?.rounded(toDecimals: 4)
        minMs = latencies.shortest?.rounded(toDecimals: 4)
        maxMs = at(100)
        p50Ms = at(50)
        p75Ms = at(75)
        p90Ms = at(90)
        p95Ms = at(95)
        p99Ms = at(99)
        p99_9Ms = at(99.9)
        p99_99Ms = at(99.99)
        percentiles = Self.ladder(count).map { RunResult.Point(x: $0, y: at($0) ?? 0) }
    }

    /// Returns percentiles that each halve the rest in five steps, down to a rest of one value.
    static func ladder(_ count: Int) -> [Double] {
        let steps = (0...Self.lastStep).map { 100 * (1 - pow(0.5, Double($0) / 5)) }
        return steps.filter { (100 - $0) / 100 * Double(count) >= 1 }.map { $0.rounded(toDecimals: 6) }
    }

    private static let lastStep = 85
}

extension RunResult.Environment {
    static func current() -> RunResult.Environment {
        RunResult.Environment(
            version: ReceiptLoadtest.configuration.version,
            arguments: withoutSecrets(CommandLine.arguments), cpu: KernelFile("/proc/cpuinfo")["model name"],
            cores: sysconf(Int32(_SC_NPROCESSORS_CONF)),
            allowedCores: allowedCores(KernelFile("/proc/self/status")),
            kernel: KernelFile("/proc/sys/kernel/osrelease").text.trimmingCharacters(in: .newlines),
            memoryBytes: KernelFile("/proc/meminfo").bytes("MemTotal") ?? 0)
    }

    /// Replaces values of header fields and keys, which may be secret.
    static func withoutSecrets(_ arguments: [String]) -> [String] {
        var hidesNext = false
        return arguments.map { argument in
            defer { hidesNext = ["-H", "--header", "--api-key"].contains(argument) }
            if hidesNext { return "..." }
            if argument.hasPrefix("-H") && argument.count > 2 { return "-H..." }
            for option in ["--header=", "--api-key="] where argument.hasPrefix(option) { return option + "..." }
            return argument
        }
    }

    /// Reads `Cpus_allowed_list:       0-3,6`.
    static func allowedCores(_ status: KernelFile) -> [Int] {
        status["Cpus_allowed_list"].split(separator: ",").flatMap { range in
            let ends = range.split(separator: "-").compactMap { Int($0) }
            guard let first = ends.first, let last = ends.last, first <= last, last < 4096 else { return [Int]() }
            return Array(first...last)
        }
    }
}

/// A text of the kernel's, most often with lines of the form `name: value` (proc(5)).
struct KernelFile {
    let text: String

    /// The value of the first line with a name; empty without such a line.
    subscript(_ name: String) -> String {
        let line = text.split(separator: "\n").first { $0.hasPrefix(name) } ?? ""
        return line.drop { $0 != ":" }.dropFirst().trimmingCharacters(in: .whitespaces)
    }

    /// Returns an amount of memory such as `2204 kB`, where kB stands for 1024 bytes.
    func bytes(_ name: String) -> Int? { Int(self[name].prefix { $0 != " " }).map { $0 * 1024 } }
}

extension KernelFile {
    /// Reads a file; an unreadable file is empty.
    init(_ path: String) {
        self.init(text: (try? String(contentsOfFile: path, encoding: .utf8)) ?? "")
    }
}
