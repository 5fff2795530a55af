// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import UnixSignals

extension AsyncStream<ShutdownRequest> {
    /// Returns the signals that ask this process to stop.
    static func signals() async -> AsyncStream<ShutdownRequest> {
        let signals = await UnixSignalsSequence(trapping: .sigterm, .sigint)
        let (stream, continuation) = AsyncStream.makeStream(of: ShutdownRequest.self)
        let forwarding = Task {
            for await signal in signals { continuation.yield(signal == .sigterm ? .terminate : .interrupt) }
        }
        continuation.onTermination = { _ in forwarding.cancel() }
        return stream
    }
}

extension AsyncStream<Void> {
    /// Returns SIGHUP signals, which request a reload. Several pending ones count as one.
    static func hangups() async -> AsyncStream<Void> {
        let signals = await UnixSignalsSequence(trapping: .sighup)
        let (stream, continuation) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        let forwarding = Task {
            for await _ in signals { continuation.yield() }
        }
        continuation.onTermination = { _ in forwarding.cancel() }
        return stream
    }
}
