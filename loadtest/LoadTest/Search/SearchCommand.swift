// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser
internal import FoundationEssentials

struct SearchCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "search",
        abstract: "Find the highest rate at which a server meets an objective.",
        discussion: """
            Doubles the rate until a threshold is missed, then halves the gap. Each step is a run of its own with an \
            open loop, like a run of 'http': a slow server does not lower the rate. A step in which this program could \
            not hold the rate shows nothing about the server and ends the search.

            Examples:

              receipt-loadtest search http://127.0.0.1:8080 --slo 'p99<25ms,errors<0.1%'
              receipt-loadtest search http://127.0.0.1:8080 --slo 'p99.9<50ms' \\
                --from 2000 --step-duration 10s --precision 2 --format json

            Exit status: 0 if a rate was found, 99 if none meets the objective, 98 if the generator could not hold a \
            rate, 64 for wrong usage, 130 after ^C, with the result so far.
            """)

    @OptionGroup var traffic: TrafficOptions

    @Option(
        help: .value(
            "p99<25ms,...",
            "Thresholds, separated by commas: of p50 to p99.99, mean, max (us, ms, s), errors (%), rate, "
                + "or the share of an outcome. Without one of 'shed', at most 1% may be shed."))
    var slo: ObjectiveOption

    @Option(help: .value("rate", "The first rate."))
    var from = RateOption.perSecond(500)

    @Option(help: .value("rate", "The highest rate."))
    var maxRate = RateOption.perSecond(1_000_000)

    @Option(help: .value("time", "The measured time of each step."))
    var stepDuration = TimeSpan(seconds: 5)

    @Option(help: .value("time", "The warm-up of each step, which is not measured."))
    var warmup = TimeSpan(seconds: 1)

    @Option(help: .value("percent", "The precision of the result."))
    var precision = 5.0

    @Option(help: .value("count", "The highest number of rates tried."))
    var maxSteps = 20

    @Option(help: "The format of the result on standard output.")
    var format = ReportFormat.text

    func validate() throws {
        try check(traffic.namesServer, "The URL of a server is missing, such as http://127.0.0.1:8080.")
        try check(bounds != nil, "--from and --max-rate take numbers, --from the smaller one.")
        try check("--precision", precision, in: 0.1...100)
        try check("--max-steps", maxSteps, in: 1...100)
        try check((0.1...3600).contains(stepDuration.seconds), "--step-duration takes from 100ms to 1h.")
    }

    mutating func run() async throws {
        let listed = try traffic.prepare()
        ProgressStream.warnOfDebugging()
        let report = try await search(listed)
        try format.write(report, or: "\n" + report.conclusion)
        if report.exitStatus != 0 { throw ExitCode(report.exitStatus) }
    }

    private var bounds: (from: Double, to: Double)? {
        guard case .perSecond(let from) = from, case .perSecond(let to) = maxRate, from <= to else { return nil }
        return (from, to)
    }

    private func search(_ listed: [LoadTarget]) async throws -> SearchReport {
        guard let bounds else { throw ExitCode.validationFailure }
        var search = RateSearch(
            from: bounds.from, to: bounds.to, precision: precision / 100, maximumSteps: maxSteps)
        var report = SearchReport(
            url: try traffic.target().url, slo: slo.thresholds.map(\.expression), end: .found)
        let source = try await Interruptible.run { [traffic, stepDuration] in
            try await traffic.source(requests: nil, seconds: stepDuration.seconds, listed: listed)
        }
        var requests = 0
        show(SearchReport.Step.header)
        while let rate = search.next {
            ProgressStream.redraw(progress(of: search, rate))
            let result = try await step(rate, number: search.steps, source, requestsBefore: requests)
            // With the warm-up, so that no fresh receipt is sent twice.
            requests += Int((rate * (stepDuration.seconds + warmup.seconds)).rounded(.up))
            ProgressStream.redraw("")
            report.steps.append(SearchReport.Step(result))
            show(report.steps.last?.line ?? "")
            if let end = Self.end(result) {
                (report.ratePerSecond, report.end) = (search.passed, end)
                return report
            }
            search.tried(rate, passed: result.verdict == .passed)
        }
        (report.ratePerSecond, report.end) = (search.passed, Self.end(search))
        return report
    }

    /// Returns the end of the search if a run shows nothing about the server.
    static func end(_ result: RunResult) -> SearchReport.End? {
        switch result.verdict {
        case .interrupted: .interrupted
        case .generatorOverloaded: .generatorOverloaded
        // Fewer requests would be rejected or refused as well.
        case .thresholdMissed: result.isMistaken ? .nothing : nil
        case .passed: nil
        }
    }

    private static func end(_ search: RateSearch) -> SearchReport.End {
        if search.steps >= search.maximumSteps { return .maximumSteps }
        guard let passed = search.passed else { return .nothing }
        return passed >= search.maximumRate ? .maximumRate : .found
    }

    /// Runs one step, with a seed of its own.
    private func step(
        _ rate: Double, number: Int, _ source: TrafficSource, requestsBefore: Int
    ) async throws -> RunResult {
        var plan = try traffic.plan()
        plan.warmupSeconds = warmup.seconds
        plan.schedule = .constant(rate, seconds: stepDuration.seconds, traffic.arrival)
        plan.seed = traffic.seed &+ UInt64(number)
        return try await LoadSession(plan, source, requestsBefore: requestsBefore)
            .result(traffic.description(of: plan)) { RunRecord.Extras(thresholds: slo.thresholds) }
    }

    /// A line for a terminal; elsewhere, each step has a line of its own.
    private func progress(of search: RateSearch, _ rate: Double) -> String {
        let left = search.remainingSteps.map {
            ", about \(Int(Double($0) * (stepDuration.seconds + warmup.seconds))) s left"
        }
        return "step \(search.steps + 1): \(rate.asRate) requests/s\(left ?? "")"
    }

    private func show(_ line: String) {
        format == .text ? StandardOutput.write(line + "\n") : ProgressStream.write(line + "\n")
    }
}

/// The thresholds of `--slo`.
struct ObjectiveOption: Hashable, Sendable, ExpressibleByArgument {
    let thresholds: [Threshold]

    /// Reads `p99<25ms,errors<0.1%`. Adds a limit of `shed` if there is none: a server that rejects what it cannot answer
    /// meets any other objective.
    init?(argument: String) {
        let parts = argument.split(separator: ",", omittingEmptySubsequences: false).map(String.init)
        let named = parts.compactMap { Threshold(argument: $0) }
        guard named.count == parts.count, !named.contains(where: \.metric.isOfScenarios) else { return nil }
        let limitsShed = named.contains { $0.metric == .share(.shed) }
        thresholds = named + (limitsShed ? [] : [Threshold(argument: "shed<=1%")].compactMap(\.self))
    }
}

/// A search for the highest rate that passes: it doubles the rate until a rate fails, then halves the gap. If the first
/// rate fails, it halves the rate. No rate is tried twice.
struct RateSearch: Hashable, Sendable {
    /// The gap at which the search ends, as a share of the highest rate that passed.
    let precision: Double
    let maximumRate: Double
    let maximumSteps: Int

    /// The highest rate that passed, and the lowest that failed.
    private(set) var passed: Double?
    private(set) var failed: Double?
    private(set) var steps = 0
    private let first: Double

    init(from first: Double, to maximumRate: Double, precision: Double, maximumSteps: Int) {
        self.first = min(first, maximumRate)
        self.maximumRate = maximumRate
        self.precision = precision
        self.maximumSteps = maximumSteps
    }

    /// The next rate; nil if the search is over.
    var next: Double? {
        guard steps < maximumSteps else { return nil }
        switch (passed, failed) {
        case (nil, nil): return first
        case (let passed?, nil): return passed < maximumRate ? min(2 * passed, maximumRate) : nil
        case (nil, let failed?): return failed > Self.minimumRate ? max(Self.minimumRate, (failed / 2).rounded()) : nil
        case (let passed?, let failed?):
            return failed - passed > gap ? ((passed + failed) / 2).rounded() : nil
        }
    }

    /// The gap at which the search ends; rates are whole numbers.
    private var gap: Double { max(1, precision * (passed ?? 0)) }

    /// The approximate number of rates left; nil before a rate has failed.
    var remainingSteps: Int? {
        guard let passed, let failed else { return nil }
        var rest = failed - passed, steps = 0
        while rest > gap, steps + self.steps < maximumSteps { (rest, steps) = (rest / 2, steps + 1) }
        return steps
    }

    mutating func tried(_ rate: Double, passed hasPassed: Bool) {
        steps += 1
        if hasPassed { passed = max(rate, passed ?? rate) } else { failed = min(rate, failed ?? rate) }
    }

    /// The lowest rate, in requests per second.
    private static let minimumRate = 1.0
}
