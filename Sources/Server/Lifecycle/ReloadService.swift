// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import Logging
internal import Receipts
internal import ServiceLifecycle
internal import Settings
internal import Telemetry

/// What a gateway needs to read its configuration again.
struct Reloading: Sendable {
    /// Where it comes from.
    let source: ConfigurationSource
    /// What was read of it at the start.
    let files: FileReadings
    /// When to read it, or to look whether that is due.
    let occasions: AsyncStream<ReloadOccasion>
}

/// Reads the configuration again whenever there is occasion, one reload after another, and says what came of it.
struct ReloadService: Service {
    /// How it is done.
    let reloader: Reloader
    /// When.
    let occasions: AsyncStream<ReloadOccasion>
    /// Remembers the last one.
    let history: ReloadHistory
    /// Counts.
    let metrics: ReloadMetrics
    /// The time.
    let clock: @Sendable () -> Timestamp
    /// Where it is said what came of it.
    let logger: Logger

    func run() async throws {
        await cancelWhenGracefulShutdown {
            var reloader = reloader
            for await occasion in occasions {
                guard occasion == .signal || reloader.look() else { continue }
                tell(reloader.reload(at: clock()), occasion)
            }
        }
    }

    private func tell(_ reload: LastReload, _ occasion: ReloadOccasion) {
        log(reload, occasion == .signal ? "SIGHUP" : "a file changed")
        history.record(reload)
        metrics.count(reload)
    }

    private func log(_ reload: LastReload, _ occasion: String) {
        var metadata: Logger.Metadata = ["occasion": "\(occasion)"]
        switch reload.result {
        case .success:
            metadata["changed"] = .array(reload.changed.map { "\($0)" })
            logger.notice("Configuration reloaded", metadata: metadata)
        case .unchanged:
            logger.notice("Configuration read again; nothing that a reload takes has changed", metadata: metadata)
        case .refused:
            metadata["problems"] = .array(reload.problems.map { "\($0)" })
            logger.error("Configuration refused; the one before stays in force", metadata: metadata)
        }
        guard !reload.awaitingRestart.isEmpty else { return }
        logger.warning(
            "Settings have changed that take effect after a restart only",
            metadata: ["settings": .array(reload.awaitingRestart.map { "\($0)" })])
    }
}

extension AsyncStream<ReloadOccasion> {
    /// What bounds the occasions of a process.
    enum Limits {
        /// Between two looks at the files. A look costs a microsecond or two for each file.
        static let pause: Duration = .seconds(2)
        /// Occasions that wait while a reload goes on; of more the oldest are forgotten, as the latest reload reads the same.
        static let waiting = 16
    }

    /// SIGHUP, and looks at the files every now and then.
    static func ofProcess() async -> AsyncStream<ReloadOccasion> {
        let hangups = await AsyncStream<Void>.hangups()
        let (stream, continuation) = AsyncStream.makeStream(
            of: ReloadOccasion.self, bufferingPolicy: .bufferingNewest(Limits.waiting))
        let signals = Task {
            for await _ in hangups { continuation.yield(.signal) }
        }
        let looks = Task {
            while (try? await Task.sleep(for: Limits.pause)) != nil { continuation.yield(.look) }
        }
        continuation.onTermination = { _ in
            signals.cancel()
            looks.cancel()
        }
        return stream
    }
}
