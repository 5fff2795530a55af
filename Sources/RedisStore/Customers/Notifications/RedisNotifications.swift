// SPDX-License-Identifier: Apache-2.0

internal import Customers
internal import Gateway
internal import JSON
internal import Receipts
internal import Redis
internal import Synchronization

/// Notifications and customer states in Redis, encrypted under pseudonymous names.
///
/// It has connections of its own: a notification is large and may wait for replicas, and requests of clients must not
/// wait behind it.
final class RedisNotifications: NotificationStore {
    let redis: any RedisCommands
    /// The connections of clients' requests, which do not wait long.
    let requests: any RedisCommands
    let names: EntryNames
    let seal: StoreSeal
    let rules: EventRules
    let clock: @Sendable () -> Timestamp
    let retention: EventRetention
    /// Returns true for an app whose notifications are relayed.
    private let relays: @Sendable (_ bundleID: String) -> Bool
    private let maximumBytes: Int
    private let replicas: Int
    private let observe: @Sendable (SharedCacheFault) -> Void
    private let known = Mutex<[AppPartition: KnownPartition]>([:])
    private let token = String.randomName()

    enum Limits {
        /// Apple's last retry comes after 157 hours.
        static let seen: Duration = .seconds(8 * 86_400)
        static let deadLetterAge: Duration = .seconds(30 * 86_400)
        static let deadLetters = 1000
        /// A year's subscription changes at least once in that time.
        static let stateAge: Duration = .seconds(400 * 86_400)
        static let droppedStates = 64
        static let taken = 64
        /// The attempts to merge states into a record that other nodes change at the same time.
        static let mergeAttempts = 16
        /// The time without a survey of any node after which notifications may have been missed.
        static let interruption: Duration = .seconds(60)
        /// The time for which dates make no event after it: Apple's history is read meanwhile.
        static let recovery: Duration = .seconds(600)
        /// The time after which a chain whose event is due is due again, if its record was not written.
        static let dueDelay: Duration = .seconds(60)
        /// The time after which a record that this node cannot read is due again. Another node may have its key, or know
        /// its form.
        static let unreadableDelay: Duration = .seconds(600)
        /// The batches without a readable record that one search passes over.
        static let unreadableBatches = 64
        static let takenBytes = 1 << 20
        /// The time after which a notification that a node took is taken over.
        static let stalled: Duration = .seconds(15)
        static let commandDeadline: Duration = .seconds(2)
        static let replicaWait: Duration = .seconds(1)
        /// The maximum age of what is known about a partition.
        static let surveyAge: Duration = .seconds(10)
        /// The part of history to read again if Redis lost a partition altogether.
        static let lostPartition: Duration = .seconds(86_400)
    }

    private struct KnownPartition {
        var bytes = 0
        var fault: NotificationStoreFault?
        var surveyedAt: ContinuousClock.Instant?
        /// The newest identity in the store, and the time of its intake by Redis's clock in milliseconds and by this node's.
        var newest: (name: String, time: Int64, at: ContinuousClock.Instant)?
        /// A loss in the store that is not reported yet.
        var loss: Duration?

        var isRecent: Bool { surveyedAt.map { .now - $0 < Limits.surveyAge } ?? false }
    }

    init(
        _ redis: any RedisCommands, requests: any RedisCommands, keys: StoreKeys, maximumBytes: Int, replicas: Int,
        rules: EventRules, retention: EventRetention, relays: @escaping @Sendable (_ bundleID: String) -> Bool,
        clock: @escaping @Sendable () -> Timestamp, observe: @escaping @Sendable (SharedCacheFault) -> Void
    ) {
        self.redis = redis
        self.requests = requests
        names = EntryNames(keys)
        seal = StoreSeal(keys: keys)
        (self.rules, self.retention, self.relays, self.clock) = (rules, retention, relays, clock)
        self.maximumBytes = maximumBytes
        self.replicas = replicas
        self.observe = observe
    }

    // MARK: - Storing

    func store(
        _ record: NotificationRecord, _ identity: NotificationIdentity, in partition: AppPartition
    ) async throws(NotificationStoreFault) -> Bool {
        try await checkPolicy(of: partition)
        let keys = NotificationKeys(partition), sealed = seal.seal(record.storedBytes, for: keys.sealedName)
        guard bytesPending + sealed.count <= maximumBytes else { throw .backlog }
        let identities = names.names(of: identity)
        let call = ScriptCall(
            keys: [keys.pending, keys.seen, keys.totals, keys.relay], RedisWord(sealed), Limits.seen,
            record.origin == .posted ? 1 : 0, relays(partition.bundleID) ? retention.relayWords : [0, 0, 0], identities)
        let reply = try await replicated(NotificationScripts.store, call)
        guard case .array(let parts) = reply else { throw .unreachable }
        guard parts.count == 2, let time = parts[0].number, case .integer(let bytes) = parts[1] else { return false }
        known.withLock { known in
            known[partition, default: KnownPartition()].bytes = Int(clamping: max(0, bytes))
            known[partition]?.newest = (identities[0], time, .now)
        }
        return true
    }

    /// The bytes pending in the partitions that were surveyed lately: other partitions may be of apps that were
    /// removed.
    private var bytesPending: Int {
        known.withLock { known in known.values.reduce(0) { $0 + ($1.isRecent ? $1.bytes : 0) } }
    }

    private func checkPolicy(of partition: AppPartition) async throws(NotificationStoreFault) {
        func recent() -> KnownPartition? { known.withLock { $0[partition].flatMap { $0.isRecent ? $0 : nil } } }
        if recent() == nil { _ = await read(partition) }
        guard let state = recent() else { throw .unreachable }
        if let fault = state.fault { throw fault }
    }

    /// Runs a script, and waits until the configured number of replicas have its effect.
    private func replicated(
        _ script: RedisScript, _ call: ScriptCall
    ) async throws(NotificationStoreFault) -> RedisValue {
        var results = await redis.send(confirmed(script.call(keys: call.keys, call.arguments)))
        if case .failure(.refused(let refusal)) = results.first, refusal.kind == .noScript {
            results = await redis.send(confirmed(script.wholeCall(keys: call.keys, call.arguments)))
        }
        let reply: RedisValue, confirmations: Int64
        do throws(RedisError) {
            guard let first = results.first, let last = results.last else { throw .protocolViolation }
            reply = try first.get()
            confirmations = replicas > 0 ? try last.get().number ?? 0 : 0
        } catch {
            throw NotificationStoreFault(error)
        }
        guard confirmations >= Int64(replicas) else { throw .replicas }
        return reply
    }

    /// Returns a command and, on the same connection, the wait for replicas.
    private func confirmed(_ command: RedisCommand) -> [RedisCommand] {
        guard replicas > 0 else { return [command] }
        let wait: [RedisWord] = ["WAIT", RedisWord(replicas)] + Limits.replicaWait.redisWords
        return [command, RedisCommand(wait, key: command.key)]
    }
}

extension NotificationStoreFault {
    fileprivate init(_ error: RedisError) {
        self = .unreachable
        if case .refused(let refusal) = error, refusal.kind == .outOfMemory { self = .full }
    }
}

// MARK: - Applying

extension RedisNotifications {
    func hasSeen(
        _ identity: NotificationIdentity, in partition: AppPartition
    ) async throws(StoreUnreachable) -> Bool {
        let key = NotificationKeys(partition).seen
        let commands = names.names(of: identity).map { RedisCommand("ZSCORE", key: key, $0) }
        return try await redis.replies(to: commands).contains { $0 != .null }
    }

    func take(from partition: AppPartition, includingStalled: Bool) async -> [TakenNotification] {
        let keys = NotificationKeys(partition)
        let idle = includingStalled ? Limits.stalled.wholeMilliseconds : -1
        let reply = try? await redis.run(
            NotificationScripts.take, keys: [keys.pending], Limits.taken, Limits.takenBytes, idle)
        guard case .array(let parts)? = reply, let now = parts.first?.number else { return [] }
        let entries = parts.dropFirst().map { $0.bytes ?? [] }
        return stride(from: 0, to: entries.count - 1, by: 2).compactMap { index in
            let digits = entries[index].prefix { $0 != UInt8(ascii: "-") }
            guard let id = String(outside: entries[index]), let time = Int64(stored: digits) else { return nil }
            return TakenNotification(
                id: id, storedBytes: entries[index + 1].count, age: .milliseconds(max(0, now - time)),
                record: record(entries[index + 1], keys))
        }
    }

    private func record(
        _ sealed: [UInt8], _ keys: NotificationKeys
    ) -> Result<NotificationRecord, DeadLetterReason> {
        do throws(SharedCacheFault) {
            let bytes = try seal.open(sealed, for: keys.sealedName)
            return Result { () throws(DeadLetterReason) in try NotificationRecord(storedBytes: bytes) }
        } catch {
            observe(error)
            return .failure(error == .sealUnknownKey ? .unknownForm : .unreadable)
        }
    }

    @discardableResult
    func finish(_ finished: [FinishedNotification], in partition: AppPartition) async -> Bool {
        guard !finished.isEmpty else { return true }
        let keys = NotificationKeys(partition)
        let words = finished.map { notification in
            let taken = notification.taken, event = notification.event.map { $0.sealed(keys, seal) }
            return [RedisWord(taken.id), RedisWord(taken.storedBytes), event ?? ""]
        }
        return await mayHaveRun(
            NotificationScripts.finish, keys: [keys.pending, keys.totals, keys.events], retention, words)
    }

    @discardableResult
    func discard(
        _ taken: TakenNotification, _ reason: DeadLetterReason, in partition: AppPartition
    ) async -> Bool {
        let keys = NotificationKeys(partition)
        return await mayHaveRun(
            NotificationScripts.discard, keys: [keys.pending, keys.totals, keys.dead], taken.id, taken.storedBytes,
            reason.rawValue, Limits.deadLetters)
    }

    /// Runs a script. Returns false if Redis refused it, or no connection took it.
    private func mayHaveRun(
        _ script: RedisScript, keys: [RedisWord], _ arguments: any RedisArgument...
    ) async -> Bool {
        let results = await redis.run(script, [ScriptCall(keys: keys, words: arguments.redisWords)])
        guard case .failure(let error)? = results.first else { return true }
        return error.mayFollowExecution
    }

    func dead(in partition: AppPartition, maximum: Int) async throws(StoreUnreachable) -> [DeadNotification] {
        let keys = NotificationKeys(partition)
        var found: [DeadNotification] = [], newest = "+", left = min(maximum, Limits.deadLetters)
        // In pages: a notification of version 1 has up to megabytes, and a reply that is too large ends the connection.
        while left > 0 {
            let page = try await redis.list(
                NotificationScripts.dead, keys: [keys.dead], newest, left, Limits.takenBytes)
            found += page.compactMap { dead($0, in: partition, keys) }
            guard case .array(let last)? = page.last, let id = last.first?.text else { break }
            newest = "(\(id)"
            left -= page.count
        }
        return found
    }

    /// - Parameter entry: the ID, and the fields that `NotificationScripts.discard` writes; nil for any other.
    private func dead(
        _ entry: RedisValue, in partition: AppPartition, _ keys: NotificationKeys
    ) -> DeadNotification? {
        guard case .array(let parts) = entry, parts.count == 2, case .array(let fields) = parts[1], fields.count >= 4,
            let id = parts[0].bytes, let time = Int64(stored: id.prefix { UInt8(ascii: "-") != $0 }),
            let sealed = fields[1].bytes, let reason = fields[3].text
        else { return nil }
        return DeadNotification(
            bundleID: partition.bundleID, time: Timestamp(millisecondsSince1970: time), reason: reason,
            storedBytes: sealed.count, record: try? record(sealed, keys).get())
    }

    // MARK: - Survey

    func survey(_ partition: AppPartition) async -> QueueSurvey? {
        guard let read = await read(partition) else { return nil }
        var survey = read.survey
        survey.lostSince = known.withLock { known in
            defer { known[partition]?.loss = nil }
            return known[partition]?.loss
        }
        guard !read.oldStates.isEmpty else { return survey }
        let keys = NotificationKeys(partition)
        _ = try? await redis.run(
            NotificationScripts.drop, keys: [keys.states, keys.due] + read.oldStates, Limits.stateAge)
        return survey
    }

    private func read(_ partition: AppPartition) async -> SurveyReply? {
        let keys = NotificationKeys(partition), newest = known.withLock { $0[partition]?.newest }
        // An identity that old may be gone because of its age.
        let expected = newest.flatMap { .now - $0.at < Limits.seen / 2 ? $0.name : nil }
        let reply = try? await redis.run(
            NotificationScripts.survey,
            keys: [keys.pending, keys.seen, keys.totals, keys.dead, keys.states, keys.due, keys.events, keys.relay],
            Limits.seen, Limits.deadLetterAge, Limits.stateAge, Limits.droppedStates, expected ?? "",
            newest.map { .now - $0.at } ?? .zero, retention.maximumAge, Limits.interruption,
            min(rules.expiryDelay, Limits.recovery), newest?.time ?? 0)
        guard case .array(let parts)? = reply, let read = SurveyReply(parts) else { return nil }
        known.withLock { known in
            var state = known[partition] ?? KnownPartition()
            (state.bytes, state.fault, state.surveyedAt) = (read.survey.bytes, read.survey.fault, .now)
            if !read.hasExpected { state.loss = read.ageBeforeLoss ?? Limits.lostPartition }
            // Another notification may have been stored meanwhile.
            if state.newest?.name == newest?.name {
                state.newest = read.newest.map { ($0.name, $0.time, .now - $0.age) }
            }
            known[partition] = state
        }
        return read
    }
}

private struct SurveyReply {
    var survey = QueueSurvey()
    /// False if the store has lost an identity that it had.
    let hasExpected: Bool
    let newest: (name: String, time: Int64, age: Duration)?
    /// The time since the newest intake before a loss; nil if none is left.
    let ageBeforeLoss: Duration?
    let oldStates: [RedisWord]

    init?(_ parts: [RedisValue]) {
        guard parts.count >= 12, let entries = parts[0].number, let bytes = parts[1].number,
            let oldest = parts[2].number, let last = parts[3].number, let dead = parts[4].number,
            let hasExpected = parts[5].number, let newest = parts[6].text, let newestAge = parts[7].number,
            let evicts = parts[8].number, let before = parts[9].number,
            let due = parts[10].number, let time = parts[11].number
        else { return nil }
        survey.entries = Int(clamping: entries)
        survey.bytes = Int(clamping: max(0, bytes))
        survey.oldestAge = oldest < 0 ? nil : .milliseconds(oldest)
        survey.lastIntakeAge = last < 0 ? nil : .milliseconds(last)
        survey.deadLetters = Int(clamping: dead)
        survey.fault = evicts == 0 ? nil : .evicts
        self.hasExpected = hasExpected == 1
        self.newest = newest.isEmpty ? nil : (newest, time, .milliseconds(max(0, newestAge)))
        survey.hasDueEvents = due > 0
        ageBeforeLoss = before < 0 ? nil : .milliseconds(before)
        oldStates = parts.dropFirst(12).compactMap { $0.bytes.map { RedisWord($0) } }
    }
}

// MARK: - Recovery

extension RedisNotifications {
    func recovered(_ bundleID: String, _ environment: Environment) async throws(StoreUnreachable) -> Timestamp? {
        let command = RedisCommand("GET", key: RecoveryKeys(bundleID, environment).recovered)
        return try await redis.replies(to: [command], ofAnotherType: .null)[0].time
    }

    func record(recovered time: Timestamp, _ bundleID: String, _ environment: Environment) async {
        let key = RecoveryKeys(bundleID, environment).recovered
        _ = try? await redis.send(RedisCommand("SET", key: key, time.millisecondsSince1970))
    }

    func begin(_ bundleID: String, _ environment: Environment, lease: Duration) async -> Bool {
        let key = RecoveryKeys(bundleID, environment).lease
        let reply = try? await redis.send(RedisCommand("SET", key: key, token, "NX", "PX", lease))
        return reply == .status("OK")
    }

    func end(_ bundleID: String, _ environment: Environment) async {
        _ = try? await redis.run(
            LeaseScripts.release, keys: [RecoveryKeys(bundleID, environment).lease], token, "", 0)
    }
}
