// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import Customers
internal import Gateway
internal import Receipts
internal import Redis

/// Deferred verifications in Redis, encrypted under pseudonymous names. The clock of Redis decides what is due.
struct RedisJobStore: JobStore {
    private let redis: any RedisCommands
    private let names: JobNames
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
        names = JobNames(keys)
        seal = JobSeal(seal: StoreSeal(keys: keys), observe: observe)
    }

    /// Runs a script. All keys are in the slot of the key that the script gets.
    private func run(_ script: RedisScript, _ arguments: [RedisWord]) async throws(StoreUnreachable) -> RedisValue {
        guard let reply = try? await redis.run(script, keys: [RedisWord(JobKeys.usage)], arguments) else {
            throw StoreUnreachable()
        }
        return reply
    }
}

// MARK: - Clients

extension RedisJobStore {
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
        ]
        let about = names.about(request, job.result)
        guard (texts + about).reduce(0, { $0 + $1.bytes.count }) <= Limits.jobBytes else { return nil }
        let identities = [
            names.client(job.client), names.request(request, of: job.client),
            key.map { names.key($0, of: job.client) } ?? [],
        ]
        return [RedisWord(job.id), RedisWord(JobKeys.due(job.lane))] + texts
            + [RedisWord(job.deadline.millisecondsSince1970)] + limits + identities.map { RedisWord($0.count) }
            + identities.flatMap(\.self) + about
    }

    private var limits: [RedisWord] {
        [rules.maximumCount, rules.maximumBytes, rules.maximumTotalBytes, JobRules.Limits.keys].map { RedisWord($0) }
    }

    /// - Parameter parts: its ID and fields.
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
        let identities = names.request(request, of: client)
        let found: (id: String, requestName: RedisWord)?
        do throws(StoreUnreachable) {
            found = try await job(named: names.key(key, of: client))
            guard let found else { return nil }
            if identities.contains(found.requestName) { return try await job(found.id, of: client) }
        } catch {
            throw .storeUnreachable
        }
        throw .keyReused
    }

    /// Returns the job of an idempotency key, and the name of its request.
    private func job(named names: [RedisWord]) async throws(StoreUnreachable) -> (id: String, requestName: RedisWord)? {
        let same = RedisWord(JobKeys.same)
        for id in try await values(names.map { RedisCommand("HGET", key: same, $0) }).compactMap(\.text) {
            let name = try await values([RedisCommand("HGET", key: RedisWord(JobKeys.job(id)), "request_name")])[0]
            if let name = name.bytes { return (id, RedisWord(name)) }
        }
        return nil
    }

    func statuses(of ids: [String]) async throws(StoreUnreachable) -> [JobStatus?] {
        try await values(ids.map { RedisCommand("HGET", key: RedisWord(JobKeys.job($0)), "status") })
            .map { $0.text.flatMap { JobStatus(rawValue: $0) } }
    }

    /// Returns the jobs of these IDs that exist.
    private func stored(_ ids: [String]) async throws(StoreUnreachable) -> [StoredJob] {
        let fields = JobScripts.Fields.described.map { RedisWord($0) }
        let replies = try await values(
            ids.map { id in
                let key = RedisWord(JobKeys.job(id))
                return RedisCommand(["HMGET", key] + fields, key: key)
            })
        return zip(ids, replies).compactMap { id, reply in
            guard case .array(let values) = reply else { return nil }
            return StoredJob(id, values)
        }
    }

    /// Returns one reply for each command, null for a key that is another program's.
    private func values(_ commands: [RedisCommand]) async throws(StoreUnreachable) -> [RedisValue] {
        let replies = await redis.send(commands)
        guard replies.count == commands.count else { throw StoreUnreachable() }
        var values: [RedisValue] = []
        for reply in replies {
            switch reply {
            case .success(let value): values.append(value)
            case .failure(.refused(let refusal)) where refusal.isWrongType: values.append(.null)
            case .failure: throw StoreUnreachable()
            }
        }
        return values
    }
}

// MARK: - Workers

extension RedisJobStore {
    func take(_ maximum: Int, in lane: JobLane, lease: Duration) async throws(StoreUnreachable) -> [TakenJob] {
        let token = String.randomName(), width = 1 + JobScripts.Fields.taken.count
        let reply = try await run(
            JobScripts.take,
            [
                RedisWord(JobKeys.due(lane)), RedisWord(max(0, maximum)), RedisWord(Limits.takenBytes),
                RedisWord(lease.wholeMilliseconds), RedisWord(token),
            ])
        guard case .array(let parts) = reply else { throw StoreUnreachable() }
        var taken: [TakenJob] = []
        for start in stride(from: 0, to: parts.count - width + 1, by: width) {
            let place = JobClaim(id: parts[start].text ?? "", lane: lane, token: token)
            let stored = StoredJob(place.id, parts[start + 1..<start + width])
            if let job = await readable(stored, place) { taken.append(job) }
        }
        guard !taken.isEmpty else { return [] }
        let arguments = [RedisWord(token)] + taken.map { RedisWord($0.job.id) }
        // Without the reply the attempts begin, too: their ends take back the losses that may be counted.
        guard case .array(let ids)? = try? await run(JobScripts.begin, arguments) else { return taken }
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
        case .unreadable: _ = try await run(JobScripts.discard, place.words)
        case .foreign:
            _ = try await run(
                JobScripts.leave,
                place.words + [Limits.foreignDelay, Limits.foreignAge].map { RedisWord($0.wholeMilliseconds) })
        }
    }

    func postpone(
        _ taken: TakenJob, for delay: Duration, result: JobResult, isAttempt: Bool
    ) async throws(StoreUnreachable) {
        let job = taken.job
        _ = try await run(
            JobScripts.postpone,
            JobClaim(taken).words + [
                RedisWord(delay.wholeMilliseconds), sealed(result, job.id, .waiting), isAttempt ? 1 : 0,
            ] + names.about(job.request, result))
    }

    func end(_ taken: TakenJob, _ status: JobStatus, result: JobResult) async throws(StoreUnreachable) -> Bool {
        let job = taken.job
        let reply = try await run(
            JobScripts.end,
            [
                RedisWord(job.id), RedisWord(taken.token), RedisWord(status.rawValue), sealed(result, job.id, status),
                status == .done ? 1 : 0, RedisWord(rules.maximumTotalBytes),
            ] + names.about(job.request, result))
        return reply == .integer(1)
    }

    func survived(_ ids: [String]) async throws(StoreUnreachable) {
        _ = try await run(JobScripts.survived, ids.map { RedisWord($0) })
    }

    func announced(_ taken: TakenJob) async throws(StoreUnreachable) {
        _ = try await run(JobScripts.announced, JobClaim(taken).words)
    }

    private func sealed(_ result: JobResult, _ id: String, _ status: JobStatus) -> RedisWord {
        seal.seal(result.storedBytes, for: JobSealName.answer(id, status))
    }
}

/// A taken job, by its ID and the queue that it is in.
private struct JobClaim {
    let id: String
    let lane: JobLane
    let token: String

    init(id: String, lane: JobLane, token: String) { (self.id, self.lane, self.token) = (id, lane, token) }

    init(_ taken: TakenJob) {
        self.init(id: taken.job.id, lane: taken.job.lane, token: taken.token)
    }

    var words: [RedisWord] { [RedisWord(id), RedisWord(JobKeys.due(lane)), RedisWord(token)] }
}

// MARK: - Operators

extension RedisJobStore {
    func survey() async -> JobSurvey? {
        let arguments = [RedisWord(rules.retention.wholeMilliseconds), RedisWord(Limits.forgotten)]
        guard case .array(let parts)? = try? await run(JobScripts.survey, arguments), parts.count == 5 else {
            return nil
        }
        let numbers = parts.compactMap(\.number)
        guard numbers.count == parts.count else { return nil }
        var survey = JobSurvey()
        (survey.waiting, survey.bytes) = (Int(clamping: numbers[0]), Int(clamping: numbers[1]))
        survey.oldestAge = numbers[2] < 0 ? nil : .milliseconds(numbers[2])
        (survey.failed, survey.keptBytes) = (Int(clamping: numbers[3]), Int(clamping: numbers[4]))
        return survey
    }

    func list(_ status: JobStatus, maximum: Int) async throws(StoreUnreachable) -> [VerificationJob] {
        let count = RedisWord(min(max(0, maximum), Limits.listed))
        let ids = try await values([
            RedisCommand(
                "ZREVRANGEBYSCORE", key: RedisWord(JobKeys.jobs(status)), "+inf", "-inf", "LIMIT", 0, count)
        ])
        guard case .array(let members) = ids[0] else { throw StoreUnreachable() }
        return try await stored(members.compactMap(\.text)).compactMap { try? $0.job(seal) }
    }

    func erase(_ subject: ErasureSubject) async throws(StoreUnreachable) -> ErasureCount {
        let names = names.erasure(subject)
        var erased = 0
        for start in stride(from: 0, to: names.count, by: Limits.erased) {
            erased += try await erase(about: names[start..<min(start + Limits.erased, names.count)])
        }
        return erased == 0 ? [:] : [.verifications: erased]
    }

    /// Deletes all jobs with any of these names, some at a time.
    private func erase(about names: ArraySlice<RedisWord>) async throws(StoreUnreachable) -> Int {
        var erased = 0
        for _ in 0..<Limits.erasures {
            let reply = try await run(JobScripts.erase, [RedisWord(Limits.erased)] + names)
            guard let count = reply.entryCount else { throw StoreUnreachable() }
            erased += count
            if count < Limits.erased { return erased }
        }
        throw StoreUnreachable()
    }
}
