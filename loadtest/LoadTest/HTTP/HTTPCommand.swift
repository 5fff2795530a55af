// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser

struct HTTPCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "http",
        abstract: "Load-test a running gateway, or any HTTP server.",
        discussion: """
            Requests are sent when they are due, whether or not earlier ones are answered (an open loop), and latency is \
            counted from then: a server that stalls gets no fewer requests, and the wait is not hidden. Beside it stands the \
            service time, counted from the actual sending. The generator says whether it kept its schedule.

            Examples:

              receipt-loadtest http --root root.pem
              GATEWAY_TRUST_ROOTS=root.pem receipt-gateway serve
              receipt-loadtest http http://127.0.0.1:8080 -R 5000 -d 30s
              receipt-loadtest http http://127.0.0.1:8080 --stages 10s:1000,30s:5000 \\
                --mix repeat=0.9,fresh=0.05,forged=0.05 --zipf 1 \\
                --threshold 'p99<25ms' --threshold 'errors<0.1%' -o run.json
              receipt-loadtest http http://127.0.0.1:8080 --corpus receipts \\
                --mix notification=0.9,duplicate-notification=0.1
              receipt-loadtest http http://127.0.0.1:8000/ --body post.json -R max
              sed 's,^,http://127.0.0.1:8000,' paths | receipt-loadtest http --urls -

            A run in which no answer was useful misses its threshold 'useful', whatever its other thresholds: all were \
            errors or refusals, or the server took no genuine evidence for genuine. A threshold of your own on that \
            outcome, such as 'rejected>=100%', takes its place.

            Exit status: 0 if no threshold was missed, 99 if a threshold was missed, 98 if the generator could not keep its \
            schedule (the figures are then about the generator), 64 for wrong usage, 130 after ^C, with the summary.
            """)

    @OptionGroup var traffic: TrafficOptions

    @Option(
        name: [.customShort("R"), .long],
        help: .value(
            "rate",
            "Requests per second over all workers (default: 1000), or 'max' for a closed loop: each "
                + "connection sends as soon as its answer is there. With --stages, the rate they begin at (default: "
                + "0)."))
    var rate: RateOption?

    @Option(
        help: .value("time:rate,...", "Rates one after the other, each reached evenly in its time: 10s:1000,30s:5000."))
    var stages: StagesOption?

    @Option(name: .shortAndLong, help: .value("time", "How long to measure (default: 10s)."))
    var duration: TimeSpan?

    @Option(name: [.customShort("n"), .long], help: .value("count", "End after so many requests."))
    var requests: Int?

    @Option(help: .value("time", "Send for so long before measuring, at the first rate."))
    var warmup = TimeSpan(seconds: 0)

    @Option(
        help: .value(
            "p99<25ms",
            "A condition on the run; repeatable. Of p50 to p99.99, mean, max (us, ms, s), errors, rate, "
                + "or the share of an outcome such as shed, rejected or hit_near (%)."))
    var threshold: [Threshold] = []

    @Option(help: .value("30s=text", "An event at a moment of the run, for the report; repeatable."))
    var mark: [RunResult.Mark] = []

    @Option(
        help: .value(
            "url/metrics", "Read these metrics once a second and keep the relevant ones in the result; repeatable."))
    var scrape: [String] = []

    @Option(help: .value("text", "The name of the run in its report."))
    var name: String?

    @Option(help: .value("text", "The purpose of the run."))
    var description: String?

    @Option(name: .shortAndLong, help: .value("file", "Write the whole result as JSON, for 'report' and 'compare'."))
    var output: String?

    @Option(help: "How to print the result on standard output.")
    var format = RunFormat.text

    @Flag(help: "Print a line a second instead of a live view, on a terminal too. NO_COLOR turns colours off.")
    var noTui = false

    @Flag(help: "Send one request, and print it and its answer.")
    var debug = false

    func validate() throws {
        try check(stages == nil || duration == nil, "--stages say how long the run takes; leave out --duration.")
        try check(stages == nil || rate != .max, "--rate max has no --stages.")
        try check((duration?.seconds ?? 1) > 0, "--duration takes more than nothing.")
        try check(requests.map { $0 > 0 } ?? true, "--requests takes at least 1.")
        try check((name ?? "").utf8.count <= 200, "--name takes up to 200 bytes.")
        try check((description ?? "").utf8.count <= 2000, "--description takes up to 2000 bytes.")
        for threshold in threshold {
            if case .count(let count) = threshold.metric {
                throw ValidationError("Only scenarios count \(count.rawValue).")
            }
        }
        _ = try scrapeTargets()
        try check(
            (stages?.curve(from: 0).stages.contains { $0.to > 0 } ?? true) || rate != nil,
            "These --stages send nothing.")
    }

    mutating func run() async throws {
        let listed = try traffic.prepare()
        guard traffic.namesServer else { return }
        ProgressStream.warnOfDebugging()
        let plan = try plan()
        let source = try await Interruptible.run { [traffic] in
            try await traffic.source(requests: plan.expectedRequests, seconds: plan.seconds, listed: listed)
        }
        if debug { return StandardOutput.write(try await transcript(plan, source)) }
        let result = try await measure(plan, source)
        if let output { try result.write(to: output) }
        StandardOutput.write(try format.text(result))
        if result.verdict != .passed { throw ExitCode(result.verdict.exitStatus) }
    }

    func plan() throws -> LoadPlan {
        var plan = try traffic.plan()
        (plan.warmupSeconds, plan.maximumRequests) = (warmup.seconds, requests)
        if rate == .max {
            plan.isClosed = true
            plan.closedSeconds = duration?.seconds ?? (requests == nil ? Self.usualSeconds : Self.noEnd)
            return plan
        }
        plan.schedule = schedule
        return plan
    }

    private var schedule: LoadSchedule {
        let given: Double? = if case .perSecond(let number) = rate { number } else { nil }
        if let stages {
            let first = given ?? stages.steps.first { $0.rate > 0 }?.rate ?? 0
            return LoadSchedule(curve: stages.curve(from: given ?? 0), pattern: traffic.arrival, first: first)
        }
        let rate = given ?? Self.usualRate
        let seconds = duration?.seconds ?? (requests == nil ? Self.usualSeconds : .infinity)
        return .constant(rate, seconds: seconds, traffic.arrival)
    }

    private static let usualRate = 1000.0
    private static let usualSeconds = 10.0
    /// The length of a closed loop that only a number of requests ends: three years.
    private static let noEnd = 1e8

    private func measure(_ plan: LoadPlan, _ source: TrafficSource) async throws -> RunResult {
        let watch = MetricWatch(try scrapeTargets(), trust: traffic.trust)
        try await watch.check()
        let description = traffic.description(of: plan, name: name, description)
        let display = RunDisplay.Options(marks: mark, isQuiet: format == .quiet, isPlain: noTui)
        return try await LoadSession(plan, source).result(description, watching: watch, showing: display) {
            let line = (try? format.line($0)) ?? ""
            if !line.isEmpty { StandardOutput.write(line) }
        } extras: {
            RunRecord.Extras(thresholds: threshold, marks: mark)
        }
    }

    private func transcript(_ plan: LoadPlan, _ source: TrafficSource) async throws -> String {
        var traffic = source.traffic(worker: 0, plan)
        return try await Exchange(target: plan.target, trust: plan.trust, timeout: plan.timeout)
            .transcript(of: traffic.next())
    }

    private func scrapeTargets() throws -> [LoadTarget] {
        try scrape.map { try target($0, "/metrics", option: "--scrape: ") }
    }
}

extension RunResult {
    func write(to path: String) throws {
        try FileError.write(try JSONOutput.of(self) + "\n", to: path)
    }
}

extension LoadPlan {
    /// The number of requests, warm-up included; nil in a closed loop.
    var expectedRequests: Double? {
        guard !isClosed else { return maximumRequests.map(Double.init) }
        let count = min(schedule.curve.count(by: schedule.curve.seconds), maximumRequests.map(Double.init) ?? .infinity)
        return count + warmupSeconds * schedule.first
    }
}

extension TrafficOptions {
    func description(of plan: LoadPlan, name: String? = nil, _ purpose: String? = nil) -> RunResult.Plan {
        RunResult.Plan(
            name: name, description: purpose, url: plan.target.url, loop: plan.isClosed ? .closed : .open,
            arrival: plan.schedule.pattern,
            stages: plan.isClosed
                ? []
                : plan.schedule.curve.stages.map { stage in
                    RunResult.Stage(
                        fromPerSecond: stage.from, toPerSecond: stage.to,
                        seconds: stage.seconds.isFinite ? stage.seconds : plan.seconds.rounded(toDecimals: 3))
                },
            warmupSeconds: plan.warmupSeconds, connections: plan.connections, workers: plan.workers,
            keys: sendsReceipts ? keys : 1, zipf: sendsReceipts ? zipf : 0, mix: sendsReceipts ? mix.byName : [:],
            seed: plan.seed, timeoutMs: timeout.seconds * 1000)
    }
}

extension RunResult.Second {
    var line: String {
        let aim = target.map { " of \($0.asRate)" } ?? ""
        return "\(second + 1) s: \(answered.grouped)\(aim) answers/s, p50 \(p50Ms.millisecondsText), "
            + "p99 \(p99Ms.millisecondsText), max \(maxMs.millisecondsText), failed \(failed.grouped), "
            + "shed \(shed.grouped), send lag p99 \(sendLagP99Ms.millisecondsText)"
    }
}
