// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// An event in the life of a job, for metrics and logs.
package enum JobEvent: Hashable, Sendable {
    /// A request was answered with a new job.
    case created
    /// A request was answered with a job that there was already.
    case joined
    /// A request should have been deferred, and was not.
    case refused(JobRefusal)
    case attempted(JobAttemptEnd)
    /// - Parameter after: the time since the job was created.
    case ended(JobStatus, after: Duration)
    /// The job ended the process of its worker too often. It follows `ended`.
    case deadLettered
    /// The state of the queue, for all nodes together.
    case surveyed(JobSurvey)
}

/// The end of an attempt. The raw values appear in metrics.
package enum JobAttemptEnd: String, CaseIterable, Hashable, Sendable {
    /// There is a final verdict.
    case decided
    /// Apple answered this request in a way that may change, or not at all.
    case request
    /// Apple cannot be called at all now, or not so often.
    case upstream
    /// There will be no verdict.
    case impossible

    init(_ outcome: JobOutcome) {
        self =
            switch outcome {
            case .decided: .decided
            case .waiting(_, .request): .request
            case .waiting(_, .upstream): .upstream
            case .impossible: .impossible
            }
    }
}
