// SPDX-License-Identifier: Apache-2.0

import Cryptography
import Customers
import Foundation
import HTTPTypes
import NIOCore
import NIOHTTP1
import Receipts
import Resilience
import Synchronization
import TestSupport

@testable import API
@testable import Clients
@testable import Gateway
@testable import HTTPServer
@testable import Server
@testable import ServerTestSupport
@testable import Telemetry

/// `POST /v1/verify` and `GET /v1/verifications/{id}` with a scripted App Store Server API, and jobs in this process.
struct DeferredSite {
    static let app = "com.example.shop"
    static let shop = Client.deferring("shop")
    static let other = Client.deferring("other")

    let apple = ScriptedCustomers()
    let registry: PrometheusRegistry
    let store: any JobStore
    let watcher: JobWatcher
    let runner: VerificationRunner
    let events = Mutexed<[JobEvent]>([])
    private let handler: VerifyHandler
    private let access: CurrentAccess
    private let routes: RouteTable

    init(
        _ clients: [Client] = [shop, other], rules: JobRules = JobRules(), store: (any JobStore)? = nil,
        ownership ownershipStore: (any OwnershipStore)? = nil, answerKeys: AnswerKeys? = nil,
        endOfVerifyReceipt sunset: Timestamp? = nil
    ) throws {
        registry = try PrometheusRegistry(MetricCatalogue.all)
        let ports = FleetPorts(
            cache: EmbeddedUpstreamCache(maximumBytes: 1 << 20), limiter: EmbeddedRateLimiter(),
            leases: EmbeddedFlightLeases(), fleetState: EmbeddedFleetState())
        let lifecycle = UpstreamLifecycle(configured: LifecycleDates(sunset: sunset))
        let connection = UpstreamConnection(
            ScriptedApple(.failure(.timeout)), customers: apple, guards: UpstreamGuards(), lifecycle: lifecycle,
            timeouts: .unhurried)
        let upstream = UpstreamVerification(
            connection, fleet: ports, policy: CachePolicy { 0 }, observe: { _ in }, clock: { .now() })
        let verification = VerificationService(verifier: CurrentVerifier(Forged.verifier), apple: upstream)
        let store = store ?? EmbeddedJobStore(rules) { .now() }
        let log = EmbeddedEventLog(EventRetention(maximumCount: 1000, maximumAge: .seconds(86_400))) { .now() }
        let check = OwnershipCheck(
            ownershipStore ?? EmbeddedOwnershipStore(OwnershipRules(), log: log) { .now() }, rules: OwnershipRules(),
            observe: { _ in }, onEvents: { _ in }, clock: { .now() })
        access = CurrentAccess(
            Access(
                AccessRules(clients: clients, pepper: RunningGateway.pepper, answerKeys: answerKeys)))
        (self.store, watcher) = (store, JobWatcher(store))
        let admission = ClientAdmission(rates: ports.limiter, slots: EmbeddedInFlightLimiter())
        let charging = RequestCharging(admission, metrics: LimitMetrics(registry))
        let deferral = Deferral(
            store, rules: rules, verification: verification,
            observe: { [events] event in events.change { $0.append(event) } }, onCreate: { _ in }, clock: { .now() })
        handler = VerifyHandler(
            verification: verification, access: access, charging: charging,
            metrics: VerificationMetrics(registry), nearCache: NearCache(maximumBytes: 1 << 20), lifecycle: lifecycle,
            ownership: check, deferral: deferral, clock: { .now() })
        runner = VerificationRunner(
            verification, store: store, access: access, ownership: check, clock: { .now() })
        let verifications = VerificationRoute(
            store, watcher: watcher, access: access, charging: charging, clock: { .now() })
        routes = RouteTable([handler.route(at: VerdictEndpoint()), verifications.route])
    }

    /// Sends a verification; by default of a transaction ID.
    func verify(
        _ body: String = #"{"transaction_id":"2"}"#, as client: Client = shop, _ fields: HTTPHeaders = [:]
    ) async throws -> DeferredAnswer {
        var fields = fields
        fields.add(name: "Content-Type", value: "application/json")
        let context = try RequestContext.forTests(fields, .POST, "/v1/verify", in: routes, client: client)
        return try await answer(in: context) {
            try handler.route(at: VerdictEndpoint()).handler(context, body.reserved)
        }
    }

    func get(_ target: String, as client: Client = shop) async throws -> DeferredAnswer {
        let context = try RequestContext.forTests([:], .GET, target, in: routes, client: client)
        guard let route = context.match.route else { throw Problem.notFound }
        return try await answer(in: context) { try route.handler(context, "".reserved) }
    }

    private func answer(
        in context: RequestContext, _ take: () throws -> Step<Reply, any Error>
    ) async throws -> DeferredAnswer {
        let reply: Reply
        do { reply = try await take().value() } catch { reply = Reply(Problem(error), requestID: nil) }
        return DeferredAnswer(reply, limits: context.rateLimitFields)
    }

    /// Attempts all jobs that are due once, as the dispatcher does.
    @discardableResult
    func work() async throws -> [JobOutcome] {
        var outcomes: [JobOutcome] = []
        for lane in JobLane.allCases {
            for taken in try await store.take(100, in: lane, lease: .seconds(60)) {
                guard let request = taken.job.request else { continue }
                let outcome = await runner.run(taken.job, request)
                outcomes.append(outcome)
                switch outcome {
                case .decided(let result):
                    _ = try await store.end(taken, .done, result: result)
                    watcher.announce(taken.job.id)
                case .waiting(let result, _):
                    try await store.postpone(taken, for: .zero, result: result, isAttempt: true)
                case .impossible: _ = try await store.end(taken, .failed, result: taken.job.result)
                }
            }
        }
        return outcomes
    }
}

extension String {
    fileprivate var reserved: ReservedBody { ReservedBody(ByteBuffer(string: self), nil) }
}

/// An answer with its JSON.
struct DeferredAnswer {
    let reply: Reply
    private let limits: [HTTPField]
    private let members: NSDictionary

    init(_ reply: Reply, limits: [HTTPField]) {
        (self.reply, self.limits, members) = (reply, limits, reply.text.jsonObject ?? [:])
    }

    var status: Int { reply.status.code }
    func field(_ name: HTTPField.Name) -> String? { reply.fields[name] }
    /// Returns a field about rate limits.
    func limit(_ name: String) -> String? { limits.first { $0.name.rawName == name }?.value }
    func text(_ name: String) -> String? { members[name] as? String }
    /// The verdict of the answer, or of the answer in a job.
    var verdict: String? { (members["answer"] as? NSDictionary ?? members)["verdict"] as? String }
    var attempts: Int? { members["attempts"] as? Int }
    var isDurable: Bool? { members["durable"] as? Bool }
    var body: String { reply.text }
    var location: String { field(.location) ?? "" }
}

extension Client {
    static func deferring(
        _ name: String, _ deferral: DeferralPolicy = .onRequest, ownership: OwnershipPolicy = .report
    ) -> Client {
        Client(name: name, apps: .only([DeferredSite.app]), keys: [], ownership: ownership, deferral: deferral)
    }
}

/// An App Store Server API that knows the transaction 2, or does not answer.
final class ScriptedCustomers: CustomerLookup {
    private let isDown = Atomic(true)
    private let ids = RecordedValues<String>()

    /// The IDs of the calls that it answered.
    var asked: [String] { ids.all }
    /// The calls about IDs that it does not know.
    var unknown: Int { asked.count { $0 != "2" } }

    func comeBack() { isDown.store(false, ordering: .relaxed) }

    func hasKey(forApp bundleID: String) -> Bool { bundleID == DeferredSite.app }

    func purchases(_ request: CustomerRequest, deadline: ContinuousClock.Instant) async -> UpstreamResult {
        guard !isDown.load(ordering: .relaxed) else { return .unanswered(.upstreamTimeout) }
        ids.add(request.transactionID)
        guard request.transactionID == "2" else { return .unknownTransaction(.notFound) }
        return .answered(
            UpstreamAnswer(
                environment: .sandbox, bundleID: request.bundleID,
                transactions: [Transaction(productID: "item", transactionID: "2")], renewals: [], latestReceipt: nil,
                body: []))
    }
}

/// A store that never answers, or refuses all jobs.
struct UnreachableJobs: JobStore {
    let isDurable = true
    var refusal = JobRefusal.storeUnreachable

    func create(_ job: VerificationJob, key: String?) throws(JobRefusal) -> JobCreation { throw refusal }
    func job(_ id: String) throws(StoreUnreachable) -> VerificationJob? { throw StoreUnreachable() }
    func job(
        withKey key: String, for request: JobRequest, of client: String
    ) throws(JobRefusal) -> VerificationJob? { throw .storeUnreachable }
    func statuses(of ids: [String]) throws(StoreUnreachable) -> [JobStatus?] { throw StoreUnreachable() }
    func take(_ maximum: Int, in lane: JobLane, lease: Duration) throws(StoreUnreachable) -> [TakenJob] {
        throw StoreUnreachable()
    }
    func postpone(
        _ taken: TakenJob, for delay: Duration, result: JobResult, isAttempt: Bool
    ) throws(StoreUnreachable) { throw StoreUnreachable() }
    func end(
        _ taken: TakenJob, _ status: JobStatus, result: JobResult, at time: Timestamp
    ) throws(StoreUnreachable) -> Bool { throw StoreUnreachable() }
    func survived(_ ids: [String]) throws(StoreUnreachable) { throw StoreUnreachable() }
    func announced(_ taken: TakenJob) throws(StoreUnreachable) { throw StoreUnreachable() }
    func survey() -> JobSurvey? { nil }
    func list(_ status: JobStatus, maximum: Int) throws(StoreUnreachable) -> [VerificationJob] {
        throw StoreUnreachable()
    }
    func erase(_ subject: ErasureSubject) throws(StoreUnreachable) -> ErasureCount { throw StoreUnreachable() }
}
