// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
internal import Synchronization

struct ScenarioRun: Sendable {
    let scenario: LoadScenario
    let scale: ScenarioScale

    /// Runs the load on a fleet, carries the events out, and judges.
    func run(on fleet: RunningFleet) async throws -> RunResult {
        var plan = scale.applied(to: try scenario.load.plan()), traffic = scenario.load.traffic
        traffic.apiKey = await fleet.key
        let source = try await traffic.source(requests: plan.expectedRequests, seconds: plan.seconds)
        plan.target = await fleet.target
        // Its phases begin with the load.
        if let apple = scenario.fleet.apple { try await fleet.carryOut(.apple(apple)) }
        let states = scenario.thresholds.contains { $0.metric == .count(.wrongStates) } ? SubscriptionStates() : nil
        if let states {
            plan.limits.answer.openingBytes = SubscriptionStates.openingBytes
            plan.completion = states.check
        }
        let watch = MetricWatch(await fleet.metricTargets)
        let description = traffic.description(of: plan, name: scenario.name, scenario.title)
        let log = ScenarioLog()
        var result = try await LoadSession(plan, source).result(
            description, watching: watch,
            showing: RunDisplay.Options(marks: marks, isQuiet: !ProgressStream.isTerminal),
            meanwhile: { [scenario, scale] origin in
                for event in scenario.events {
                    try? await ContinuousClock().sleep(until: origin + .seconds(scale.seconds(event.seconds)))
                    if Task.isCancelled { return }
                    await log.carryOut(event.action, on: fleet, from: origin)
                }
            },
            extras: {
                var extras = RunRecord.Extras(
                    thresholds: scenario.thresholds.map(scale.applied), marks: await log.marks)
                extras.counts = await fleet.calls
                extras.checked = checkedCalls(await log.calls, until: extras.counts)
                extras.counts[.wrongStates] = states?.wrongCount
                return extras
            })
        result.add(await log.failures)
        // The user who ends a run early knows that the rest is missing.
        let missing = result.verdict == .interrupted ? [] : scenario.events.dropFirst(await log.marks.count)
        result.add(missing.map { "\($0.action): the load ended before it began" })
        return result
    }

    /// Returns the conditions of the events that were carried out, with the requests to Apple until the next event.
    /// - Parameter starts: the numbers of requests at each event.
    func checkedCalls(
        _ starts: [[ScenarioCount: Int]], until end: [ScenarioCount: Int]
    ) -> [RunResult.Threshold] {
        let ends = starts.dropFirst() + [end]
        return zip(scenario.events, zip(starts, ends)).flatMap { event, counts in
            let calls = counts.1.merging(counts.0, uniquingKeysWith: -)
            return event.calls.map { $0.check(calls, from: "\(PlainNumber.text(scale.seconds(event.seconds)))s") }
        }
    }

    private var marks: [RunResult.Mark] {
        scenario.events.map { .init(atSeconds: scale.seconds($0.seconds), text: "\($0.action)") }
    }
}

/// The factors by which a scenario is shortened and thinned.
struct ScenarioScale: Hashable, Sendable {
    var time = 1.0
    var rate = 1.0

    func seconds(_ seconds: Double) -> Double { seconds * time }

    /// Scales the bound of a rate; shares and times stay.
    func applied(to threshold: Threshold) -> Threshold {
        guard threshold.metric == .rate, rate != 1 else { return threshold }
        let bound = threshold.bound * rate
        return Threshold(
            metric: .rate, comparison: threshold.comparison, bound: bound,
            expression: "rate\(threshold.comparison.rawValue)\(PlainNumber.text(bound))")
    }

    func applied(to plan: LoadPlan) -> LoadPlan {
        var plan = plan
        let stages = plan.schedule.curve.stages.map { stage in
            RateStage(from: stage.from * rate, to: stage.to * rate, seconds: stage.seconds * time)
        }
        plan.schedule = LoadSchedule(
            curve: RateCurve(stages: stages), pattern: plan.schedule.pattern, first: plan.schedule.first * rate)
        plan.warmupSeconds *= time
        plan.closedSeconds *= time
        return plan
    }
}

/// The events that were carried out, and their failures.
private actor ScenarioLog {
    private(set) var marks: [RunResult.Mark] = []
    /// The numbers of requests to Apple before each.
    private(set) var calls: [[ScenarioCount: Int]] = []
    private(set) var failures: [String] = []

    /// Carries an action out to its end, even if the run ends meanwhile: a half-done restart would leave the fleet
    /// broken.
    func carryOut(
        _ action: LoadScenario.Action, on fleet: RunningFleet, from origin: ContinuousClock.Instant
    ) async {
        let begun = max(0, (ContinuousClock.now - origin).seconds)
        marks.append(.init(atSeconds: begun.rounded(toDecimals: 3), text: "\(action)"))
        calls.append(await fleet.calls)
        do {
            try await Task { try await fleet.carryOut(action) }.value
        } catch {
            failures.append("\(action): \(error)")
        }
    }
}

extension RunResult {
    mutating func add(_ reasons: [String]) {
        guard !reasons.isEmpty else { return }
        verdictReasons += reasons
        if verdict == .passed { verdict = .thresholdMissed }
    }
}

/// Counts answers whose subscriptions are not all active, for scenarios in which all of them are.
final class SubscriptionStates: Sendable {
    private let wrong = Mutex(0)

    /// The kept bytes of each answer: whole answers about a few dozen transactions.
    static let openingBytes = 256 << 10

    var wrongCount: Int { wrong.withLock { $0 } }

    /// Checks the answer to a request; a failed request shows no state.
    func check(_ completion: Completion) {
        guard let status = completion.status, (200..<300).contains(status) else { return }
        let now = Int64(Date().timeIntervalSince1970 * 1000)
        if !Self.areActive(in: completion.opening, at: now) { wrong.withLock { $0 += 1 } }
    }

    /// Returns true if an answer, of either form, shows active subscriptions only.
    /// - Parameter now: milliseconds since 1970.
    static func areActive(in answer: [UInt8], at now: Int64) -> Bool {
        let json = QuotedParts(answer)
        if let verdict = json.values(of: "verdict").first {
            let states = json.values(of: "state")
            return verdict == "genuine" && !states.isEmpty && states.allSatisfy { $0 == "active" }
        }
        // In Apple's form the end of the last period decides the state.
        return json.isZero("status") && json.values(of: "expires_date_ms").contains { Int64($0) ?? 0 > now }
    }
}

/// The names and values of a JSON text without white space, or of its beginning, wherever they stand.
struct QuotedParts {
    /// The parts between quotation marks: a name, a colon, a value.
    private let parts: [String]

    init(_ json: [UInt8]) {
        parts = json.split(separator: UInt8(ascii: "\""), omittingEmptySubsequences: false)
            .map { String(decoding: $0, as: UTF8.self) }
    }

    func values(of name: String) -> [String] {
        parts.indices.dropLast(2).filter { parts[$0] == name && parts[$0 + 1] == ":" }.map { parts[$0 + 2] }
    }

    func isZero(_ name: String) -> Bool {
        parts.indices.dropLast().contains { parts[$0] == name && [":0,", ":0}"].contains(parts[$0 + 1].prefix(3)) }
    }
}
