// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import HTTPServer
internal import Logging
internal import ServiceLifecycle
internal import UnixSignals

/// The reason why the gateway is to stop.
enum ShutdownRequest: String, Sendable {
    /// SIGTERM: an orchestrator stops this node; load balancers still send requests for a moment.
    case terminate
    /// SIGINT: the operator at a terminal stops it, without the drain delay.
    case interrupt
}

/// Waits for the request to stop, lets load balancers notice, and returns; then the service group stops the listeners.
struct ShutdownService: Service {
    let requests: AsyncStream<ShutdownRequest>
    let lifecycle: ServerLifecycle
    /// The time to go on serving after `terminate`.
    let drainDelay: Duration
    let logger: Logger

    func run() async throws {
        await cancelWhenGracefulShutdown {
            var requests = requests.makeAsyncIterator()
            guard let request = await requests.next() else { return }
            logger.notice("Shutting down", metadata: ["request": "\(request)"])
            lifecycle.advance(to: .draining)
            if request == .terminate { await wait(upTo: drainDelay) }
        }
    }

    /// Waits, at most until a second request to stop.
    private func wait(upTo delay: Duration) async {
        await withTaskGroup { group in
            group.addTask { try? await Task.sleep(for: delay) }
            group.addTask {
                var requests = requests.makeAsyncIterator()
                _ = await requests.next()
            }
            await group.next()
            group.cancelAll()
        }
    }
}

extension AsyncStream<ShutdownRequest> {
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
