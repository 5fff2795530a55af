// SPDX-License-Identifier: Apache-2.0

package import Gateway
package import Receipts

package struct JobRules: Hashable, Sendable {
    package enum Limits {
        package static let keys = 16
    }

    /// The time for which a job waits for Apple.
    package var maximumAge: Duration = .seconds(72 * 3600)
    package var retention: Duration = .seconds(7 * 86_400)
    package var maximumCount = 1000
    /// The bytes of the waiting jobs of one client, as stored.
    package var maximumBytes = 64 << 20
    /// The bytes of all waiting jobs, as stored.
    package var maximumTotalBytes = 1 << 30

    package init() {}
}

/// The reason why a job is not stored.
package enum JobRefusal: Error, Hashable, Sendable {
    /// The client has as many waiting jobs, or as many bytes of them, as it may have.
    case clientLimit
    /// All clients together have.
    case totalLimit
    /// The key names a job with another request.
    case keyReused
    /// The job with the same request has as many keys as it may have.
    case tooManyKeys
    case storeUnreachable
    /// The store may evict jobs: `maxmemory-policy` is `allkeys-*`, or unknown.
    case evicts
    /// The job alone is larger than the store takes.
    case tooLarge
}

package enum JobCreation: Hashable, Sendable {
    case created
    /// The same client's job with the same key, or a waiting job with the same request; without its request.
    case joined(VerificationJob)
}

/// A job that a worker has taken. Only the holder of the token can end it, until the lease ends.
package struct TakenJob: Hashable, Sendable {
    package var job: VerificationJob
    package let token: String
    /// The workers whose process ended while they had it, as far as the store knows (`JobStore.survived`).
    package let losses: Int

    package init(_ job: VerificationJob, token: String, losses: Int) {
        (self.job, self.token, self.losses) = (job, token, losses)
    }
}

package struct JobSurvey: Hashable, Sendable {
    /// The jobs that wait, also jobs that are being worked on.
    package var waiting = 0
    /// Their bytes, as stored.
    package var bytes = 0
    /// The time since the oldest waiting job was created; nil without waiting jobs.
    package var oldestAge: Duration?
    package var failed = 0
    package var keptBytes = 0

    package init() {}
}

/// Deferred verifications: Redis, or this process. A job is due at a time, taken until a time, or ended and kept. A
/// taken job whose lease ends is due again.
package protocol JobStore: CustomerDataStore {
    var isDurable: Bool { get }

    /// Stores a job that is due at once, unless it is there already. One atomic step.
    /// - Parameter key: the client's `Idempotency-Key`.
    func create(_ job: VerificationJob, key: String?) async throws(JobRefusal) -> JobCreation

    /// Returns a job of any client, without its request; nil if there is none of this ID.
    func job(_ id: String) async throws(StoreUnreachable) -> VerificationJob?

    /// Returns the job that a client made with this `Idempotency-Key`, without its request; nil for none.
    /// - Throws: `.keyReused` if it has another request.
    func job(withKey key: String, for request: JobRequest, of client: String)
        async throws(JobRefusal) -> VerificationJob?

    /// Returns the statuses of jobs, in order; nil for a job that is not there.
    func statuses(of ids: [String]) async throws(StoreUnreachable) -> [JobStatus?]

    /// Takes jobs that are due, the earliest first. A job with an unreadable request comes without it.
    func take(_ maximum: Int, in lane: JobLane, lease: Duration) async throws(StoreUnreachable) -> [TakenJob]

    /// Makes a taken job due after a delay, with what is known by now.
    /// - Parameter isAttempt: false if the attempt did not get as far as Apple, and does not count.
    func postpone(_ taken: TakenJob, for delay: Duration, result: JobResult, isAttempt: Bool)
        async throws(StoreUnreachable)

    /// Ends a taken job, which stays taken until it is announced, and deletes its evidence.
    /// - Parameter time: the time of the end. In a repetition after a lost reply it is the time of the first call.
    /// - Returns: false if the token no longer holds.
    func end(
        _ taken: TakenJob, _ status: JobStatus, result: JobResult, at time: Timestamp
    ) async throws(StoreUnreachable) -> Bool

    /// Takes back the loss of each of these jobs: its worker lives, but could not store the end of its attempt.
    func survived(_ ids: [String]) async throws(StoreUnreachable)

    /// Records that the event of an ended job is in the log.
    func announced(_ taken: TakenJob) async throws(StoreUnreachable)

    /// Returns the state of the queue, and deletes what was kept long enough.
    func survey() async -> JobSurvey?

    /// Returns jobs of a status without their requests, the newest first. Unreadable jobs are left out.
    func list(_ status: JobStatus, maximum: Int) async throws(StoreUnreachable) -> [VerificationJob]
}

extension JobStore {
    /// Returns a job of a client, without its request; nil if it has none of this ID.
    package func job(_ id: String, of client: String) async throws(StoreUnreachable) -> VerificationJob? {
        let job = try await job(id)
        return job?.client == client ? job : nil
    }
}
