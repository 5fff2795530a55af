// SPDX-License-Identifier: Apache-2.0

import Foundation
import ReceiptForge

@testable import LoadTest

/// Results as a run writes them, of a server that does not exist: near-cache hits, some questions to Apple, and a Redis that
/// may be away for a while.
struct SampleRun {
    var seconds = 30
    var warmup = 3
    var perSecond = 300
    var seed: UInt64 = 1
    /// All times, multiplied.
    var slowness = 1.0
    /// The second in which Redis becomes unavailable, for three seconds.
    var outage: Int?
    /// From a tenth of the rate up to it.
    var isRamp = false
    /// As a closed loop: nothing was due.
    var isClosed = false
    var thresholds: [RunResult.Threshold] = [
        RunResult.Threshold(expression: "p99<90ms", measured: 61.25, unit: "ms", met: true)
    ]

    func result() -> RunResult {
        var simulation = Simulation(self)
        for second in 0..<(warmup + seconds) { simulation.pass(second) }
        return simulation.result()
    }
}

private struct Simulation {
    private let run: SampleRun
    private var random: SplitMix64
    private var timeline: [RunResult.Second] = []
    private var response: [Double] = [], service: [Double] = [], lags: [Double] = []
    private var byOutcome: [String: [Double]] = [:]

    private static let services = [
        "hit_near": 0.22, "hit_shared": 0.9, "local": 0.6, "upstream": 38.0, "stale": 1.1, "shed": 0.12, "error": 60,
    ]

    init(_ run: SampleRun) {
        self.run = run
        random = SplitMix64(seed: run.seed)
    }

    mutating func pass(_ second: Int) {
        let total = Double(run.warmup + run.seconds)
        let target = Double(run.perSecond) * (run.isRamp ? 0.1 + 0.9 * Double(second) / total : 1)
        let isOut = run.outage.map { ($0..<($0 + 3)).contains(second) } ?? false
        var row = RunResult.Second(second: second, target: run.isClosed ? nil : target), waits: [Double] = []
        for _ in 0..<Int(target) {
            let outcome = outcome(isOut)
            let service = (Self.services[outcome] ?? 1) * run.slowness * exp(gauss() * 0.35)
            let wait = service + (isOut ? 12 : 0.05) * -log(1 - Double.random(in: 0..<1, using: &random))
            waits.append(wait)
            row.outcomes[outcome, default: 0] += 1
            if second >= run.warmup { keep(outcome, wait, service) }
        }
        count(&row, waits.sorted())
        timeline.append(row)
    }

    private mutating func count(_ row: inout RunResult.Second, _ waits: [Double]) {
        let lag = (gauss() * 0.01).magnitude + 0.02
        lags.append(lag)
        (row.sent, row.shed, row.failed) = (waits.count, row.outcomes["shed"] ?? 0, row.outcomes["error"] ?? 0)
        row.answered = row.sent - row.shed - row.failed
        (row.p50Ms, row.p90Ms) = (Self.percentile(50, waits), Self.percentile(90, waits))
        (row.p99Ms, row.maxMs, row.sendLagP99Ms) = (Self.percentile(99, waits), waits.last, lag)
    }

    private mutating func keep(_ outcome: String, _ wait: Double, _ service: Double) {
        response.append(wait)
        self.service.append(service)
        byOutcome[outcome, default: []].append(wait)
    }

    private mutating func outcome(_ isOut: Bool) -> String {
        let draw = Double.random(in: 0..<1, using: &random)
        if isOut, draw > 0.7 { return draw < 0.85 ? "stale" : draw < 0.93 ? "shed" : "error" }
        return draw < 0.75 ? "hit_near" : draw < 0.86 ? "hit_shared" : draw < 0.95 ? "local" : "upstream"
    }

    private mutating func gauss() -> Double {
        let (first, second) = (Double.random(in: 0..<1, using: &random), Double.random(in: 0..<1, using: &random))
        return (-2 * log(1 - first)).squareRoot() * cos(2 * .pi * second)
    }

    static func percentile(_ percent: Double, _ sorted: [Double]) -> Double? {
        sorted.isEmpty
            ? nil : sorted[max(0, min(sorted.count - 1, Int((percent / 100 * Double(sorted.count)).rounded(.up)) - 1))]
    }

    static func distribution(_ values: [Double]) -> RunResult.Distribution {
        let sorted = values.sorted()
        guard let first = sorted.first, let last = sorted.last else { return RunResult.Distribution() }
        func at(_ percent: Double) -> Double? { percentile(percent, sorted) }
        let depth = Int(log10(Double(sorted.count)) * 20)
        let percents = (0..<max(1, depth)).map { 100 - 100 * pow(10, -Double($0) / 20) } + [100]
        return RunResult.Distribution(
            count: sorted.count, meanMs: sorted.reduce(0, +) / Double(sorted.count), minMs: first, maxMs: last,
            p50Ms: at(50), p75Ms: at(75), p90Ms: at(90), p95Ms: at(95), p99Ms: at(99), p99_9Ms: at(99.9),
            p99_99Ms: at(99.99), percentiles: percents.map { RunResult.Point(x: $0, y: at($0) ?? 0) })
    }

    func result() -> RunResult {
        let measured = timeline.dropFirst(run.warmup)
        let sent = measured.map(\.sent).reduce(0, +), answered = measured.map(\.answered).reduce(0, +)
        let failed = measured.map(\.failed).reduce(0, +), shed = measured.map(\.shed).reduce(0, +)
        let totals = RunResult.Totals(
            intended: sent, sent: sent, answered: answered, failed: failed, shed: shed, unanswered: 0,
            targetPerSecond: run.isClosed ? nil : Double(run.perSecond),
            achievedPerSecond: Double(answered) / Double(max(1, run.seconds)), sentBytes: sent * 8300,
            receivedBytes: sent * 3200)
        return RunResult(
            verdict: run.thresholds.allSatisfy(\.met) ? .passed : .thresholdMissed,
            startedAt: RunResult.Moment(secondsSince1970: 1_795_285_592), durationSeconds: Double(run.seconds),
            plan: plan,
            environment: Self.environment,
            generator: RunResult.Generator(
                keptSchedule: true, sendLag: Self.distribution(lags), lateSends: 3, cpuSeconds: 4.25, cpuShare: 0.178),
            totals: totals, response: Self.distribution(response), service: Self.distribution(service),
            outcomes: byOutcome.sorted { ($1.value.count, $0.key) < ($0.value.count, $1.key) }.map {
                RunResult.Outcome(outcome: $0.key, count: $0.value.count, response: Self.distribution($0.value))
            },
            statuses: ["200": answered, "429": shed, "503": failed].filter { $0.value > 0 }, timeline: timeline,
            marks: run.outage.map { [RunResult.Mark(atSeconds: Double($0), text: "kill redis")] } ?? [],
            metrics: metrics, thresholds: run.thresholds)
    }

    private var plan: RunResult.Plan {
        let rate = Double(run.perSecond)
        return RunResult.Plan(
            name: "sample", description: "A server that does not exist.", url: "http://127.0.0.1:8080/v1/verify",
            loop: run.isClosed ? .closed : .open, arrival: .poisson,
            stages: run.isClosed
                ? []
                : [
                    RunResult.Stage(
                        fromPerSecond: run.isRamp ? rate / 10 : rate, toPerSecond: rate, seconds: Double(run.seconds))
                ],
            warmupSeconds: Double(run.warmup), connections: 64, workers: 2, keys: 1000, zipf: 1.05,
            mix: ["repeat": 0.9, "fresh": 0.06, "forged": 0.04], seed: run.seed, timeoutMs: 1000)
    }

    private static let environment = RunResult.Environment(
        version: "0.1.0",
        arguments: ["receipt-loadtest", "http", "http://127.0.0.1:8080/v1/verify", "--mark", "8s=kill redis"],
        cpu: "Some Processor 9000", cores: 2, allowedCores: [1], kernel: "Linux 6.1.0", memoryBytes: 8_340_000_000)

    private var metrics: [RunResult.Series] {
        var hits = 0.0
        let counted = timeline.map { row in
            hits += Double(row.outcomes["hit_near"] ?? 0)
            return RunResult.Point(x: Double(row.second) + 0.3, y: hits)
        }
        let memory = timeline.map { RunResult.Point(x: Double($0.second) + 0.3, y: 48e6 + 2e5 * Double($0.second)) }
        return [
            RunResult.Series(
                name: "gateway_cache_lookups_total", labels: ["cache": "near"], kind: .counter, points: counted),
            RunResult.Series(
                name: "gateway_cache_lookups_total", labels: ["cache": "shared"], kind: .counter, points: counted),
            RunResult.Series(name: "process_resident_memory_bytes", kind: .gauge, unit: "bytes", points: memory),
        ]
    }
}

extension SampleRun {
    /// Nothing happened: not a request was sent.
    static var empty: RunResult {
        var result = SampleRun(seconds: 0, warmup: 0, thresholds: []).result()
        result.timeline = []
        result.metrics = []
        result.thresholds = [RunResult.Threshold(expression: "p99<1ms", measured: nil, unit: "ms", met: false)]
        result.verdict = .interrupted
        return result
    }

    /// A result with the same text wherever there is one.
    static func saying(_ text: String) -> RunResult {
        var result = SampleRun(seconds: 3, warmup: 1, perSecond: 40).result()
        result.verdictReasons = [text]
        (result.plan.name, result.plan.description, result.plan.url) = (text, text, text)
        result.plan.mix = [text: 1]
        result.environment = RunResult.Environment(
            version: text, arguments: [text, text], cpu: text, cores: 1, allowedCores: [0],
            kernel: text,
            memoryBytes: 1)
        result.outcomes[0].outcome = text
        (result.statuses, result.errors) = ([text: 1], [text: 2])
        result.timeline[2].outcomes = [text: 3]
        result.marks = [RunResult.Mark(atSeconds: 1, text: text)]
        result.metrics = [
            RunResult.Series(
                name: text, labels: [text: text], kind: .gauge, unit: text, points: [RunResult.Point(x: 1, y: 1)]),
            RunResult.Series(
                name: text, labels: [text: "another"], kind: .gauge, unit: text, points: [RunResult.Point(x: 1, y: 2)]),
        ]
        result.thresholds = [RunResult.Threshold(expression: text, measured: 1, unit: text, met: true)]
        return result
    }
}
