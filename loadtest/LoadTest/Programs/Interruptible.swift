// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser
internal import UnixSignals

/// Work that ends early, but cleanly, on SIGINT (^C) and SIGTERM.
enum Interruptible {
    /// Cancels the work on a signal and waits until it has cleaned up.
    ///
    /// - Throws: what the work throws, or the exit code of shells for an interrupted program.
    static func run<Value: Sendable>(_ work: @escaping @Sendable () async throws -> Value) async throws -> Value {
        let signals = await UnixSignalsSequence(trapping: .sigterm, .sigint)
        return try await withThrowingTaskGroup { group in
            group.addTask { try await work() }
            group.addTask {
                for await _ in signals { break }
                // Either a signal came, or the work is done and nobody reads this.
                throw ExitCode(130)
            }
            defer { group.cancelAll() }
            guard let value = try await group.next() else { throw CancellationError() }
            return value
        }
    }
}
