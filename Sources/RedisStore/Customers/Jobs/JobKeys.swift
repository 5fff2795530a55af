// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import Customers
internal import Gateway
internal import Receipts
internal import Redis

/// The keys of deferred verifications, all in one hash slot. Apple's budget bounds their rate, and the limits of all
/// clients are checked in one step. No key expires, so that `volatile-*` policies evict none.
///
/// ```
/// gw:{v}:job:<id>       hash: one job; its texts are encrypted
/// gw:{v}:due:<lane>     sorted set: the IDs of jobs to work on, by the time of the next attempt or the end of a lease
/// gw:{v}:waiting        sorted set: the IDs of jobs without a verdict, by the time of their creation
/// gw:{v}:done           sorted set: the IDs of jobs that ended with a verdict, by the time of their end
/// gw:{v}:expired        sorted set: the IDs of expired jobs, by the time of their end
/// gw:{v}:failed         sorted set: the IDs of failed jobs, by the time of their end
/// gw:{v}:ended:<client> sorted set: the IDs of the ended jobs of one client, by the time of their end
/// gw:{v}:usage          hash: the number and bytes of each client's waiting jobs, the bytes of its kept verdicts, and the
///                       bytes of all
/// gw:{v}:same           hash: the IDs of jobs, by the names of idempotency keys and of waiting requests
/// gw:{v}:about:<name>   sorted set: the IDs of jobs about one purchase or account, by the time of their creation
/// ```
enum JobKeys {
    static let prefix = "gw:{v}:"
    static let usage = prefix + "usage"
    static let same = prefix + "same"
    static let duePrefix = prefix + "due:"
    static let aboutPrefix = prefix + "about:"
    static let endedPrefix = prefix + "ended:"

    static func job(_ id: String) -> String { "\(prefix)job:\(id)" }

    static func due(_ lane: JobLane) -> String { duePrefix + lane.rawValue }

    /// The IDs of the jobs of a status.
    static func jobs(_ status: JobStatus) -> String { prefix + status.rawValue }
}

/// The name that binds an encrypted text to its job. The name of an answer also has the status, which is not encrypted.
enum JobSealName {
    static func head(_ id: String) -> String { JobKeys.job(id) + " head" }

    static func request(_ id: String) -> String { JobKeys.job(id) + " request" }

    static func answer(_ id: String, _ status: JobStatus) -> String {
        "\(JobKeys.job(id)) answer \(status.rawValue)"
    }
}

/// Pseudonymous names under every cache key; the first writes.
struct JobNames: Sendable {
    private let names: [StoreNames]

    init(_ keys: StoreKeys) { names = keys.all.map { StoreNames($0) } }

    func client(_ client: String) -> [RedisWord] { all("job client", [Array(client.utf8)]) }

    /// The names of an `Idempotency-Key` of a client.
    func key(_ key: String, of client: String) -> [RedisWord] {
        all("job key", [Array(client.utf8), Array(key.utf8)])
    }

    func request(_ request: JobRequest, of client: String) -> [RedisWord] {
        all("job request", [Array(client.utf8), request.identity])
    }

    /// The names by which a job is found when a customer's data is deleted.
    func erasure(_ subject: ErasureSubject) -> [RedisWord] {
        subject.chains.flatMap { chain($0) } + (subject.account.map { account($0, in: subject.bundleID) } ?? [])
    }

    /// The first names of the customer in a request and an answer.
    func about(_ request: JobRequest?, _ result: JobResult) -> [RedisWord] {
        let chains = Set(result.chains + (request?.chains ?? []))
        let apps = Set(
            chains.map(\.bundleID) + [request?.options.expectations.bundleID, result.bundleID].compactMap(\.self))
        let accounts = request?.options.account.map { account in apps.map { self.account(account, in: $0)[0] } } ?? []
        return chains.map { chain($0)[0] } + accounts
    }

    private func chain(_ chain: PurchaseChain) -> [RedisWord] {
        let parts = [chain.bundleID, chain.environment.rawValue, chain.originalTransactionID]
        return all("job chain", parts.map { Array($0.utf8) })
    }

    private func account(_ account: Account, in bundleID: String) -> [RedisWord] {
        all("job account", [Array(bundleID.utf8), Array(account.id.utf8)])
    }

    private func all(_ area: String, _ parts: [[UInt8]]) -> [RedisWord] {
        names.map { RedisWord($0.name(area, parts)) }
    }
}
