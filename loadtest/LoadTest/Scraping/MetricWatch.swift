// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import NIOCore
internal import Synchronization

/// Looks at servers' metrics once a second while a run goes on.
final class MetricWatch: Sendable {
    private let targets: [LoadTarget]
    private let state = Mutex(State())

    private struct State {
        var collection = SeriesCollection()
        var looks = 0
        var failures: [String: Int] = [:]
    }

    init(_ targets: [LoadTarget]) {
        self.targets = targets
    }

    /// Looks once at each and keeps nothing; throws what the user should know before the run.
    func check() async throws(ScrapeError) {
        for target in targets { _ = try await Self.look(at: target) }
    }

    /// Looks until the task is cancelled.
    ///
    /// - Parameter origin: where seconds are counted from.
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

    /// What was seen.
    var series: [RunResult.Series] { state.withLock { $0.collection.series } }

    /// What went wrong, for readers; empty if nothing did.
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
            let metrics = try await Self.look(at: target)
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

    /// Each time over a new connection: one that waited too long may be closed.
    private static func look(at target: LoadTarget) async throws(ScrapeError) -> MetricsText {
        var limits = DriveLimits()
        limits.maximumWait = .seconds(5)
        limits.maximumAnswerBytes = MetricsLimits().bytes
        let reply: Reply
        do throws(DriveError) {
            let connection = try await HTTPConnection.open(host: target.host, port: target.port, limits: limits)
            let asked = await connection.result(of: .get(target.path, authority: target.authority))
            await connection.close()
            reply = try asked.get()
            guard reply.status == 200 else { throw .status(reply.status) }
        } catch {
            throw .noAnswer(target.url, error)
        }
        do throws(MetricsFault) {
            return try MetricsText(Array(reply.body.readableBytesView))
        } catch {
            throw .notMetrics(target.url, error)
        }
    }
}

/// Why metrics were not read.
enum ScrapeError: Error, Hashable, CustomStringConvertible {
    case noAnswer(String, DriveError)
    case notMetrics(String, MetricsFault)

    var description: String {
        switch self {
        case .noAnswer(let url, let error): "\(url): \(error)"
        case .notMetrics(let url, let fault): "\(url): \(fault)"
        }
    }
}
