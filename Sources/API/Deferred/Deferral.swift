// SPDX-License-Identifier: Apache-2.0

internal import Clients
package import Customers
package import Gateway
internal import HTTPServer
internal import HTTPTypes
internal import JSON
package import Receipts
internal import Resilience
internal import Telemetry

/// The deferral of verifications: a job that is stored, and an answer with 202.
package final class Deferral: Sendable {
    enum Limits {
        /// The chains by which an erasure finds a job, those with the newest transactions.
        static let chains = 1000
    }

    private let store: any JobStore
    private let rules: JobRules
    private let verification: VerificationService
    private let observe: @Sendable (JobEvent) -> Void
    private let onCreate: @Sendable (JobLane) -> Void
    private let clock: @Sendable () -> Timestamp

    /// - Parameter verification: finds the purchases in evidence.
    package init(
        _ store: any JobStore, rules: JobRules, verification: VerificationService,
        observe: @escaping @Sendable (JobEvent) -> Void, onCreate: @escaping @Sendable (JobLane) -> Void,
        clock: @escaping @Sendable () -> Timestamp
    ) {
        (self.store, self.rules, self.verification) = (store, rules, verification)
        (self.observe, self.onCreate, self.clock) = (observe, onCreate, clock)
    }

    /// Returns the answer of the job that the client made with the same key; nil for none, and if the store is unreachable.
    /// - Throws: the problem of a key with another request.
    func reply(to request: VerificationRequest, under terms: DeferralTerms, of client: Client) async throws(Problem)
        -> Reply?
    {
        guard let key = terms.key else { return nil }
        let wanted = JobRequest(request.subject, JobOptions(request.options), chains: [])
        do throws(JobRefusal) {
            let job = try await store.job(withKey: key.text, for: wanted, of: client.name)
            // A job without a verdict is no answer: the client sends the purchase again.
            // The request itself is checked against the client's apps: a job of an app that the client lost is no answer.
            guard let job, job.status.holdsKeys, client.apps.contains(job.result.bundleID) else {
                return nil
            }
            return reply(job, under: terms)
        } catch {
            guard error != .keyReused else { throw .idempotencyKeyReused }
            return nil
        }
    }

    /// Stores a job, and returns its answer.
    /// - Parameter plain: the reply with the answer so far, which is sent if the job cannot be stored.
    /// - Throws: the problem of a limit, if the client prefers no answer to an answer that is not final.
    func reply(
        deferring answer: Answer, _ plain: Reply, to request: VerificationRequest, under terms: DeferralTerms,
        of client: Client
    ) async throws(Problem) -> Reply {
        let job = job(for: request, answer, plain, of: client)
        do throws(JobRefusal) {
            switch try await store.create(job, key: terms.key?.text) {
            case .created:
                observe(.created)
                onCreate(job.lane)
                return reply(job, under: terms)
            case .joined(let joined):
                observe(.joined)
                return reply(joined, under: terms)
            }
        } catch {
            observe(.refused(error))
            switch error {
            case .storeUnreachable, .evicts, .tooLarge: return plain
            case .keyReused: throw .idempotencyKeyReused
            case .tooManyKeys: throw .tooManyIdempotencyKeys
            case .clientLimit, .totalLimit:
                // A verdict without Apple's part is more than none, unless the request prefers the job.
                guard terms.isPreferred || answer.verdict != .genuine else { return plain }
                throw error == .clientLimit ? .tooManyJobsOfClient : .tooManyJobs
            }
        }
    }

    private func reply(_ job: VerificationJob, under terms: DeferralTerms) -> Reply {
        guard job.status == .waiting else { return Reply(answerOf: job) }
        var reply = Reply(job, isDurable: store.isDurable, at: clock())
        reply.fields[.location] = job.location
        if terms.isPreferred { reply.fields[.preferenceApplied] = "respond-async" }
        return reply
    }

    private func job(
        for request: VerificationRequest, _ answer: Answer, _ plain: Reply, of client: Client
    ) -> VerificationJob {
        let now = clock(), signed = signedAnswer(about: request, at: now)
        var result = JobResult(answer, json: plain.body.bytes)
        result.environment = result.environment ?? signed?.environment
        result.bundleID = result.bundleID ?? signed?.subject?.bundleID ?? request.options.expectations.bundleID
        if result.originalTransactionIDs.isEmpty { result.originalTransactionIDs = signed?.chainIDs ?? [] }
        return VerificationJob(
            id: VerificationJob.newID(), client: client.name, createdAt: now,
            deadline: now.advanced(by: rules.maximumAge), lane: JobLane(lane: result.environment),
            traceparent: TraceScope.current?.context.traceparent,
            request: JobRequest(
                request.subject, JobOptions(request.options), chains: signed?.chains ?? request.lookupChains),
            nextAttempt: now, result: result)
    }

    /// Returns what the evidence says by itself; nil for a request without evidence.
    private func signedAnswer(about request: VerificationRequest, at now: Timestamp) -> Answer? {
        guard case .evidence = request.subject else { return nil }
        let local = request.with { ($0.mode, $0.excludesOldTransactions) = (.local, false) }
        guard case .done(let answer)? = try? verification.answer(local, at: now).computed() else { return nil }
        return answer
    }
}

extension JobResult {
    init(_ answer: Answer, json: [UInt8]) {
        self.init(
            json: json, verdict: answer.verdict.name, reason: answer.verdict.reason,
            isDegraded: answer.provenance.isDegraded, environment: answer.environment,
            bundleID: answer.subject?.bundleID, originalTransactionIDs: answer.chainIDs)
    }
}

extension Answer {
    /// The purchases in the answer, under all names they had; none without a signed app and environment.
    fileprivate var chains: [PurchaseChain] {
        guard let bundleID = subject?.bundleID, let environment else { return [] }
        return chainIDs.map { id in
            PurchaseChain(bundleID: bundleID, environment: environment, originalTransactionID: id)
        }
    }

    /// The original transaction IDs: first of the purchase that the request is about, then of the newest transactions, then
    /// the previous IDs, up to the limit.
    fileprivate var chainIDs: [String] {
        let transactions = transactions.values, present = transactions.chainsByAge
        let previous = Set(transactions.compactMap { $0.signedFields?.value.previousOriginalTransactionID })
        let all = present + previous.subtracting(present).sorted()
        let sent = sentChainID.map { ChainNames(transactions, renewals).current($0) }
        let first = all.filter { $0 == sent }
        return Array((first + all.filter { $0 != sent }).prefix(Deferral.Limits.chains))
    }

    /// The chain that the request is about: of the ID that it has, or of the newest transaction in its evidence. Apple's answer
    /// has the customer's other purchases too.
    private var sentChainID: String? {
        switch subject {
        case .signed(let evidence): evidence.transactions.values.chainsByAge.first
        case .lookup(_, let id): transactions.first { $0.transactionID == id }?.chainID ?? id
        case nil: nil
        }
    }
}

extension VerificationRequest {
    /// The purchases that a transaction ID may be about.
    fileprivate var lookupChains: [PurchaseChain] {
        guard case .transactionID(let id) = subject, let bundleID = options.expectations.bundleID else { return [] }
        return [.production, .sandbox].map { environment in
            PurchaseChain(bundleID: bundleID, environment: environment, originalTransactionID: id)
        }
    }
}

extension Reply {
    /// Creates the answer about a job: 202 with the time to come again while it waits, else 200.
    init(_ job: VerificationJob, isDurable: Bool, at now: Timestamp) {
        self.init(json: job.json(isDurable: isDurable), fields: .ofUnstoredJSON)
        guard job.status == .waiting else { return }
        status = .accepted
        fields[.retryAfter] = String(job.secondsToNextAttempt(at: now))
    }

    /// Creates the answer to a request whose job has ended: the answer that is kept.
    init(answerOf job: VerificationJob) {
        self.init(json: job.result.json, fields: .ofUnstoredJSON)
        fields[.contentLocation] = job.location
    }
}

extension VerificationJob {
    enum Limits {
        static let idBytes = 64
        /// The seconds after which a client may come again.
        static let retryAfter: ClosedRange<Int64> = 1...60
    }

    /// Returns an ID that cannot be guessed.
    fileprivate static func newID() -> String {
        var random = SystemRandomNumberGenerator()
        return "ver_" + Base64.encodeURL((0..<16).map { _ in random.next() })
    }

    var location: String { "/v1/verifications/\(id)" }

    func json(isDurable: Bool) -> [UInt8] {
        JSONWriter.object(reservingCapacity: result.json.count + 512) { json in
            json.member("id", id)
            json.member("status", status.rawValue)
            json.member("created_at", createdAt)
            json.member("deadline", deadline)
            json.member("attempts", attempts)
            json.member("next_attempt_at", nextAttempt)
            json.member("durable", isDurable)
            json.member("answer", object: result.json)
        }
    }

    fileprivate func secondsToNextAttempt(at now: Timestamp) -> Int64 {
        let range = Limits.retryAfter
        let left = nextAttempt.map { now.duration(to: $0).components.seconds + 1 } ?? range.upperBound
        return min(max(left, range.lowerBound), range.upperBound)
    }
}
