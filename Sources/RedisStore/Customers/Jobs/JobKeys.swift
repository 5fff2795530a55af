// SPDX-License-Identifier: Apache-2.0

internal import Customers
internal import Gateway
internal import JSON
internal import Receipts
package import Redis

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

    static func jobs(_ status: JobStatus) -> String { prefix + status.rawValue }
}

/// The name that binds an encrypted text to its job. The name of an answer also has the status, which is not encrypted.
enum JobSealName {
    static func head(_ id: String) -> String { JobKeys.job(id) + " head" }

    static func request(_ id: String) -> String { JobKeys.job(id) + " request" }

    static func trace(_ id: String) -> String { JobKeys.job(id) + " trace" }

    static func answer(_ id: String, _ status: JobStatus) -> String {
        "\(JobKeys.job(id)) answer \(status.rawValue)"
    }
}

extension EntryNames {
    func jobClient(_ client: String) -> [RedisWord] { words("job client", [Array(client.utf8)]) }

    /// The names of an `Idempotency-Key` of a client.
    func jobKey(_ key: String, of client: String) -> [RedisWord] {
        words("job key", [Array(client.utf8), Array(key.utf8)])
    }

    func jobRequest(_ request: JobRequest, of client: String) -> [RedisWord] {
        words("job request", [Array(client.utf8), request.identity])
    }

    /// The names by which a job is found when a customer's data is deleted.
    func ofJobs(about subject: ErasureSubject) -> [RedisWord] {
        subject.chains.flatMap { chain($0) } + (subject.account.map { account($0, in: subject.bundleID) } ?? [])
    }

    /// The first names of the customer in a request and an answer.
    func ofJob(about request: JobRequest?, _ result: JobResult) -> [RedisWord] {
        let chains = Set(result.chains + (request?.chains ?? [])), apps = result.apps(with: request)
        let accounts = request?.options.account.map { account in apps.map { self.account(account, in: $0)[0] } } ?? []
        return chains.map { chain($0)[0] } + accounts
    }

    private func chain(_ chain: PurchaseChain) -> [RedisWord] { words("job chain", chain.nameParts) }

    private func account(_ account: Account, in bundleID: String) -> [RedisWord] {
        words("job account", [Array(bundleID.utf8), Array(account.id.utf8)])
    }

    private func words(_ area: String, _ parts: [[UInt8]]) -> [RedisWord] {
        names(area, parts).map { RedisWord($0) }
    }
}

/// The numbers of deferred verifications in Redis, for the doctor. Reading them needs no key and changes nothing.
package struct JobCounts: Hashable, Sendable {
    package let waiting: Int
    package let bytes: Int
    package let failed: Int

    package init(waiting: Int, bytes: Int, failed: Int) {
        (self.waiting, self.bytes, self.failed) = (waiting, bytes, failed)
    }

    /// Reads the numbers. Returns nil if Redis does not answer, or has other data under these keys.
    package init?(_ redis: any RedisCommands) async {
        let answers = await redis.send([
            RedisCommand("ZCARD", key: RedisWord(JobKeys.jobs(.waiting))),
            RedisCommand("ZCARD", key: RedisWord(JobKeys.jobs(.failed))),
            RedisCommand("HGET", key: RedisWord(JobKeys.usage), "total"),
        ]).map { try? $0.get() }
        guard case .integer(let waiting) = answers[0], case .integer(let failed) = answers[1] else { return nil }
        (self.waiting, self.failed) = (Int(clamping: waiting), Int(clamping: failed))
        bytes = Int(clamping: answers[2]?.number ?? 0)
    }
}

// MARK: - Stored jobs

/// The reason why a stored job cannot be read.
enum StoredJobFault: Error {
    /// Another node can: it has the key, or the newer version.
    case foreign
    /// No node can.
    case unreadable
}

/// The fields of a job in Redis, as `JobScripts.Fields` names them.
struct StoredJob {
    let id: String
    let status: JobStatus
    private let attempts: Int
    private let nextAttempt: Timestamp?
    private let endedAt: Timestamp?
    private let head: [UInt8]
    private let answer: [UInt8]
    /// Of a taken job only.
    let losses: Int
    private let request: [UInt8]?
    private let trace: [UInt8]?

    init?(_ id: String, _ values: some Collection<RedisValue>) {
        let values = Array(values)
        guard values.count >= JobScripts.Fields.described.count,
            let status = values[0].text.flatMap({ JobStatus(rawValue: $0) })
        else { return nil }
        (self.id, self.status) = (id, status)
        attempts = Int(clamping: values[1].number ?? 0)
        nextAttempt = values[2].number.map { Timestamp(millisecondsSince1970: $0) }
        (head, answer) = (values[3].bytes ?? [], values[4].bytes ?? [])
        endedAt = values[5].number.map { Timestamp(millisecondsSince1970: $0) }
        let isTaken = values.count == JobScripts.Fields.taken.count
        losses = isTaken ? Int(clamping: values[6].number ?? 0) : 0
        (request, trace) = isTaken ? (values[7].bytes, values[8].bytes) : (nil, nil)
    }

    func job(_ seal: JobSeal) throws(StoredJobFault) -> VerificationJob {
        let head = try seal.open(head, for: JobSealName.head(id), JobConstants.init(storedBytes:))
        let result = try seal.open(answer, for: JobSealName.answer(id, status), JobResult.init(storedBytes:))
        return VerificationJob(
            id: id, client: head.client, createdAt: head.createdAt, deadline: head.deadline, lane: head.lane,
            traceparent: traceparent(seal), request: nil, status: status, attempts: attempts,
            nextAttempt: status == .waiting ? nextAttempt : nil,
            endedAt: endedAt, result: result)
    }

    /// Returns the span of the request that made it; nil for none, and if this node cannot read it.
    private func traceparent(_ seal: JobSeal) -> String? {
        guard let trace else { return nil }
        return try? seal.open(trace, for: JobSealName.trace(id)) { String(outside: $0) }
    }

    /// Returns the request; nil if no node can read it.
    func request(_ seal: JobSeal) throws(StoredJobFault) -> JobRequest? {
        do throws(StoredJobFault) {
            return try seal.open(request ?? [], for: JobSealName.request(id), JobRequest.init(storedBytes:))
        } catch .unreadable {
            return nil
        }
    }
}

struct JobSeal: Sendable {
    let seal: StoreSeal
    let observe: @Sendable (SharedCacheFault) -> Void

    func seal(_ value: [UInt8], for name: String) -> RedisWord { RedisWord(seal.seal(value, for: name)) }

    func open<Value>(
        _ sealed: [UInt8], for name: String, _ decode: ([UInt8]) throws(StoredFormFault) -> Value
    ) throws(StoredJobFault) -> Value {
        let bytes: [UInt8]
        do throws(SharedCacheFault) {
            bytes = try seal.open(sealed, for: name)
        } catch {
            observe(error)
            throw error == .sealUnknownKey ? .foreign : .unreadable
        }
        do throws(StoredFormFault) {
            return try decode(bytes)
        } catch .unknownVersion {
            throw .foreign
        } catch {
            throw .unreadable
        }
    }
}
