// SPDX-License-Identifier: Apache-2.0

package import Customers
package import Logging
package import Receipts
internal import Synchronization

extension MetricCatalogue {
    package static let jobs = MetricFamily(
        "receipt_gateway_jobs_total", .counter, "Deferred verifications: stored, refused, or ended.",
        by: JobCountLabel.self)
    package static let jobAttempts = MetricFamily(
        "receipt_gateway_job_attempts_total", .counter, "Attempts of deferred verifications, by their end.",
        by: JobAttemptEnd.self)
    package static let jobSeconds = MetricFamily(
        "receipt_gateway_job_seconds",
        .histogram(buckets: [1, 2.5, 5, 10, 30, 60, 120, 300, 600, 1800, 3600, 3 * 3600, 6 * 3600, 86_400, 3 * 86_400]),
        "The time from the creation of a deferred verification to its verdict.")

    // MARK: - From the last survey of the store, of all nodes together

    package static let jobsWaiting = MetricFamily(
        "receipt_gateway_jobs_waiting", .gauge, "Deferred verifications that wait for their verdict.")
    package static let jobBytes = MetricFamily(
        "receipt_gateway_job_bytes", .gauge, "The size of these verifications in the store.")
    package static let jobOldest = MetricFamily(
        "receipt_gateway_job_oldest_seconds", .gauge,
        "The time since the oldest of these verifications was created; 0 without one.")
    package static let jobsFailed = MetricFamily(
        "receipt_gateway_jobs_failed", .gauge, "Kept verifications that were given up.")
    package static let jobKeptBytes = MetricFamily(
        "receipt_gateway_job_kept_bytes", .gauge, "The size of the kept verdicts in the store.")
    package static let jobMaximumAge = MetricFamily(
        "receipt_gateway_job_max_age_seconds", .gauge,
        "The time after which a deferred verification expires: gateway.jobs.max_age.")

    static let deferredVerifications = [
        jobs, jobAttempts, jobSeconds, jobsWaiting, jobBytes, jobOldest, jobsFailed, jobKeptBytes,
        jobMaximumAge,
    ]
}

/// The events in the life of a deferred verification that are counted.
package enum JobCountLabel: String, SeriesLabels {
    case created
    /// The same request, or the same key, had a job already.
    case joined
    case refusedClientLimit = "refused_client_limit"
    case refusedTotalLimit = "refused_total_limit"
    /// Answered at once, because the store is unreachable.
    case storeUnreachable = "store_unreachable"
    /// Answered at once, because Redis may evict jobs.
    case storeEvicts = "store_evicts"
    /// Answered at once, because the job is larger than the store takes.
    case tooLarge = "too_large"
    case done, expired, failed

    package static let labelNames = ["outcome"]

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
}

extension JobAttemptEnd: SeriesLabels { package static let labelNames = ["outcome"] }

/// Counts deferred verifications, and logs the verifications that were given up.
package final class JobMetrics: Sendable {
    private let registry: PrometheusRegistry
    private let surveys: JobSurveys
    private let log: OperatorLog

    package init(
        _ registry: PrometheusRegistry, surveys: JobSurveys, logger: Logger, clock: @escaping @Sendable () -> Timestamp
    ) {
        (self.registry, self.surveys) = (registry, surveys)
        log = OperatorLog(logger, clock: clock)
    }

    package func observe(_ event: JobEvent) {
        switch event {
        case .created: count(.created)
        case .joined: count(.joined)
        case .refused(let refusal):
            count(JobCountLabel(refusal))
            if refusal == .evicts { reportEviction() }
        case .attempted(let end): registry.count(MetricCatalogue.jobAttempts, end)
        case .ended(let status, let age):
            // A waiting job has no end, and no label.
            count(JobCountLabel(rawValue: status.rawValue))
            if status == .done { registry.histogram(MetricCatalogue.jobSeconds).record(age / .seconds(1)) }
        case .deadLettered: reportDeadLetter()
        case .surveyed(let survey): surveys.record(survey)
        }
    }

    private func count(_ label: JobCountLabel?) {
        if let label { registry.count(MetricCatalogue.jobs, label) }
    }

    private func reportEviction() {
        log.log(
            about: "eviction",
            "No verification is deferred: Redis may evict it. \(NotificationStoreFault.evictionAdvice)")
    }

    private func reportDeadLetter() {
        log.log(
            about: "dead letter",
            """
            A deferred verification ended the process of its worker too often and was given up. \
            receipt-gateway verifications list --status failed shows it
            """)
    }
}

/// The last survey of the deferred verifications in the store, which each scrape reads.
package final class JobSurveys: Sendable {
    private let survey = Mutex<JobSurvey?>(nil)

    package init() {}

    /// Records a survey. While the store is unreachable, the last survey counts.
    package func record(_ new: JobSurvey) { survey.withLock { $0 = new } }

    /// The last survey; nil before the first.
    package var last: JobSurvey? { survey.withLock { $0 } }

    package var readings: [MetricReading] {
        [
            reading(MetricCatalogue.jobsWaiting) { Double($0.waiting) },
            reading(MetricCatalogue.jobBytes) { Double($0.bytes) },
            reading(MetricCatalogue.jobOldest) { ($0.oldestAge ?? .zero) / .seconds(1) },
            reading(MetricCatalogue.jobsFailed) { Double($0.failed) },
            reading(MetricCatalogue.jobKeptBytes) { Double($0.keptBytes) },
        ]
    }

    private func reading(_ family: MetricFamily, _ value: @escaping @Sendable (JobSurvey) -> Double) -> MetricReading {
        MetricReading(family) { value(self.last ?? JobSurvey()) }
    }
}
