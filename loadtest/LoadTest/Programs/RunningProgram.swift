// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import AppleSimulator

/// Something that was started, and has to be stopped whatever becomes of what needs it.
protocol RunningProgram: Sendable {
    /// Ends it, and waits until it has ended.
    func stop() async
}

extension RunningProgram {
    /// Runs the body, and then stops.
    func whileRunning<Value: Sendable>(_ body: (Self) async throws -> Value) async throws -> Value {
        do {
            let value = try await body(self)
            await stop()
            return value
        } catch {
            await stop()
            throw error
        }
    }
}

extension AppleSimulator: RunningProgram {}
