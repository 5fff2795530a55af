// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

package import Gateway

/// Carries out one attempt of a job.
package protocol JobRunner: Sendable {
    func run(_ job: VerificationJob, _ request: JobRequest) async -> JobOutcome
}

package enum JobOutcome: Hashable, Sendable {
    /// The verdict is final.
    case decided(JobResult)
    /// There is no final verdict yet.
    case waiting(JobResult, JobObstacle)
    /// This node does not know the client, or the client may not use the app.
    case impossible
}

/// The reason why an attempt brought no final verdict.
package enum JobObstacle: Hashable, Sendable {
    /// Apple answered this request in a way that may change, or not at all. Without a reason it was not sent.
    case request(DegradedReason?)
    /// Apple cannot be called at all now, or not so often: other jobs of the lane would not get further.
    case upstream(DegradedReason)
}
