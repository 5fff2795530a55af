// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import Synchronization

/// Reads servers' metrics once a second during a run.
final class MetricWatch: Sendable {
    private let targets: [LoadTarget]
    private let trust: TLSTrust
    private let state = Mutex(State())

    private struct State {
        var collection = SeriesCollection()
        var looks = 0
        var failures: [String: Int] = [:]
    }

    init(_ targets: [LoadTarget], trust: TLSTrust = .system) {
        self.targets = targets
        self.trust = trust
    }

    /// Reads each once and keeps nothing; throws problems that the user should know before the run.
    func check() async throws(ScrapeError) {
        for target in targets { _ = try await metrics(of: target) }
    }

    /// Reads until the task is cancelled; seconds are counted from `origin`.
    func run(from origin: ContinuousClock.Instant) async {
        var second = 0
        while !Task.isCancelled {
            try? await ContinuousClock().sleep(until: origin + .seconds(second))
            if Task.isCancelled { return }
            await withTaskGroup { group in
                for target in targets { group.addTask { await self.look(at: target, from: origin) } }
            }
            // Looks that took too long are not made up for.
            second = max(second, Int((ContinuousClock.now - origin).seconds)) + 1
        }
    }

    var series: [RunResult.Series] { state.withLock { $0.collection.series } }

    /// Failures for readers; empty if there were none.
    var complaints: [String] {
        state.withLock { state in
            state.failures.sorted { $0.key < $1.key }.map {
                "\($0.value) of \(state.looks) looks at metrics failed: \($0.key)"
            }
        }
    }

    private func look(at target: LoadTarget, from origin: ContinuousClock.Instant) async {
        let instance = targets.count > 1 ? target.authority : nil
        do throws(ScrapeError) {
            let metrics = try await metrics(of: target)
            let second = max(0, (ContinuousClock.now - origin).seconds)
            state.withLock { state in
                state.looks += 1
                state.collection.add(metrics, second: second, instance: instance)
            }
        } catch {
            guard !Task.isCancelled else { return }
            let sentence = "\(error)"
            state.withLock { state in
                state.looks += 1
                state.failures[sentence, default: 0] += 1
            }
        }
    }

    /// Uses a new connection each time: an idle one may be closed.
    private func metrics(of target: LoadTarget) async throws(ScrapeError) -> MetricsText {
        let reply: Exchange.Reply
        do throws(LoadRunError) {
            reply = try await Exchange(target: target, trust: trust, maximumBodyBytes: MetricsLimits().bytes).get()
        } catch {
            throw .noAnswer(target.url, "\(error)")
        }
        guard let answer = reply.answer else { throw .noAnswer(target.url, "There was no whole answer in time.") }
        guard answer.status == 200 else { throw .noAnswer(target.url, "The answer has HTTP status \(answer.status).") }
        do throws(MetricsFault) {
            return try MetricsText(reply.body)
        } catch {
            throw .notMetrics(target.url, error)
        }
    }
}

/// The reason for which metrics were not read.
enum ScrapeError: Error, Hashable, CustomStringConvertible {
    case noAnswer(String, String)
    case notMetrics(String, MetricsFault)

    var description: String {
        switch self {
        case .noAnswer(let url, let reason): "\(url): \(reason)"
        case .notMetrics(let url, let fault): "\(url): \(fault)"
        }
    }
}
