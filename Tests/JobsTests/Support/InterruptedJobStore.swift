// SPDX-License-Identifier: Apache-2.0

import Gateway
import Receipts
import Synchronization

@testable import Customers

/// A store of jobs that workers reach only at times.
final class InterruptedJobStore: JobStore {
    let isReachable = Mutex(true)
    /// True if the node ends before it has recorded that it wrote an event.
    let forgetsAnnouncements = Mutex(false)
    /// The jobs whose losses were taken back.
    let survivors = Mutex<[String]>([])
    private let store: EmbeddedJobStore

    init(_ store: EmbeddedJobStore) { self.store = store }

    private func reached() throws(StoreUnreachable) -> EmbeddedJobStore {
        guard isReachable.withLock({ $0 }) else { throw StoreUnreachable() }
        return store
    }

    var isDurable: Bool { store.isDurable }

    func create(_ job: VerificationJob, key: String?) throws(JobRefusal) -> JobCreation {
        try store.create(job, key: key)
    }

    func job(_ id: String) throws(StoreUnreachable) -> VerificationJob? { try reached().job(id) }

    func job(
        withKey key: String, for request: JobRequest, of client: String
    ) throws(JobRefusal) -> VerificationJob? { try store.job(withKey: key, for: request, of: client) }

    func statuses(of ids: [String]) throws(StoreUnreachable) -> [JobStatus?] { try reached().statuses(of: ids) }

    func take(_ maximum: Int, in lane: JobLane, lease: Duration) throws(StoreUnreachable) -> [TakenJob] {
        try reached().take(maximum, in: lane, lease: lease)
    }

    func postpone(
        _ taken: TakenJob, for delay: Duration, result: JobResult, isAttempt: Bool
    ) throws(StoreUnreachable) {
        try reached().postpone(taken, for: delay, result: result, isAttempt: isAttempt)
    }

    func end(
        _ taken: TakenJob, _ status: JobStatus, result: JobResult, at time: Timestamp
    ) throws(StoreUnreachable) -> Bool {
        try reached().end(taken, status, result: result, at: time)
    }

    func survived(_ ids: [String]) throws(StoreUnreachable) {
        _ = try reached()
        survivors.withLock { $0 += ids }
    }

    func announced(_ taken: TakenJob) throws(StoreUnreachable) {
        if forgetsAnnouncements.withLock({ $0 }) { return }
        try reached().announced(taken)
    }

    func survey() -> JobSurvey? { store.survey() }

    func list(_ status: JobStatus, maximum: Int) throws(StoreUnreachable) -> [VerificationJob] {
        try reached().list(status, maximum: maximum)
    }

    func erase(_ subject: ErasureSubject) throws(StoreUnreachable) -> ErasureCount { try reached().erase(subject) }
}
