// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

package import Jobs
package import Logging
package import PrometheusExport
package import Receipts
internal import Synchronization

/// Counts deferred verifications, and logs those that were given up.
package final class JobMetrics: JobObserver {
    private let jobs: [JobCountLabel: PrometheusCounter]
    private let attempts: [JobAttemptLabel: PrometheusCounter]
    private let seconds: PrometheusHistogram
    private let logger: Logger
    private let clock: @Sendable () -> Timestamp
    private let reported = Mutex(ReportedSubjects())

    package init(_ registry: PrometheusRegistry, logger: Logger, clock: @escaping @Sendable () -> Timestamp) {
        jobs = registry.counters(MetricCatalogue.jobs)
        attempts = registry.counters(MetricCatalogue.jobAttempts)
        seconds = registry.histogram(MetricCatalogue.jobSeconds)
        self.logger = logger
        self.clock = clock
    }

    package func observe(_ event: JobEvent) {
        switch event {
        case .created: jobs[.created]?.increment()
        case .joined: jobs[.joined]?.increment()
        case .refused(let refusal): JobCountLabel(refusal).map { jobs[$0]?.increment() }
        case .attempted(let outcome): attempts[JobAttemptLabel(outcome)]?.increment()
        case .ended(let status, let age): countEnd(status, after: age)
        }
    }

    private func countEnd(_ status: JobStatus, after age: Duration) {
        JobCountLabel(status).map { jobs[$0]?.increment() }
        if status == .done { seconds.record(age / .seconds(1)) }
        if status == .failed { reportFailure() }
    }

    /// Logs a warning, once an hour.
    private func reportFailure() {
        let now = clock()
        guard reported.withLock({ $0.insert("failed", at: now) }) else { return }
        logger.warning(
            """
            A deferred verification was given up: it ended the process of its worker three times, or its client may no \
            longer have it. receipt-gateway verifications list --status failed shows it
            """)
    }
}

extension JobCountLabel {
    /// Returns nil for a key with another request, which is the client's mistake.
    fileprivate init?(_ refusal: JobRefusal) {
        switch refusal {
        case .clientLimit: self = .refusedClientLimit
        case .totalLimit: self = .refusedTotalLimit
        case .storeUnreachable: self = .storeUnreachable
        case .keyReused: return nil
        }
    }

    fileprivate init?(_ status: JobStatus) {
        switch status {
        case .waiting: return nil
        case .done: self = .done
        case .expired: self = .expired
        case .failed: self = .failed
        }
    }
}

extension JobAttemptLabel {
    fileprivate init(_ outcome: JobOutcome) {
        switch outcome {
        case .decided: self = .decided
        case .waiting(_, .request): self = .request
        case .waiting(_, .upstream): self = .upstream
        case .impossible: self = .impossible
        }
    }
}
