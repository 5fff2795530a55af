// SPDX-License-Identifier: Apache-2.0

import Customers
import Gateway
import RealServers
import Receipts
import Redis
import TestSupport

@testable import RedisStore

/// Deferred verifications for tests.
enum JobSamples {
    static let client = "shop"
    static let bundleID = NotificationSamples.bundleID
    static let lease: Duration = .seconds(600)
    static let traceparent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"

    static func chain(_ id: String) -> PurchaseChain {
        PurchaseChain(bundleID: bundleID, environment: .production, originalTransactionID: id)
    }

    /// Returns a request with evidence of its own.
    static func request(
        _ number: Int = 1, bytes: Int = 64, chains: [PurchaseChain] = [], account: String? = nil
    ) -> JobRequest {
        var options = JobOptions()
        options.expectations.bundleID = bundleID
        options.account = account.flatMap { Account($0) }
        let evidence = Array("evidence \(number) ".utf8) + [UInt8](repeating: 0x78, count: bytes)
        return JobRequest(.evidence(.appReceipt(evidence)), options, chains: chains)
    }

    /// Returns an erasure of the customer with these purchases.
    static func subject(_ chains: String..., account: String? = nil) -> ErasureSubject {
        ErasureSubject(
            bundleID: bundleID, chains: Set(chains.map { chain($0) }), account: account.flatMap { Account($0) })
    }

    static func result(_ text: String = "so far", chain: String? = nil) -> JobResult {
        JobResult(
            json: Array(#"{"text":"\#(text)"}"#.utf8), verdict: "undecided", reason: "upstream_did_not_answer",
            environment: .production, bundleID: bundleID, originalTransactionIDs: [chain].compactMap(\.self))
    }

    static func job(
        _ id: String, _ request: JobRequest = request(), client: String = client, lane: JobLane = .production,
        deadline: Timestamp = .now().advanced(by: .seconds(3600)), traceparent: String? = nil
    ) -> VerificationJob {
        VerificationJob(
            id: id, client: client, createdAt: StoreSamples.time(0), deadline: deadline, lane: lane,
            traceparent: traceparent, request: request, result: result())
    }
}

extension JobStore {
    /// Ends a job at a time that does not matter.
    func end(_ taken: TakenJob, _ status: JobStatus, result: JobResult) async throws(StoreUnreachable) -> Bool {
        try await end(taken, status, result: result, at: StoreSamples.time(0))
    }
}

extension JobCreation {
    /// The ID of the job that a request joined; nil if it created one.
    var joinedID: String? {
        if case .joined(let job) = self { job.id } else { nil }
    }
}

extension NotificationStage {
    func jobs(
        keys: String = StoreSamples.firstKey, _ edit: (inout JobRules) -> Void = { _ in },
        observe: @escaping @Sendable (SharedCacheFault) -> Void = { _ in }
    ) -> RedisJobStore {
        var rules = JobRules()
        edit(&rules)
        return RedisJobStore(redis, keys: StoreSamples.keys(keys), rules: rules, observe: observe)
    }

    /// Returns a field of a job as it is in Redis.
    func field(_ name: String, ofJob id: String) throws -> String { try server.ask("HGET", JobKeys.job(id), name) }

    /// Makes all jobs of a queue due, as time does.
    func makeDue(_ lane: JobLane = .production) throws {
        for id in try server.ask("ZRANGE", JobKeys.due(lane), "0", "-1").split(separator: "\n") {
            try server.ask("ZADD", JobKeys.due(lane), "1", String(id))
        }
    }

    /// Replaces a byte in the middle of a sealed field.
    func damage(_ name: String, ofJob id: String) async throws {
        let key = RedisWord(JobKeys.job(id)), name = RedisWord(name)
        var bytes = try await redis.send(RedisCommand("HGET", key: key, name)).bytes ?? []
        bytes[bytes.count / 2] ^= 1
        _ = try await redis.send(RedisCommand("HSET", key: key, name, RedisWord(bytes)))
    }
}

extension JobStore {
    /// Takes one job that is due now.
    func takeOne(in lane: JobLane = .production, lease: Duration = JobSamples.lease) async throws -> TakenJob? {
        try await take(1, in: lane, lease: lease).first
    }

    /// Creates jobs with the IDs `ver_1`, `ver_2`, ….
    func createJobs(_ count: Int, chains: [PurchaseChain] = []) async throws {
        for number in 1...count {
            let request = JobSamples.request(number, chains: chains)
            _ = try await create(JobSamples.job("ver_\(number)", request), key: nil)
        }
    }
}

/// A store of jobs that two nodes share.
struct SharedJobs {
    let nodes: (any JobStore, any JobStore)
    /// Nil if the store is in this process.
    let redis: NotificationStage?
    private let clock = StandingClock(100)

    init(_ kind: StoreKind, _ edit: (inout JobRules) -> Void = { _ in }) {
        redis = kind == .redis ? .current : nil
        if let redis {
            nodes = (redis.jobs(edit), redis.jobs(edit))
        } else {
            var rules = JobRules()
            edit(&rules)
            let store = EmbeddedJobStore(rules) { [clock] in clock.time }
            nodes = (store, store)
        }
    }

    var store: any JobStore { nodes.0 }

    /// The time of the store's clock.
    var now: Timestamp { redis == nil ? clock.time : .now() }

    /// Waits until the store's clock has moved on.
    func tick() async throws {
        if let redis { try await redis.nextMillisecond() } else { clock.advance(by: .seconds(1)) }
    }

    /// Makes all jobs due, as time does.
    func makeDue() throws {
        if let redis { try redis.makeDue() } else { clock.advance(by: JobSamples.lease) }
    }
}
