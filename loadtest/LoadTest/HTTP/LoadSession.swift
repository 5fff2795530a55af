// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import Synchronization
internal import UnixSignals

/// One run as somebody watches it: seconds are shown, ^C ends it early, and the result is put together.
struct LoadSession: Sendable {
    let run: LoadRun
    private let interruption = Interruption()

    /// What was measured, and whether somebody ended the run.
    ///
    /// - Parameters:
    ///   - meanwhile: begins with the first request, and is cancelled when the run is over.
    ///   - second: is told of each second as it ends.
    func measure(
        watching metrics: MetricWatch,
        meanwhile: @escaping @Sendable (ContinuousClock.Instant) async -> Void = { _ in },
        _ second: (SecondSlice) -> Void
    ) async throws -> (LoadMeasurements, wasInterrupted: Bool) {
        // Whatever asks this program to end, the terminal is given back first.
        let signals = await UnixSignalsSequence(trapping: .sigterm, .sigint, .sighup, .sigquit)
        var helpers = [Task { for await _ in signals { stop() } }]
        defer { for helper in helpers { helper.cancel() } }
        let measurements = try await run.run { event in
            switch event {
            case .began(let origin):
                helpers += [Task { await metrics.run(from: origin) }, Task { await meanwhile(origin) }]
            case .second(let slice): second(slice)
            }
        }
        return (measurements, interruption.happened.withLock { $0 })
    }

    /// Ends the run early.
    func stop() {
        interruption.happened.withLock { $0 = true }
        run.stop()
    }

    private final class Interruption: Sendable {
        let happened = Mutex(false)
    }
}
