// SPDX-License-Identifier: Apache-2.0

internal import Gateway
internal import Receipts

/// The jobs of one process, and the names and times by which they are found.
struct EmbeddedJobs: Sendable {
    struct Entry: Sendable {
        var job: VerificationJob
        /// The digest of the request, also after the evidence is deleted.
        let identity: [UInt8]
        let chains: [PurchaseChain]
        let account: Account?
        /// The apps of the request and its first answer.
        let apps: Set<String>
        var keys: [String]
        var token: String?
        var losses = 0
        /// The time of the next attempt, or the end of the lease; nil once it is announced.
        var dueAt: Timestamp?
        /// The time of the end by the clock of the store.
        var endedAt: Timestamp?
        /// The size that counts against the limits: of the request and the answer, later of the kept answer.
        var bytes: Int
    }

    private struct Name: Hashable {
        let client: String
        let text: [UInt8]
    }

    private struct Usage {
        var count = 0
        var bytes = 0

        init() {}

        init(of entries: some Collection<Entry>) {
            (count, bytes) = (entries.count, entries.reduce(0) { $0 + $1.bytes })
        }

        mutating func add(_ entry: Entry, _ sign: Int) { (count, bytes) = (count + sign, bytes + sign * entry.bytes) }
    }

    private var entries: [String: Entry] = [:]
    private var due: [JobLane: DueJobs] = [:]
    private var byKey: [Name: String] = [:]
    /// The waiting jobs.
    private var byIdentity: [Name: String] = [:]
    private var usage: [String: Usage] = [:]
    private var total = Usage()
    private var lastToken = 0

    subscript(id: String) -> Entry? { entries[id] }

    var all: some Collection<Entry> { entries.values }

    // MARK: - Creation

    /// Returns the job that this request has already, and gives it the key.
    mutating func known(_ request: JobRequest, of client: String, key: String?) throws(JobRefusal) -> VerificationJob? {
        let identity = request.identity
        if let key, let job = try job(withKey: key, identity, of: client) { return job }
        guard let id = byIdentity[Name(client: client, text: identity)], let old = entries[id] else { return nil }
        guard let key else { return old.job }
        guard old.keys.count < JobRules.Limits.keys else { throw .tooManyKeys }
        var entry = old
        entry.keys.append(key)
        set(entry, replacing: old)
        return entry.job
    }

    func job(withKey key: String, _ identity: [UInt8], of client: String) throws(JobRefusal) -> VerificationJob? {
        guard let id = byKey[Name(client: client, text: Array(key.utf8))], let entry = entries[id],
            entry.job.status.holdsKeys
        else { return nil }
        guard entry.identity == identity else { throw .keyReused }
        return entry.job
    }

    mutating func add(
        _ job: VerificationJob, _ request: JobRequest, key: String?, within rules: JobRules, at now: Timestamp
    ) throws(JobRefusal) {
        let bytes = request.storedBytes.count + job.result.storedBytes.count
        let own = usage[job.client] ?? Usage()
        guard own.count < rules.maximumCount, own.bytes + bytes <= rules.maximumBytes else { throw .clientLimit }
        guard total.bytes + bytes <= rules.maximumTotalBytes else { throw .totalLimit }
        var entry = Entry(
            job: job, identity: request.identity, chains: request.chains, account: request.options.account,
            apps: job.result.apps(with: request), keys: key.map { [$0] } ?? [], dueAt: now, bytes: bytes)
        entry.job.nextAttempt = now
        set(entry, replacing: nil)
    }

    // MARK: - Work

    mutating func take(_ maximum: Int, in lane: JobLane, at now: Timestamp, until end: Timestamp) -> [TakenJob] {
        let ids = due[lane]?.first(maximum, until: now) ?? []
        return ids.compactMap { id in
            guard let old = entries[id] else { return nil }
            var entry = old
            lastToken += 1
            (entry.token, entry.losses, entry.dueAt) = ("\(lastToken)", old.losses + 1, end)
            set(entry, replacing: old)
            return TakenJob(old.job, token: "\(lastToken)", losses: old.losses)
        }
    }

    /// Changes a job for its worker; returns false if the job is gone, another worker's by now, or in another state.
    /// - Parameter isWaiting: false for a change of an ended job.
    mutating func change(_ taken: TakenJob, whileWaiting isWaiting: Bool, _ change: (inout Entry) -> Void) -> Bool {
        guard let old = entries[taken.job.id], old.token == taken.token, (old.job.status == .waiting) == isWaiting
        else { return false }
        var entry = old
        change(&entry)
        set(entry, replacing: old)
        return true
    }

    // MARK: - End

    func survey(at now: Timestamp) -> JobSurvey {
        var survey = JobSurvey()
        let waiting = entries.values.filter { $0.job.status == .waiting }
        (survey.waiting, survey.bytes) = (waiting.count, total.bytes)
        survey.oldestAge = waiting.map(\.job.createdAt).min().map { max(.zero, $0.duration(to: now)) }
        survey.failed = entries.values.count { $0.job.status == .failed }
        survey.keptBytes = entries.values.reduce(0) { $0 + ($1.endedAt == nil ? 0 : $1.bytes) }
        return survey
    }

    /// Deletes older verdicts and, beyond the maximum number or size, the oldest of the client that has most.
    mutating func forget(endedBefore time: Timestamp, maximum: Int, maximumBytes: Int) {
        let newestFirst = entries.values.filter { $0.endedAt != nil && $0.dueAt == nil }.sorted {
            ($0.endedAt ?? time) > ($1.endedAt ?? time)
        }
        let kept = newestFirst.prefix { ($0.endedAt ?? time) >= time }
        for entry in newestFirst[kept.endIndex...] { remove(entry) }
        var clients = Dictionary(grouping: kept, by: \.job.client)
        var usage = clients.mapValues { Usage(of: $0) }, all = Usage(of: kept)
        while all.count > maximum || all.bytes > maximumBytes {
            let largest = usage.max { one, other in
                all.count > maximum ? one.value.count < other.value.count : one.value.bytes < other.value.bytes
            }
            guard let client = largest?.key, let oldest = clients[client]?.popLast() else { return }
            remove(oldest)
            usage[client]?.add(oldest, -1)
            all.add(oldest, -1)
        }
    }

    /// - Returns: the number of jobs that were deleted.
    mutating func erase(_ subject: ErasureSubject) -> Int {
        let erased = entries.values.filter { entry in
            let isOfAccount = entry.account != nil && entry.account == subject.account
            return isOfAccount && entry.apps.union(entry.job.result.apps(with: nil)).contains(subject.bundleID)
                || !subject.chains.isDisjoint(with: entry.chains + entry.job.result.chains)
        }
        for entry in erased { remove(entry) }
        return erased.count
    }

    // MARK: - Indexes

    private mutating func set(_ entry: Entry, replacing old: Entry?) {
        if let old { unlink(old) }
        link(entry)
        entries[entry.job.id] = entry
    }

    private mutating func remove(_ entry: Entry) {
        unlink(entry)
        entries[entry.job.id] = nil
    }

    private mutating func link(_ entry: Entry) {
        let job = entry.job
        if let dueAt = entry.dueAt { due[job.lane, default: DueJobs()].insert(job.id, at: dueAt) }
        for key in entry.keys { byKey[Name(client: job.client, text: Array(key.utf8))] = job.id }
        guard job.status == .waiting else { return }
        byIdentity[Name(client: job.client, text: entry.identity)] = job.id
        count(entry, 1)
    }

    private mutating func unlink(_ entry: Entry) {
        let job = entry.job
        if let dueAt = entry.dueAt { due[job.lane]?.remove(job.id, at: dueAt) }
        for key in entry.keys {
            let name = Name(client: job.client, text: Array(key.utf8))
            if byKey[name] == job.id { byKey[name] = nil }
        }
        guard job.status == .waiting else { return }
        byIdentity[Name(client: job.client, text: entry.identity)] = nil
        count(entry, -1)
    }

    private mutating func count(_ entry: Entry, _ sign: Int) {
        var own = usage[entry.job.client] ?? Usage()
        own.add(entry, sign)
        usage[entry.job.client] = own.count == 0 ? nil : own
        total.add(entry, sign)
    }
}

struct DueJobs: Sendable {
    private typealias Item = (time: Timestamp, id: String)

    /// The earliest first.
    private var items: [Item] = []

    mutating func insert(_ id: String, at time: Timestamp) { items.insert((time, id), at: index(of: (time, id))) }

    mutating func remove(_ id: String, at time: Timestamp) {
        let index = index(of: (time, id))
        if index < items.count, items[index] == (time, id) { items.remove(at: index) }
    }

    func first(_ maximum: Int, until now: Timestamp) -> [String] {
        items.prefix(maximum).prefix { $0.time <= now }.map(\.id)
    }

    /// Returns the place of an item, by binary search.
    private func index(of item: Item) -> Int {
        var range = items.startIndex..<items.endIndex
        while !range.isEmpty {
            let middle = range.lowerBound + range.count / 2
            range = items[middle] < item ? middle + 1..<range.upperBound : range.lowerBound..<middle
        }
        return range.lowerBound
    }
}
