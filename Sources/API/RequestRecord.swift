// SPDX-License-Identifier: Apache-2.0

internal import Customers
package import Gateway
package import HTTPServer
internal import Logging
internal import Receipts

extension LogMembers {
    convenience init(_ answer: Answer) {
        self.init([
            "cache": answer.provenance.cache.rawValue,
            "degraded": answer.provenance.degradedReasons.first?.rawValue,
            "environment": answer.environment?.rawValue,
            "reason": answer.verdict.reason,
            "source": answer.provenance.source.rawValue,
            "verdict": answer.verdict.name,
        ])
    }

    convenience init(_ notification: AcceptedNotification) {
        self.init([
            "environment": notification.environment.rawValue,
            "notification": notification.outcome.rawValue,
            "notification_version": notification.version.name,
        ])
    }

    /// The values are the same as in the metrics.
    fileprivate convenience init(_ endpoint: UpstreamEndpoint, outcome: String? = nil, took: Duration? = nil) {
        self.init(
            [
                "api": endpoint.api.rawValue, "upstream": endpoint.environment.rawValue, "upstream_outcome": outcome,
            ], durations: ["upstream_ms": took])
    }
}

extension Logger {
    /// The same logger for changes that clients request, whose lines are written whatever the level.
    var ofChanges: Logger {
        var logger = self
        logger.logLevel = .trace
        return logger
    }

    /// Carries out a change in the shared store, and logs its outcome.
    /// - Parameter outcome: returns what the line says about a change that was carried out.
    func recording<Change>(
        _ message: Logger.Message, _ metadata: Logger.Metadata, _ change: () async throws(StoreUnreachable) -> Change,
        outcome: (Change) -> Logger.Metadata
    ) async throws(StoreUnreachable) -> Change {
        do throws(StoreUnreachable) {
            let changed = try await change()
            notice(message, metadata: metadata.merging(outcome(changed)) { $1 })
            return changed
        } catch {
            notice(message, metadata: metadata.merging(["outcome": "store_unreachable"]) { $1 })
            throw error
        }
    }
}

extension RequestContext {
    /// Sends a request to Apple, and records it in the current client request, if any. Only the request that starts the
    /// call records it; coalesced requests do not.
    package static func recording(
        _ endpoint: UpstreamEndpoint, _ request: () async -> RequestSummary
    ) async -> RequestSummary {
        guard let context = current else { return await request() }
        context.record { $0.upstream = LogMembers(endpoint) }
        let start = ContinuousClock.now
        let summary = await request()
        context.record { $0.upstream = LogMembers(endpoint, outcome: summary.outcome.name, took: .now - start) }
        return summary
    }
}
