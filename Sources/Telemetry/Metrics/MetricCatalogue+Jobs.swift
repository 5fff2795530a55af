// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

package import Customers

extension MetricCatalogue {
    package static let jobs = MetricFamily(
        "receipt_gateway_jobs_total", .counter, "Deferred verifications: stored, refused, or ended.",
        by: JobCountLabel.self)
    package static let jobAttempts = MetricFamily(
        "receipt_gateway_job_attempts_total", .counter, "Attempts of deferred verifications, by their end.",
        by: JobAttemptEnd.self)
    package static let jobSeconds = MetricFamily(
        "receipt_gateway_job_seconds",
        .histogram(
            buckets: [1, 2.5, 5, 10, 30, 60, 120, 300, 600, 1800, 3600, 3 * 3600, 6 * 3600, 86_400, 3 * 86_400]),
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
}

extension JobAttemptEnd: SeriesLabels {
    package static var labelNames: [String] { ["outcome"] }
}
