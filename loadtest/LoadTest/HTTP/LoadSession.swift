// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import Synchronization
internal import UnixSignals

/// One run as somebody watches it: seconds are shown, ^C ends it early, and the result is put together.
struct LoadSession: Sendable {
    let run: LoadRun
    private let interruption = Interruption()

    /// What was measured, and whether somebody ended the run.
    func measure(_ tell: (LoadRunEvent) -> Void) async throws -> (LoadMeasurements, wasInterrupted: Bool) {
        let signals = await UnixSignalsSequence(trapping: .sigterm, .sigint)
        let watch = Task { [self] in
            for await _ in signals { stop() }
        }
        defer { watch.cancel() }
        let measurements = try await run.run(tell)
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
