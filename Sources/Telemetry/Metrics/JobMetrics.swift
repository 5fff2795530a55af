// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

package import Customers
package import Logging
package import Receipts
internal import Synchronization

/// Counts deferred verifications, and logs the verifications that were given up.
package final class JobMetrics: Sendable {
    private let jobs: [JobCountLabel: PrometheusCounter]
    private let attempts: [JobAttemptEnd: PrometheusCounter]
    private let seconds: PrometheusHistogram
    private let surveys: JobSurveys
    private let logger: Logger
    private let clock: @Sendable () -> Timestamp
    private let reported = Mutex(ReportedSubjects())

    /// - Parameter surveys: the source of the gauges in the registry.
    package init(
        _ registry: PrometheusRegistry, surveys: JobSurveys, logger: Logger, clock: @escaping @Sendable () -> Timestamp
    ) {
        jobs = registry.counters(MetricCatalogue.jobs)
        attempts = registry.counters(MetricCatalogue.jobAttempts)
        seconds = registry.histogram(MetricCatalogue.jobSeconds)
        self.surveys = surveys
        self.logger = logger
        self.clock = clock
    }

    package func observe(_ event: JobEvent) {
        switch event {
        case .created: jobs[.created]?.increment()
        case .joined: jobs[.joined]?.increment()
        case .refused(let refusal):
            JobCountLabel(refusal).map { jobs[$0]?.increment() }
            if refusal == .evicts { reportEviction() }
        case .attempted(let end): attempts[end]?.increment()
        case .ended(let status, let age):
            JobCountLabel(status).map { jobs[$0]?.increment() }
            if status == .done { seconds.record(age / .seconds(1)) }
        case .deadLettered: reportDeadLetter()
        case .surveyed(let survey): surveys.record(survey)
        }
    }

    private func reportEviction() {
        warn(
            of: "eviction",
            "No verification is deferred: Redis may evict it. Set its maxmemory-policy to noeviction or volatile-lru")
    }

    private func reportDeadLetter() {
        warn(
            of: "dead letter",
            """
            A deferred verification ended the process of its worker too often and was given up. \
            receipt-gateway verifications list --status failed shows it
            """)
    }

    /// Logs a warning, once an hour.
    private func warn(of subject: String, _ message: Logger.Message) {
        let now = clock()
        guard reported.withLock({ $0.insert(subject, at: now) }) else { return }
        logger.warning(message)
    }
}

extension JobCountLabel {
    /// Returns nil for the client's mistakes with keys.
    fileprivate init?(_ refusal: JobRefusal) {
        switch refusal {
        case .clientLimit: self = .refusedClientLimit
        case .totalLimit: self = .refusedTotalLimit
        case .storeUnreachable: self = .storeUnreachable
        case .evicts: self = .storeEvicts
        case .tooLarge: self = .tooLarge
        case .keyReused, .tooManyKeys: return nil
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
