// SPDX-License-Identifier: Apache-2.0

internal import Gateway
package import Receipts
internal import Synchronization

/// Keeps jobs in this process: they end with it.
package final class EmbeddedJobStore: JobStore {
    package enum Limits {
        /// The ended jobs that are kept, the newest. Their bytes are limited like the bytes of the waiting jobs.
        static let kept = 10_000
    }

    private let rules: JobRules
    private let clock: @Sendable () -> Timestamp
    private let jobs: Mutex<EmbeddedJobs>

    package init(_ rules: JobRules, clock: @escaping @Sendable () -> Timestamp) {
        (self.rules, self.clock) = (rules, clock)
        jobs = Mutex(EmbeddedJobs())
    }

    package var isDurable: Bool { false }

    package func create(_ job: VerificationJob, key: String?) throws(JobRefusal) -> JobCreation {
        let now = clock()
        return try jobs.withLock { jobs throws(JobRefusal) in
            guard let request = job.request else { return .created }
            if let known = try jobs.known(request, of: job.client, key: key) { return .joined(known) }
            try jobs.add(job, request, key: key, within: rules, at: now)
            return .created
        }
    }

    package func job(_ id: String) -> VerificationJob? { jobs.withLock { $0[id]?.job } }

    package func job(
        withKey key: String, for request: JobRequest, of client: String
    ) throws(JobRefusal) -> VerificationJob? {
        try jobs.withLock { jobs throws(JobRefusal) in try jobs.job(withKey: key, request.identity, of: client) }
    }

    package func statuses(of ids: [String]) -> [JobStatus?] {
        jobs.withLock { jobs in ids.map { jobs[$0]?.job.status } }
    }

    package func list(_ status: JobStatus, maximum: Int) -> [VerificationJob] {
        let all = jobs.withLock { jobs in jobs.all.map(\.job) }
        return Array(all.filter { $0.status == status }.sorted { $0.createdAt > $1.createdAt }.prefix(maximum))
    }

    package func survey() -> JobSurvey? {
        let now = clock()
        return jobs.withLock { jobs in
            jobs.forget(
                endedBefore: now.advanced(by: .zero - rules.retention), maximum: Limits.kept,
                maximumBytes: rules.maximumTotalBytes)
            return jobs.survey(at: now)
        }
    }

    package func erase(_ subject: ErasureSubject) -> ErasureCount {
        let count = jobs.withLock { $0.erase(subject) }
        return count == 0 ? [:] : [.verifications: count]
    }

    // MARK: - For workers

    package func take(_ maximum: Int, in lane: JobLane, lease: Duration) -> [TakenJob] {
        let now = clock()
        return jobs.withLock { $0.take(maximum, in: lane, at: now, until: now.advanced(by: lease)) }
    }

    package func postpone(_ taken: TakenJob, for delay: Duration, result: JobResult, isAttempt: Bool) {
        let next = clock().advanced(by: delay)
        _ = jobs.withLock { jobs in
            jobs.change(taken, whileWaiting: true) { entry in
                entry.job.result = result
                entry.job.attempts += isAttempt ? 1 : 0
                entry.job.nextAttempt = next
                (entry.token, entry.losses, entry.dueAt) = (nil, 0, next)
            }
        }
    }

    package func end(_ taken: TakenJob, _ status: JobStatus, result: JobResult, at time: Timestamp) -> Bool {
        let now = clock()
        return jobs.withLock { jobs in
            let ends = jobs.change(taken, whileWaiting: true) { entry in
                entry.job.end(status, result, at: time)
                (entry.losses, entry.endedAt, entry.bytes) = (0, now, result.storedBytes.count)
            }
            // A repetition changes nothing.
            return ends || jobs[taken.job.id].map { $0.token == taken.token && $0.job.status == status } ?? false
        }
    }

    /// Nothing: no call of this store fails.
    package func survived(_ ids: [String]) {}

    package func announced(_ taken: TakenJob) {
        _ = jobs.withLock { jobs in
            jobs.change(taken, whileWaiting: false) { ($0.token, $0.dueAt) = (nil, nil) }
        }
    }
}

extension VerificationJob {
    /// An expired or failed job was not attempted again.
    fileprivate mutating func end(_ status: JobStatus, _ result: JobResult, at time: Timestamp) {
        (self.status, self.result, request, nextAttempt, endedAt) = (status, result, nil, nil, time)
        if status == .done { attempts += 1 }
    }
}
