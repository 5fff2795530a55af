// SPDX-License-Identifier: Apache-2.0

internal import HTTPServer
internal import Logging
internal import Receipts
internal import ServiceLifecycle
internal import Settings
internal import Telemetry
internal import UnixSignals

struct Reloading: Sendable {
    let source: ConfigurationSource
    let files: FileReadings
    /// The triggers of a reload, or of a check whether a file has changed.
    let triggers: AsyncStream<ReloadTrigger>
}

/// Rereads the configuration on each trigger, one reload after another, and reports the result.
struct ReloadService: Service {
    let reloader: Reloader
    let triggers: AsyncStream<ReloadTrigger>
    let history: ReloadHistory
    let metrics: ReloadMetrics
    let clock: @Sendable () -> Timestamp
    let logger: Logger

    func run() async throws {
        await cancelWhenGracefulShutdown {
            var reloader = reloader
            for await trigger in triggers {
                guard trigger == .signal || reloader.checkFiles() else { continue }
                let reload = reloader.reload(at: clock())
                log(reload, trigger == .signal ? "SIGHUP" : "a file changed")
                history.record(reload)
                metrics.count(reload.result, at: reload.time)
            }
        }
    }

    private func log(_ reload: LastReload, _ trigger: String) {
        var metadata: Logger.Metadata = ["occasion": "\(trigger)"]
        switch reload.result {
        case .success:
            metadata["changed"] = .array(reload.changed.map { "\($0)" })
            logger.notice("Configuration reloaded", metadata: metadata)
        case .unchanged:
            logger.notice("Configuration reread; no reloadable setting has changed", metadata: metadata)
        case .refused:
            metadata["problems"] = .array(reload.problems.map { "\($0)" })
            logger.error("Configuration rejected; the previous one stays in force", metadata: metadata)
        }
        guard !reload.awaitingRestart.isEmpty else { return }
        logger.warning(
            "Settings have changed that take effect only after a restart",
            metadata: ["settings": .array(reload.awaitingRestart.map { "\($0)" })])
    }
}

extension AsyncStream<ReloadTrigger> {
    enum Limits {
        /// The pause between two checks of the files. A check costs a microsecond or two per file.
        static let pause: Duration = .seconds(2)
        /// The triggers that wait during a reload. The oldest of more are dropped, as the latest reload reads the
        /// same.
        static let waiting = 16
    }

    /// SIGHUP, and a check of the files after each pause.
    static func ofProcess() async -> AsyncStream<ReloadTrigger> {
        let hangups = await UnixSignalsSequence(trapping: .sighup)
        let (stream, continuation) = AsyncStream.makeStream(
            of: ReloadTrigger.self, bufferingPolicy: .bufferingNewest(Limits.waiting))
        let signals = Task {
            for await _ in hangups { continuation.yield(.signal) }
        }
        let polls = Task {
            while (try? await Task.sleep(for: Limits.pause)) != nil { continuation.yield(.poll) }
        }
        continuation.onTermination = { _ in
            signals.cancel()
            polls.cancel()
        }
        return stream
    }
}

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
            logger.notice("Shutting down", metadata: ["request": "\(request.rawValue)"])
            lifecycle.drain(over: request == .terminate ? drainDelay : .zero)
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
