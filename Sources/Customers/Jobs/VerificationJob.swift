// SPDX-License-Identifier: Apache-2.0

package import Gateway
internal import JSON
package import Receipts

/// A verification that is repeated until Apple answers, or until its time is over.
package struct VerificationJob: Hashable, Sendable {
    /// `ver_` and 22 random base64url characters.
    package let id: String
    /// The name of the client that made the job. No other client may see the job.
    package let client: String
    package let createdAt: Timestamp
    /// The time at which it ends without an answer of Apple.
    package let deadline: Timestamp
    package let lane: JobLane
    /// The span of the request that made the job (W3C Trace Context); nil if it has none, and in a job that is read
    /// from Redis, not taken.
    package let traceparent: String?
    /// Nil once it has ended: evidence is deleted with the verdict.
    package var request: JobRequest?
    package var status: JobStatus
    package var attempts: Int
    /// The time of the next attempt; nil once it has ended.
    package var nextAttempt: Timestamp?
    /// The time of its end, which its event has in every repetition. Nil while it waits, and if an earlier version of the
    /// gateway ended it.
    package var endedAt: Timestamp?
    /// The answer so far, or at the end.
    package var result: JobResult

    package init(
        id: String, client: String, createdAt: Timestamp, deadline: Timestamp, lane: JobLane,
        traceparent: String? = nil, request: JobRequest?,
        status: JobStatus = .waiting, attempts: Int = 0, nextAttempt: Timestamp? = nil, endedAt: Timestamp? = nil,
        result: JobResult
    ) {
        (self.id, self.client, self.createdAt, self.deadline) = (id, client, createdAt, deadline)
        (self.lane, self.traceparent) = (lane, traceparent)
        (self.request, self.status, self.attempts) = (request, status, attempts)
        (self.nextAttempt, self.endedAt, self.result) = (nextAttempt, endedAt, result)
    }
}

/// The raw values appear in the API and in metrics.
package enum JobStatus: String, CaseIterable, Hashable, Sendable {
    case waiting
    case done
    /// The deadline has passed; the result is the last result.
    case expired
    /// It ended the process of its worker too often, or its client no longer exists.
    case failed

    /// False for a job that ended without a verdict: its idempotency keys may be used again.
    package var holdsKeys: Bool { self == .waiting || self == .done }
}

/// The jobs that wait for the same upstream. A failing upstream does not hold back the jobs of another upstream. The
/// raw values are part of keys.
package typealias JobLane = UpstreamEnvironment

extension JobLane {
    /// Returns the lane of a job: production if its environment is unknown.
    package init(lane environment: Environment?) { self.init(environment ?? .production) }
}

package struct JobRequest: Hashable, Sendable {
    package var subject: RequestSubject
    package var options: JobOptions
    /// The purchases in the evidence, by which the job is found when a customer's data is deleted.
    package var chains: [PurchaseChain]

    package init(_ subject: RequestSubject, _ options: JobOptions, chains: [PurchaseChain]) {
        (self.subject, self.options, self.chains) = (subject, options, chains)
    }
}

/// The options of a verification that a repetition needs.
package struct JobOptions: Hashable, Sendable {
    package var expectations = Expectations()
    package var mode = Mode.auto
    package var maximumAge: Duration?
    package var excludesOldTransactions = false
    package var wantsLatestReceipt = false
    package var includesUnknown = false
    package var account: Account?

    package init() {}

    package init(_ options: VerificationOptions) {
        (expectations, mode, maximumAge) = (options.expectations, options.mode, options.maximumAge)
        (excludesOldTransactions, wantsLatestReceipt) = (options.excludesOldTransactions, options.wantsLatestReceipt)
        (includesUnknown, account) = (options.includesUnknown, options.account)
    }

    package var verificationOptions: VerificationOptions {
        var options = VerificationOptions()
        (options.expectations, options.mode, options.maximumAge) = (expectations, mode, maximumAge)
        options.excludesOldTransactions = excludesOldTransactions
        options.wantsLatestReceipt = wantsLatestReceipt
        (options.includesUnknown, options.account) = (includesUnknown, account)
        return options
    }
}

package struct JobResult: Hashable, Sendable {
    /// The JSON object that `POST /v1/verify` answers with.
    package var json: [UInt8]
    /// `Verdict.name` and `Verdict.reason`.
    package var verdict: String
    package var reason: String?
    package var isDegraded: Bool
    package var environment: Environment?
    package var bundleID: String?
    /// The chains of the transactions, also under previous names; the chain that the request is about first.
    package var originalTransactionIDs: [String]

    package init(
        json: [UInt8], verdict: String, reason: String? = nil, isDegraded: Bool = false,
        environment: Environment? = nil, bundleID: String? = nil, originalTransactionIDs: [String] = []
    ) {
        (self.json, self.verdict, self.reason, self.isDegraded) = (json, verdict, reason, isDegraded)
        (self.environment, self.bundleID) = (environment, bundleID)
        self.originalTransactionIDs = originalTransactionIDs
    }

    /// The purchases in the answer; none if their app or environment is unknown.
    package var chains: [PurchaseChain] {
        guard let bundleID, let environment else { return [] }
        return originalTransactionIDs.map {
            PurchaseChain(bundleID: bundleID, environment: environment, originalTransactionID: $0)
        }
    }

    /// Returns the apps in the answer and in its request. An account belongs to a client and an app.
    package func apps(with request: JobRequest?) -> Set<String> {
        let named = [bundleID, request?.options.expectations.bundleID].compactMap(\.self)
        return Set(named + (chains + (request?.chains ?? [])).map(\.bundleID))
    }
}

extension Event {
    /// Creates the event about a job that has ended; nil if its app is unknown. Every repetition makes the same event.
    /// - Parameter now: the time of the event if the job does not say when it ended.
    package init?(completed job: VerificationJob, at now: Timestamp) {
        let now = job.endedAt ?? now
        let result = job.result, environment = result.environment ?? (job.lane == .sandbox ? .sandbox : .production)
        guard let bundleID = result.bundleID, environment.isApples else { return nil }
        let id = Event.id("verification.completed", bundleID: bundleID, environment, cause: [job.id])
        let scope = EventScope(
            bundleID: bundleID, environment: environment, originalTransactionID: result.originalTransactionIDs.first)
        let cause = EventCause(source: .verification, signedDate: now, traceparent: job.traceparent)
        self.init(.verificationCompleted, id: id, of: scope, at: now, cause) { json in
            json.member("verification_id", job.id)
            json.member("status", job.status.rawValue)
            json.member("verdict", result.verdict)
            json.member("reason", result.reason)
            json.member("is_degraded", result.isDegraded)
        }
    }
}
