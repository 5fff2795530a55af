// SPDX-License-Identifier: Apache-2.0

internal import Customers
internal import Gateway
internal import JSON
internal import Receipts
internal import Redis
internal import Synchronization

/// The state of deliveries in Redis. Chains and events are encrypted.
final class RedisDeliveryStore: DeliveryStore {
    let redis: any RedisCommands
    private let names: EntryNames
    private let seal: StoreSeal
    /// The tokens of the leases of this node. Each lease has a new token, so that a late write of an earlier lease
    /// fails.
    private let tokens = Mutex<[DeliveryQueue: String]>([:])

    enum Limits {
        /// The dead events of one queue, the newest.
        static let dead = 1000
        /// The time after which a dead event is removed, since it was written to the log.
        static let deadAge: Duration = .seconds(30 * 86_400)
        /// The last marked chains of one queue: the next event of a marked chain is marked.
        static let gaps = 10_000
        /// The time after which a queue is removed that no node has worked on: its endpoint no longer exists.
        static let queueAge: Duration = .seconds(30 * 86_400)
        static let droppedQueues = 16
    }

    init(_ redis: any RedisCommands, keys: StoreKeys) {
        self.redis = redis
        names = EntryNames(keys)
        seal = StoreSeal(keys: keys)
    }

    // MARK: - Workers

    func begin(_ queues: [DeliveryQueue]) async throws(StoreUnreachable) {
        let calls = queues.map { queue in
            let keys = DeliveryKeys(queue)
            return ScriptCall(keys: [keys.queue, keys.totals, keys.queues], queue.stream.lastField)
        }
        try await redis.replies(DeliveryScripts.begin, calls)
    }

    func acquire(
        _ queue: DeliveryQueue, for lease: Duration
    ) async throws(StoreUnreachable) -> DeliveryState? {
        let keys = DeliveryKeys(queue), token = String.randomName()
        let parts = try await redis.list(
            DeliveryScripts.acquire, keys: [keys.queue, keys.held, keys.gaps, keys.totals, keys.queues],
            token, tokens.withLock { $0[queue] } ?? "", lease, queue.stream.lastField, Limits.queueAge,
            Limits.droppedQueues)
        guard !parts.isEmpty else { return nil }
        guard parts.count == 5, let state = state(parts, keys), case .array(let old) = parts[4] else {
            throw StoreUnreachable()
        }
        tokens.withLock { $0[queue] = token }
        await drop(old.compactMap { $0.bytes.map { RedisWord($0) } }, keys)
        return state
    }

    private func state(_ parts: [RedisValue], _ keys: DeliveryKeys) -> DeliveryState? {
        guard case .array(let held) = parts[2], case .array(let gaps) = parts[3] else { return nil }
        var state = DeliveryState()
        state.position = parts[0].text.flatMap { EventPosition(text: $0) } ?? .start
        state.disabledAt = parts[1].time
        state.held = held.compactMap { StoredDelivery($0) }.map { heldEvent($0, ofQueue: keys.sealedName) }
        let values = gaps.indices.filter { $0 % 2 == 1 }.compactMap { gaps[$0].bytes }
        state.gaps = Set(values.compactMap { gap($0, keys) })
        return state
    }

    private func drop(_ queues: [RedisWord], _ keys: DeliveryKeys) async {
        guard !queues.isEmpty else { return }
        _ = try? await redis.run(
            DeliveryScripts.drop, keys: [keys.queues] + queues.flatMap { DeliveryKeys.all(of: $0) }, Limits.queueAge)
    }

    func save(
        _ changes: DeliveryChanges, of queue: DeliveryQueue, renewing lease: Duration
    ) async throws(DeliveryStoreFault) {
        guard let token = tokens.withLock({ $0[queue] }) else { throw .leaseLost }
        let keys = DeliveryKeys(queue)
        let reply = try? await redis.run(
            DeliveryScripts.save, keys: [keys.queue, keys.held, keys.gaps, keys.dead, keys.queues], token, lease,
            changes.position?.text ?? "", changes.disabledAt.map { "\($0.millisecondsSince1970)" } ?? "", Limits.dead,
            Limits.deadAge, Limits.gaps, words(of: changes, keys))
        guard case .integer(let isSaved)? = reply else { throw .unreachable }
        guard isSaved == 1 else {
            forget(queue, token)
            throw .leaseLost
        }
    }

    /// Returns the numbers of words of each list, then the lists, as `DeliveryScripts.save` takes them.
    private func words(of changes: DeliveryChanges, _ keys: DeliveryKeys) -> [RedisWord] {
        let gaps = changes.gapsAdded.flatMap { chain in
            [
                gapNames(chain, ofQueue: keys.sealedName)[0],
                RedisWord(seal.seal(Array(chain.utf8), for: gapsName(keys))),
            ]
        }
        let lists = [
            changes.held.map { stored($0, at: $0.position, "held", keys) }.redisWords,
            changes.dead.map { stored($0, at: $0.position, "dead", keys) }.redisWords,
            changes.removed.map(\.text).redisWords, gaps,
        ]
        return lists.map(\.count).redisWords + lists.redisWords
            + changes.gapsRemoved.flatMap { gapNames($0, ofQueue: keys.sealedName) }
    }

    func release(_ queue: DeliveryQueue) async {
        guard let token = tokens.withLock({ $0[queue] }) else { return }
        _ = try? await redis.run(DeliveryScripts.release, keys: [DeliveryKeys(queue).queue], token)
        forget(queue, token)
    }

    private func forget(_ queue: DeliveryQueue, _ token: String) {
        tokens.withLock { tokens in
            if tokens[queue] == token { tokens[queue] = nil }
        }
    }

    // MARK: - Operators

    func survey(_ queues: [DeliveryQueue]) async throws(StoreUnreachable) -> [DeliverySurvey] {
        let calls = queues.map { queue in
            let keys = DeliveryKeys(queue)
            return ScriptCall(
                keys: [keys.queue, keys.held, keys.dead, keys.totals, keys.log],
                queue.stream.lastField, Limits.dead, Limits.deadAge)
        }
        return try await redis.replies(DeliveryScripts.survey, calls).map { reply throws(StoreUnreachable) in
            guard let survey = DeliverySurvey(reply.elements) else { throw StoreUnreachable() }
            return survey
        }
    }

    func dead(_ queue: DeliveryQueue, maximum: Int) async throws(StoreUnreachable) -> [DeadDelivery] {
        let keys = DeliveryKeys(queue), count = min(max(0, maximum), Limits.dead)
        let members = try await redis.list(
            RedisCommand("ZREVRANGEBYSCORE", key: keys.dead, "+inf", "-inf", "LIMIT", 0, count))
        return members.compactMap { StoredDelivery($0) }.compactMap { deadEvent($0, ofQueue: keys.sealedName) }
    }

    func redeliver(_ queue: DeliveryQueue, eventID: String?) async throws(StoreUnreachable) -> Int {
        let keys = DeliveryKeys(queue)
        let events = try await dead(queue, maximum: Limits.dead).filter { eventID == nil || $0.eventID == eventID }
        guard !events.isEmpty else { return 0 }
        let held = events.map { event in
            var held = HeldEvent(event.position, chain: event.chain)
            held.nextAttempt = event.time
            return held
        }
        return try await redis.count(
            DeliveryScripts.redeliver, keys: [keys.queue, keys.held, keys.dead],
            held.map { stored($0, at: $0.position, "held", keys) })
    }

    func rewind(_ queue: DeliveryQueue, to position: EventPosition) async throws(StoreUnreachable) {
        let keys = DeliveryKeys(queue)
        // Without its number it is not known which events follow.
        let isNumbered = position.number > 0 || position == .start
        try await redis.count(
            DeliveryScripts.rewind, keys: [keys.queue, keys.held, keys.queues], position.text,
            isNumbered ? "(\(position.number)" : "(+inf")
    }

    func enable(_ queue: DeliveryQueue) async throws(StoreUnreachable) {
        try await redis.count(DeliveryScripts.enable, keys: [DeliveryKeys(queue).queue])
    }
}

extension DeliverySurvey {
    fileprivate init?(_ parts: [RedisValue]) {
        guard parts.count == 7, case .integer(let held) = parts[2], case .integer(let dead) = parts[3],
            case .integer(let unread) = parts[4], let lag = parts[5].number
        else { return nil }
        self.init()
        position = parts[0].text.flatMap { EventPosition(text: $0) }
        disabledAt = parts[1].time
        (self.held, self.dead, self.unread) = (Int(held), Int(dead), UInt64(clamping: unread))
        self.lag = lag < 0 ? nil : .milliseconds(lag)
        isLeased = parts[6] == .integer(1)
    }
}

// MARK: - Encryption

extension RedisDeliveryStore {
    private func stored(
        _ event: some StoredForm, at position: EventPosition, _ kind: String, _ keys: DeliveryKeys
    ) -> StoredDelivery {
        StoredDelivery(
            position: position, sealed: seal.seal(event.storedBytes, for: name(position, kind, keys.sealedName)))
    }

    /// Returns the event; if it cannot be read, as an event that waits for nothing: the log says what it is about.
    func heldEvent(_ stored: StoredDelivery, ofQueue queue: String) -> HeldEvent {
        let bytes = try? seal.open(stored.sealed, for: name(stored.position, "held", queue))
        let event = bytes.flatMap { try? HeldEvent(stored.position, storedBytes: $0) }
        if let event { return event }
        var unknown = HeldEvent(stored.position, chain: stored.position.text)
        unknown.nextAttempt = Timestamp(millisecondsSince1970: Int64(clamping: stored.position.milliseconds))
        return unknown
    }

    func deadEvent(_ stored: StoredDelivery, ofQueue queue: String) -> DeadDelivery? {
        let bytes = try? seal.open(stored.sealed, for: name(stored.position, "dead", queue))
        return bytes.flatMap { try? DeadDelivery(stored.position, storedBytes: $0) }
    }

    /// The name that binds an encrypted event to its queue and position.
    private func name(_ position: EventPosition, _ kind: String, _ queue: String) -> String {
        "\(queue) \(kind) \(position.text)"
    }

    /// Returns the names of a gap under every cache key; writes use the first.
    func gapNames(_ chain: String, ofQueue queue: String) -> [RedisWord] {
        names.names("delivery gap", [Array(queue.utf8), Array(chain.utf8)]).map { RedisWord($0) }
    }

    private func gapsName(_ keys: DeliveryKeys) -> String { "\(keys.sealedName) gap" }

    /// - Parameter value: the time of its writing, a space, and the encrypted chain.
    private func gap(_ value: [UInt8], _ keys: DeliveryKeys) -> String? {
        guard let space = value.firstIndex(of: UInt8(ascii: " ")) else { return nil }
        let chain = try? seal.open(Array(value[(space + 1)...]), for: gapsName(keys))
        return chain.flatMap { String(outside: $0) }
    }
}
