// SPDX-License-Identifier: Apache-2.0

internal import Synchronization
internal import UnixSignals

/// One run with a display: seconds are shown, and ^C ends it early.
final class LoadSession: Sendable {
    private let run: LoadRun
    private let wasEnded = Mutex(false)

    init(_ plan: LoadPlan, _ source: TrafficSource, requestsBefore: Int = 0) {
        run = LoadRun(plan, source, requestsBefore: requestsBefore)
    }

    /// Runs, shows each second, and judges.
    ///
    /// - Parameters:
    ///   - second: receives each second as it ends.
    ///   - meanwhile: begins with the first request, is cancelled at the end, and ends before `extras`.
    ///   - extras: returns what neither the generator nor `metrics` measures, after the end.
    func result(
        _ description: RunResult.Plan, watching metrics: MetricWatch = MetricWatch([]),
        showing display: RunDisplay.Options? = nil, _ second: (RunResult.Second) -> Void = { _ in },
        meanwhile: @escaping @Sendable (ContinuousClock.Instant) async -> Void = { _ in },
        extras: () async -> RunRecord.Extras
    ) async throws -> RunResult {
        var record = RunRecord(plan: run.plan, description: description)
        let display = display.map { RunDisplay(run.plan, $0, stop: stop) }
        let measurements = try await measure(watching: metrics, meanwhile) { slice in
            let ended = record.add(slice)
            display?.show(ended, slice.counts)
            second(ended)
        }
        display?.end()
        metrics.printComplaints()
        var extras = await extras()
        extras.metrics = metrics.series
        let wasInterrupted = wasEnded.withLock(\.self) || Task.isCancelled
        return record.result(measurements, extras, wasInterrupted: wasInterrupted)
    }

    private func measure(
        watching metrics: MetricWatch, _ meanwhile: @escaping @Sendable (ContinuousClock.Instant) async -> Void,
        _ second: (SecondSlice) -> Void
    ) async throws -> LoadMeasurements {
        // Whatever asks this program to end, the terminal is given back first.
        let signals = await UnixSignalsSequence(trapping: .sigterm, .sigint, .sighup, .sigquit)
        let ending = Task { for await _ in signals { stop() } }
        var beside = Task {}, origin = ContinuousClock.now
        defer { for task in [ending, beside] { task.cancel() } }
        let measurements = try await run.run { event in
            switch event {
            case .began(let start):
                origin = start
                beside = Task {
                    async let watching: Void = metrics.run(from: start)
                    await meanwhile(start)
                    await watching
                }
            case .second(let slice): second(slice)
            }
        }
        beside.cancel()
        await beside.value
        await metrics.look(from: origin)
        return measurements
    }

    private func stop() {
        wasEnded.withLock { $0 = true }
        run.stop()
    }
}

struct Judgement: Hashable {
    let verdict: RunResult.Verdict
    /// Sentences; none if it passed.
    let reasons: [String]

    init(
        _ measurements: LoadMeasurements, _ plan: LoadPlan, _ thresholds: [RunResult.Threshold], hint: String? = nil,
        wasInterrupted: Bool
    ) {
        let missed = thresholds.filter { !$0.met }.map(\.text) + [hint].compactMap(\.self)
        let late = measurements.areAboutGenerator(plan) ? Self.lateness(measurements, plan) : []
        if wasInterrupted {
            verdict = .interrupted
            reasons = ["the run was ended early"] + late + missed
        } else if !late.isEmpty {
            verdict = .generatorOverloaded
            reasons = late + missed
        } else {
            verdict = missed.isEmpty ? .passed : .thresholdMissed
            reasons = missed
        }
    }

    private static func lateness(_ measurements: LoadMeasurements, _ plan: LoadPlan) -> [String] {
        let remedy = "use more --workers, a lower rate, or a machine with less to do"
        var reasons: [String] = []
        if measurements.isDistorted(plan.limits) {
            reasons.append(
                "\((100 * measurements.lateShare).fourDigits) % of the requests were sent more than "
                    + "\(plan.limits.late.milliseconds.fourDigits) ms late by the generator itself: \(remedy)")
        }
        if measurements.isExhausted(plan) {
            let busy = (100 * min(1, measurements.busyShare(workers: plan.workers))).fixed(0)
            reasons.append(
                "the generator was busy, or waited for a core, \(busy) % of the time and fell behind: \(remedy)")
        }
        return reasons
    }
}

extension RunResult.Verdict {
    var exitStatus: Int32 {
        switch self {
        case .passed: 0
        case .thresholdMissed: 99
        case .generatorOverloaded: 98
        case .interrupted: 130
        }
    }
}
