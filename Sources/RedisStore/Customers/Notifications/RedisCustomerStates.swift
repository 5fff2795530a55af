// SPDX-License-Identifier: Apache-2.0

internal import Customers
internal import Gateway
internal import JSON
internal import Receipts
internal import Redis

// The record of a chain in Redis: a hash with a field for each signed state, and a field for the rest. Each value is an
// order of fixed length, then the encrypted form. Fields and orders identify a version of the record, so that a script
// can detect a change since it was read.

extension RedisNotifications {
    func states(of chains: [PurchaseChain]) async -> [CustomerState]? {
        guard let stored = await stored(chains.map { keys(of: $0) }, from: requests),
            // What another version stored may be a refund.
            stored.allSatisfy({ $0.allSatisfy { $0.foreignStates(self).isEmpty } })
        else { return nil }
        return zip(chains, stored).compactMap { chain, hashes in
            let state = record(of: chain, hashes).state
            return state.signedDate == nil ? nil : state
        }
    }

    func merge(_ updates: [CustomerStateUpdate]) async -> [Result<MergeOutcome, StoreUnreachable>] {
        var results = [Result<MergeOutcome, StoreUnreachable>](
            repeating: .failure(StoreUnreachable()), count: updates.count)
        // The updates of one chain together: each begins with the outcome of the update before.
        var waiting = Array(Dictionary(grouping: updates.indices) { updates[$0].chain }.values)
        for _ in 0..<Limits.mergeAttempts where !waiting.isEmpty {
            let chains = waiting.map { updates[$0[0]].chain }
            guard let stored = await stored(chains.map { keys(of: $0) }, from: redis) else { return results }
            let merges = zip(waiting, stored).map { ChainMerge($0.map { updates[$0] }, $1, self) }
            let written = await write(merges)
            for (indices, (merge, isWritten)) in zip(waiting, zip(merges, written)) where isWritten == .success(true) {
                for (index, outcome) in zip(indices, merge.outcomes) { results[index] = .success(outcome) }
            }
            // Another node has changed them meanwhile.
            waiting = zip(waiting, written).filter { $0.1 == .success(false) }.map(\.0)
        }
        return results
    }

    /// Writes the merges that change something.
    /// - Returns: true for each that is written, false for each whose record another node has changed.
    private func write(_ merges: [ChainMerge]) async -> [Result<Bool, StoreUnreachable>] {
        var results = [Result<Bool, StoreUnreachable>](repeating: .success(true), count: merges.count)
        let calls = merges.enumerated().compactMap { index, merge in merge.call.map { (index, $0) } }
        let replies = await redis.run(NotificationScripts.merge, calls.map(\.1))
        for ((index, _), reply) in zip(calls, replies) {
            let isWritten = (try? reply.get())?.entryCount
            results[index] = isWritten.map { .success($0 == 1) } ?? .failure(StoreUnreachable())
        }
        return results
    }

    func due(in partition: AppPartition) async -> [PurchaseChain] {
        for _ in 0..<Limits.unreadableBatches {
            guard let chains = await nextDue(NotificationKeys(partition).due) else { return [] }
            if !chains.isEmpty { return chains }
        }
        return []
    }

    /// Returns the chains of the next records that are due, which may all be lost or unreadable; nil without such records.
    private func nextDue(_ due: RedisWord) async -> [PurchaseChain]? {
        let reply = try? await redis.run(NotificationScripts.due, keys: [due], Limits.taken, Limits.dueDelay)
        let texts = reply?.texts ?? [], keys = Array(texts.dropFirst())
        guard let again = texts.first, !keys.isEmpty, let stored = await stored([keys], from: redis)?.first else {
            return nil
        }
        let chains = stored.map { $0.details(self)?.chain }
        let unread = zip(stored, chains).filter { $1 == nil }.map(\.0)
        await reschedule(unread.filter(\.values.isEmpty), in: due, dueAt: again, after: "")
        await reschedule(
            unread.filter { !$0.values.isEmpty }, in: due, dueAt: again, after: Limits.unreadableDelay)
        return chains.compactMap(\.self)
    }

    /// - Parameter delay: a duration, or nothing to remove the records.
    private func reschedule(
        _ records: [StoredHash], in due: RedisWord, dueAt time: String, after delay: any RedisArgument
    ) async {
        guard !records.isEmpty else { return }
        _ = try? await redis.run(NotificationScripts.reschedule, keys: [due], time, delay, records.map(\.key))
    }

    /// The keys of a chain's record, under every cache key; writes use the first.
    private func keys(of chain: PurchaseChain) -> [String] {
        let keys = NotificationKeys(chain.partition)
        return names.states(of: chain).map { keys.state($0) }
    }

    /// Reads the records under these keys; nil if Redis is unreachable.
    private func stored(_ keys: [[String]], from redis: any RedisCommands) async -> [[StoredHash]]? {
        // With a key of another type, the merge of that chain alone fails.
        let all = keys.flatMap(\.self)
        guard var hashes = try? await redis.hashes(all.map { RedisWord($0) })[...] else { return nil }
        return keys.map { keys in
            defer { hashes = hashes.dropFirst(keys.count) }
            return zip(keys, hashes).map { StoredHash(key: $0, $1) }
        }
    }

    fileprivate func record(of chain: PurchaseChain, _ hashes: [StoredHash]) -> ChainRecord {
        let details = hashes.compactMap { $0.details(self) }.first
        var record = ChainRecord(
            chain, announced: details?.announced ?? [], isRenamed: details?.isRenamed ?? false)
        for state in hashes.flatMap({ $0.states(self) }) { record.add(state) }
        return record
    }

    fileprivate func order(of item: SignedStateItem) -> SignedStateOrder {
        SignedStateOrder(item, tieBreaker: Fingerprint(of: item.storedBytes.span).tieBreaker)
    }
}

extension Fingerprint {
    fileprivate var tieBreaker: UInt32 { UInt32(fraction * Double(UInt32.max)) }
}

/// The record of a chain under one of its names.
private struct StoredHash {
    struct Value {
        let fieldBytes: [UInt8]
        let order: [UInt8]
        let sealed: [UInt8]

        /// Empty for a field that no gateway wrote.
        var field: String { String(outside: fieldBytes) ?? "" }

        init?(_ field: [UInt8], _ value: [UInt8]) {
            guard value.count > SignedStateOrder.textBytes else { return nil }
            fieldBytes = field
            order = Array(value.prefix(SignedStateOrder.textBytes))
            sealed = Array(value.dropFirst(SignedStateOrder.textBytes))
        }
    }

    let key: String
    let values: [Value]

    init(key: String, _ fields: [(name: [UInt8], value: [UInt8])]) {
        self.key = key
        values = fields.compactMap { Value($0.name, $0.value) }
    }

    /// Fields and orders, by which a script recognizes that nothing has changed.
    var recognition: RedisWord {
        RedisWord(values.flatMap { [$0.fieldBytes, [UInt8(ascii: " ")], $0.order, [UInt8(ascii: ",")]].joined() })
    }

    private var stateValues: [Value] { values.filter { $0.field != NotificationScripts.detailsField } }

    func states(_ store: RedisNotifications) -> [OrderedState] { stateValues.compactMap { state($0, store) } }

    private func state(_ value: Value, _ store: RedisNotifications) -> OrderedState? {
        guard let order = SignedStateOrder(text: value.order), let bytes = value.open(key, store),
            let item = try? SignedStateItem(storedBytes: bytes)
        else { return nil }
        return OrderedState(item, order)
    }

    /// Returns the states that a gateway of another version wrote: they can be decrypted and not read. What cannot be
    /// decrypted counts as none.
    func foreignStates(_ store: RedisNotifications) -> [Value] {
        stateValues.filter { state($0, store) == nil && $0.open(key, store) != nil }
    }

    func details(_ store: RedisNotifications) -> ChainDetails? {
        values.first { $0.field == NotificationScripts.detailsField }
            .flatMap { $0.open(key, store) }.flatMap { try? ChainDetails(storedBytes: $0) }
    }
}

extension StoredHash.Value {
    /// The name that binds an encrypted value to its chain, its field and its order.
    static func sealedName(_ key: String, _ field: String, _ order: String) -> String { "\(key) \(field) \(order)" }

    fileprivate func open(_ key: String, _ store: RedisNotifications) -> [UInt8]? {
        try? store.seal.open(sealed, for: Self.sealedName(key, field, String(decoding: order, as: UTF8.self)))
    }
}

/// The merge of updates into the record of one chain, and the call that writes it.
private struct ChainMerge {
    let outcomes: [MergeOutcome]
    /// Nil if the record stays as it is.
    let call: ScriptCall?

    /// - Parameters:
    ///   - updates: of one chain, at least one.
    ///   - stored: its record under every cache key, in the order of the keys.
    init(_ updates: [CustomerStateUpdate], _ stored: [StoredHash], _ store: RedisNotifications) {
        let chain = updates[0].chain, keys = NotificationKeys(chain.partition)
        let own = stored[0], older = stored.dropFirst().filter { !$0.values.isEmpty }
        let before = store.record(of: chain, [own])
        var record = store.record(of: chain, stored)
        outcomes = updates.map { record.merge($0, store.rules, at: store.clock(), order: store.order) }
        // What was due is due no longer, also if it made no event.
        let isScheduled = updates.contains { $0.cause.source == .schedule }
        guard record != before || !older.isEmpty || isScheduled else {
            call = nil
            return
        }
        let changes = RecordChanges(record, since: before, of: own, store)
        let due = record.nextEventTime(store.rules, at: store.clock())?.millisecondsSince1970 ?? -1
        let events = outcomes.flatMap(\.events).map { $0.sealed(keys, store.seal) }
        call = ScriptCall(
            keys: [keys.states, keys.due, keys.totals, keys.events] + ([own] + older).map { RedisWord($0.key) },
            ([own] + older).map(\.recognition), due, store.retention, changes, events)
    }
}

private struct RecordChanges: RedisArgument {
    private var set: [RedisWord] = []
    private var removed: [RedisWord] = []

    func write(to words: inout [RedisWord]) {
        words += [RedisWord(set.count), RedisWord(removed.count)] + set + removed
    }

    init(_ record: ChainRecord, since before: ChainRecord, of hash: StoredHash, _ store: RedisNotifications) {
        let key = hash.key, foreign = hash.foreignStates(store)
        for state in record.states where !before.states.contains(state) {
            let field = store.names.field(of: state.item), order = state.order.text
            // It replaces no newer state.
            let isOlder = foreign.contains {
                $0.field == field && Array(order.utf8).lexicographicallyPrecedes($0.order)
            }
            if !isOlder { add(field, order, state.item.storedBytes, key, store) }
        }
        removed = before.states.filter { state in !record.states.contains { $0.isAbout(state) } }
            .map { RedisWord(store.names.field(of: $0.item)) }
        let details = ChainDetails(record, revision: (hash.details(store)?.revision ?? 0) + 1)
        add(NotificationScripts.detailsField, details.order, details.storedBytes, key, store)
    }

    private mutating func add(
        _ field: String, _ order: String, _ contents: [UInt8], _ key: String, _ store: RedisNotifications
    ) {
        let sealed = store.seal.seal(contents, for: StoredHash.Value.sealedName(key, field, order))
        set += [RedisWord(field), RedisWord(Array(order.utf8) + sealed)]
    }
}
