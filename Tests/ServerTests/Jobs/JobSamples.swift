// SPDX-License-Identifier: Apache-2.0

import Customers
import Gateway
import RealServers
import Receipts
import Redis

@testable import RedisStore

/// Deferred verifications for tests.
enum JobSamples {
    static let client = "shop"
    static let bundleID = NotificationSamples.bundleID
    static let lease: Duration = .seconds(600)

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

    static func result(_ text: String = "so far", chain: String? = nil) -> JobResult {
        JobResult(
            json: Array(#"{"text":"\#(text)"}"#.utf8), verdict: "undecided", reason: "upstream_did_not_answer",
            environment: .production, bundleID: bundleID, originalTransactionIDs: [chain].compactMap(\.self))
    }

    static func job(
        _ id: String, _ request: JobRequest = request(), client: String = client, lane: JobLane = .production,
        deadline: Timestamp = .now().advanced(by: .seconds(3600))
    ) -> VerificationJob {
        VerificationJob(
            id: id, client: client, createdAt: StoreSamples.time(0), deadline: deadline, lane: lane, request: request,
            result: result())
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
}
