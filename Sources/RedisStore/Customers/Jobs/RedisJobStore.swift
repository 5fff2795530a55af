// SPDX-License-Identifier: Apache-2.0

internal import Customers
internal import Gateway
internal import Receipts
internal import Redis

/// Deferred verifications in Redis, encrypted under pseudonymous names. The clock of Redis decides what is due.
struct RedisJobStore: JobStore {
    private let redis: any RedisCommands
    private let names: EntryNames
    private let seal: JobSeal
    private let rules: JobRules

    let isDurable = true

    enum Limits {
        /// The bytes of one job, as stored: a receipt of the largest body, and an answer to it.
        static let jobBytes = 24 << 20
        /// The bytes of one reply: a job, and the jobs that were taken before it.
        static let replyBytes = 32 << 20
        /// The bytes after which no more jobs are taken at once.
        static let takenBytes = 1 << 20
        /// The time after which a job that this node cannot read is due for other nodes.
        static let foreignDelay: Duration = .seconds(5)
        /// The time after its deadline at which a job is deleted that no node could read.
        static let foreignAge: Duration = .seconds(3600)
        /// The ended jobs that one survey deletes.
        static let forgotten = 256
        /// The jobs, and the names of customers, of one step of a deletion.
        static let erased = 256
        /// The steps of a deletion about the same names: more jobs than the store may have.
        static let erasures = 10_000
        /// The jobs of the longest list of an operator, and one job that shows that there are more.
        static let listed = 1001
    }

    init(
        _ redis: any RedisCommands, keys: StoreKeys, rules: JobRules,
        observe: @escaping @Sendable (SharedCacheFault) -> Void
    ) {
        (self.redis, self.rules) = (redis, rules)
        names = EntryNames(keys)
        seal = JobSeal(seal: StoreSeal(keys: keys), observe: observe)
    }

    /// Runs a script. All keys are in the slot of the key that the script gets.
    @discardableResult
    private func run(
        _ script: RedisScript, _ arguments: any RedisArgument...
    ) async throws(StoreUnreachable) -> RedisValue {
        let call = ScriptCall(keys: [RedisWord(JobKeys.usage)], words: arguments.redisWords)
        return try await redis.replies(script, [call])[0]
    }

    // MARK: - Clients

    func create(_ job: VerificationJob, key: String?) async throws(JobRefusal) -> JobCreation {
        guard let request = job.request else { throw .storeUnreachable }
        guard let arguments = arguments(job, request, key: key) else { throw .tooLarge }
        guard case .array(let parts)? = try? await run(JobScripts.create, arguments),
            let creation = parts.first?.text.flatMap({ JobScripts.Creation(rawValue: $0) })
        else { throw .storeUnreachable }
        switch creation {
        case .created: return .created
        case .joined: return .joined(try joined(parts.dropFirst()))
        case .reused: throw .keyReused
        case .tooManyKeys: throw .tooManyKeys
        case .clientLimit: throw .clientLimit
        case .totalLimit: throw .totalLimit
        case .evicts: throw .evicts
        }
    }

    /// Returns the arguments of `JobScripts.create`; nil for a job that is too large.
    private func arguments(_ job: VerificationJob, _ request: JobRequest, key: String?) -> [RedisWord]? {
        let texts = [
            seal.seal(JobConstants(job).storedBytes, for: JobSealName.head(job.id)),
            seal.seal(request.storedBytes, for: JobSealName.request(job.id)),
            sealed(job.result, job.id, .waiting),
            job.traceparent.map { seal.seal(Array($0.utf8), for: JobSealName.trace(job.id)) } ?? "",
        ]
        let about = names.ofJob(about: request, job.result)
        guard (texts + about).reduce(0, { $0 + $1.bytes.count }) <= Limits.jobBytes else { return nil }
        let identities = [
            names.jobClient(job.client), names.jobRequest(request, of: job.client),
            key.map { names.jobKey($0, of: job.client) } ?? [],
        ]
        let limits = [rules.maximumCount, rules.maximumBytes, rules.maximumTotalBytes, JobRules.Limits.keys]
        return [RedisWord(job.id), RedisWord(JobKeys.due(job.lane))] + texts
            + [RedisWord(job.deadline.millisecondsSince1970)] + limits.redisWords
            + identities.map(\.count).redisWords + identities.flatMap(\.self) + about
    }

    private func joined(_ parts: ArraySlice<RedisValue>) throws(JobRefusal) -> VerificationJob {
        guard let id = parts.first?.text, let job = try? StoredJob(id, parts.dropFirst())?.job(seal) else {
            throw .storeUnreachable
        }
        return job
    }

    func job(_ id: String) async throws(StoreUnreachable) -> VerificationJob? {
        guard let stored = try await stored([id]).first else { return nil }
        do throws(StoredJobFault) {
            return try stored.job(seal)
        } catch .unreadable {
            return nil
        } catch {
            // Another node can read it.
            throw StoreUnreachable()
        }
    }

    func job(
        withKey key: String, for request: JobRequest, of client: String
    ) async throws(JobRefusal) -> VerificationJob? {
        let identities = names.jobRequest(request, of: client)
        let found: (id: String, requestName: RedisWord)?
        do throws(StoreUnreachable) {
            found = try await job(named: names.jobKey(key, of: client))
            guard let found else { return nil }
            if identities.contains(found.requestName) { return try await job(found.id, of: client) }
        } catch {
            throw .storeUnreachable
        }
        throw .keyReused
    }

    /// Returns the job with a key, unless it has ended without a verdict: then the key may be used again.
    private func job(named names: [RedisWord]) async throws(StoreUnreachable) -> (id: String, requestName: RedisWord)? {
        let ids = names.map { RedisCommand("HGET", key: RedisWord(JobKeys.same), $0) }
        for id in try await redis.replies(to: ids, ofAnotherType: .null).compactMap(\.text) {
            let fields = RedisCommand("HMGET", key: RedisWord(JobKeys.job(id)), "request_name", "status")
            let values = try await redis.replies(to: [fields], ofAnotherType: .null)[0].elements
            guard values.count == 2, let name = values[0].bytes,
                values[1].text.flatMap({ JobStatus(rawValue: $0) })?.holdsKeys == true
            else { continue }
            return (id, RedisWord(name))
        }
        return nil
    }

    func statuses(of ids: [String]) async throws(StoreUnreachable) -> [JobStatus?] {
        let commands = ids.map { RedisCommand("HGET", key: RedisWord(JobKeys.job($0)), "status") }
        return try await redis.replies(to: commands, ofAnotherType: .null).map {
            $0.text.flatMap { JobStatus(rawValue: $0) }
        }
    }

    private func stored(_ ids: [String]) async throws(StoreUnreachable) -> [StoredJob] {
        let commands = ids.map { RedisCommand("HMGET", key: RedisWord(JobKeys.job($0)), JobScripts.Fields.described) }
        return zip(ids, try await redis.replies(to: commands, ofAnotherType: .null)).compactMap { id, reply in
            StoredJob(id, reply.elements)
        }
    }

    // MARK: - Workers

    func take(_ maximum: Int, in lane: JobLane, lease: Duration) async throws(StoreUnreachable) -> [TakenJob] {
        let token = String.randomName(), width = 1 + JobScripts.Fields.taken.count
        let parts = try await run(
            JobScripts.take, JobKeys.due(lane), max(0, maximum), Limits.takenBytes, lease, token
        ).list()
        var taken: [TakenJob] = []
        for start in stride(from: 0, to: parts.count - width + 1, by: width) {
            let place = JobClaim(id: parts[start].text ?? "", lane: lane, token: token)
            let stored = StoredJob(place.id, parts[start + 1..<start + width])
            if let job = await readable(stored, place) { taken.append(job) }
        }
        guard !taken.isEmpty else { return [] }
        // Without the reply the attempts begin, too: their ends take back the losses that may be counted.
        guard let ids = try? await run(JobScripts.begin, token, taken.map(\.job.id)).list() else { return taken }
        let begunIDs = Set(ids.compactMap(\.text))
        return taken.filter { begunIDs.contains($0.job.id) }
    }

    /// Returns a job that was taken; without its request if no node can read the request. A job that only this node
    /// cannot read is left to other nodes. A job whose client or answer no node can read fails without an announcement.
    private func readable(_ stored: StoredJob?, _ place: JobClaim) async -> TakenJob? {
        do throws(StoredJobFault) {
            guard let stored else { throw .unreadable }
            var taken = TakenJob(try stored.job(seal), token: place.token, losses: stored.losses)
            if taken.job.status == .waiting { taken.job.request = try stored.request(seal) }
            return taken
        } catch {
            try? await giveUp(place, error)
            return nil
        }
    }

    private func giveUp(_ place: JobClaim, _ fault: StoredJobFault) async throws(StoreUnreachable) {
        switch fault {
        case .unreadable: try await run(JobScripts.discard, place)
        case .foreign: try await run(JobScripts.leave, place, Limits.foreignDelay, Limits.foreignAge)
        }
    }

    func postpone(
        _ taken: TakenJob, for delay: Duration, result: JobResult, isAttempt: Bool
    ) async throws(StoreUnreachable) {
        let job = taken.job
        try await run(
            JobScripts.postpone, taken.claim, delay, sealed(result, job.id, .waiting), isAttempt ? 1 : 0,
            names.ofJob(about: job.request, result))
    }

    func end(
        _ taken: TakenJob, _ status: JobStatus, result: JobResult, at time: Timestamp
    ) async throws(StoreUnreachable) -> Bool {
        let job = taken.job
        let reply = try await run(
            JobScripts.end, job.id, taken.token, status.rawValue, sealed(result, job.id, status),
            status == .done ? 1 : 0, rules.maximumTotalBytes, time.millisecondsSince1970,
            names.ofJob(about: job.request, result))
        return reply == .integer(1)
    }

    func survived(_ ids: [String]) async throws(StoreUnreachable) {
        try await run(JobScripts.survived, ids)
    }

    func announced(_ taken: TakenJob) async throws(StoreUnreachable) {
        try await run(JobScripts.announced, taken.claim)
    }

    private func sealed(_ result: JobResult, _ id: String, _ status: JobStatus) -> RedisWord {
        seal.seal(result.storedBytes, for: JobSealName.answer(id, status))
    }
}

private struct JobClaim: RedisArgument {
    let id: String
    let lane: JobLane
    let token: String

    func write(to words: inout [RedisWord]) { words += [id, JobKeys.due(lane), token].redisWords }
}

extension TakenJob {
    fileprivate var claim: JobClaim { JobClaim(id: job.id, lane: job.lane, token: token) }
}

// MARK: - Operators

extension RedisJobStore {
    func survey() async -> JobSurvey? {
        let reply = try? await run(JobScripts.survey, rules.retention, Limits.forgotten)
        guard let numbers = reply?.elements.compactMap(\.number), numbers.count == 5, reply?.elements.count == 5
        else { return nil }
        var survey = JobSurvey()
        (survey.waiting, survey.bytes) = (Int(clamping: numbers[0]), Int(clamping: numbers[1]))
        survey.oldestAge = numbers[2] < 0 ? nil : .milliseconds(numbers[2])
        (survey.failed, survey.keptBytes) = (Int(clamping: numbers[3]), Int(clamping: numbers[4]))
        return survey
    }

    func list(_ status: JobStatus, maximum: Int) async throws(StoreUnreachable) -> [VerificationJob] {
        let count = min(max(0, maximum), Limits.listed), key = RedisWord(JobKeys.jobs(status))
        let ids = try await redis.list(RedisCommand("ZREVRANGEBYSCORE", key: key, "+inf", "-inf", "LIMIT", 0, count))
        return try await stored(ids.compactMap(\.text)).compactMap { try? $0.job(seal) }
    }

    func erase(_ subject: ErasureSubject) async throws(StoreUnreachable) -> ErasureCount {
        let names = names.ofJobs(about: subject)
        var erased = 0
        for start in stride(from: 0, to: names.count, by: Limits.erased) {
            erased += try await erase(about: names[start..<min(start + Limits.erased, names.count)])
        }
        return erased == 0 ? [:] : [.verifications: erased]
    }

    private func erase(about names: ArraySlice<RedisWord>) async throws(StoreUnreachable) -> Int {
        var erased = 0
        for _ in 0..<Limits.erasures {
            let reply = try await run(JobScripts.erase, Limits.erased, Array(names))
            guard let count = reply.entryCount else { throw StoreUnreachable() }
            erased += count
            if count < Limits.erased { return erased }
        }
        throw StoreUnreachable()
    }
}
