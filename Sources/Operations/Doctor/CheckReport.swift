// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import Settings
internal import Synchronization

/// The observations of one area. Closed at the time limit; later ones are dropped.
final class CheckReport: Sendable {
    private struct State {
        var observations: [CheckResult] = []
        var isClosed = false
    }

    private let area: CheckResult.Area
    private let state = Mutex(State())

    init(_ area: CheckResult.Area) { self.area = area }

    func ok(_ subject: String, _ seen: String) { note(subject, .ok, seen, nil) }
    func warn(_ subject: String, _ seen: String, do advice: String) { note(subject, .warning, seen, advice) }
    func fail(_ subject: String, _ seen: String, do advice: String) { note(subject, .failed, seen, advice) }

    func note(_ subject: String, _ level: CheckResult.Level, _ seen: String, _ advice: String?) {
        let observation = CheckResult(area: area, subject: subject, level: level, seen: seen, advice: advice)
        state.withLock { if !$0.isClosed { $0.observations.append(observation) } }
    }

    /// Closes the report and returns its observations.
    func close() -> [CheckResult] {
        state.withLock { state in
            state.isClosed = true
            return state.observations
        }
    }
}

/// Returns the result of an operation; nil if it exceeds a time limit. It is then cancelled, and not awaited.
func value<Value: Sendable>(
    within limit: Duration, of body: @escaping @Sendable () async -> Value
) async -> Value? {
    let (ends, end) = AsyncStream.makeStream(of: Value?.self)
    let work = Task { end.yield(await body()) }
    let timer = Task {
        try? await Task.sleep(for: limit)
        end.yield(nil)
    }
    defer {
        work.cancel()
        timer.cancel()
    }
    return await ends.first { _ in true } ?? nil
}

package struct CheckResult: Hashable, Sendable {
    package enum Level: String, Sendable {
        case ok
        /// It works, but needs attention.
        case warning
        /// It does not work, or will stop working.
        case failed
    }

    /// The areas, in the order of the report.
    enum Area: String, CaseIterable, Sendable {
        case configuration, clients, redis, apple, certificates, limits, ports
    }

    let area: Area
    /// The subject, in a word; unique within its area except for `configuration`.
    let subject: String
    let level: Level
    /// The observation and its meaning. Never a secret.
    let seen: String
    let advice: String?
}

extension ConfigurationProblems {
    /// The problems as observations. One sentence already contains the fault and what to do.
    package var observations: [CheckResult] {
        problems.prefix(Self.maximumShown).map {
            CheckResult(
                area: .configuration, subject: "settings", level: .failed, seen: $0.description, advice: nil)
        }
    }
}
