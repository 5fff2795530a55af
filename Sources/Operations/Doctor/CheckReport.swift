// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import Synchronization

/// What is written down while an area is looked at. It is closed when the time is over: what comes later is dropped.
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

    /// Writes down what was seen.
    func note(_ subject: String, _ level: CheckResult.Level, _ seen: String, _ advice: String?) {
        let observation = CheckResult(area: area, subject: subject, level: level, seen: seen, advice: advice)
        state.withLock { if !$0.isClosed { $0.observations.append(observation) } }
    }

    /// Everything that was written down.
    func close() -> [CheckResult] {
        state.withLock { state in
            state.isClosed = true
            return state.observations
        }
    }
}

/// The value of something, unless it takes longer than a limit. It is cancelled then, and not waited for.
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
