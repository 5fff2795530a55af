// SPDX-License-Identifier: Apache-2.0

internal import Customers
internal import Gateway
internal import JSON
internal import Redis
internal import Synchronization

/// The accounts that purchases are bound to, in Redis. Accounts and chains have pseudonymous names; an account's ID is
/// not stored at all.
///
/// A chain's record is in the partition of its events. The index of accounts is elsewhere, and is written at each use:
/// a missing entry is repaired at the next use.
final class RedisOwnershipStore: OwnershipStore {
    let redis: any RedisCommands
    /// The connections of clients' requests, which do not wait long.
    private let requests: any RedisCommands
    let names: EntryNames
    private let seal: StoreSeal
    private let rules: OwnershipRules
    private let retention: EventRetention
    private let observe: @Sendable (SharedCacheFault) -> Void
    private let trims = Mutex(OwnershipTrims())

    enum Limits {
        static let chains = 10_000
        /// The entries beyond their retention that one call deletes, in each of its partitions.
        static let dropped = 8
        /// The time after which what is stored under an older key is removed from the index. Nodes with another first
        /// key may have written it just now.
        static let rotation: Duration = .seconds(60)
        static let read = 64
        static let erased = 64
    }

    init(
        _ redis: any RedisCommands, requests: any RedisCommands, keys: StoreKeys, rules: OwnershipRules,
        retention: EventRetention, observe: @escaping @Sendable (SharedCacheFault) -> Void
    ) {
        self.redis = redis
        self.requests = requests
        names = EntryNames(keys)
        seal = StoreSeal(keys: keys)
        (self.rules, self.retention, self.observe) = (rules, retention, observe)
    }

    // MARK: - Using

    func record(_ account: Account, using chains: [PurchaseChain]) async -> [RecordedUse]? {
        // An account without its index could not be erased; an index without its binding is harmless.
        let accounts = indexed(chains, by: account)
        guard let indexReplies = try? await requests.replies(OwnershipScripts.index, accounts.map(\.call)) else {
            return nil
        }
        let uses = await uses(of: chains, by: account)
        let old = zip(accounts, indexReplies).map { ($0.keys, $1.texts) }
        guard uses.count == chains.count, chains.isEmpty || uses.contains(where: { $0 != nil }) else { return nil }
        trim(zip(chains, uses).compactMap { chain, use in use.map { (chain, $0) } }, old, moved(chains, by: account))
        return uses.map { $0?.use ?? RecordedUse(.unknown) }
    }

    func transfer(_ chain: PurchaseChain, to account: Account) async throws(StoreUnreachable) {
        // As in `record`.
        try await redis.replies(OwnershipScripts.index, indexed([chain], by: account).map(\.call))
        try await redis.replies(OwnershipScripts.use, [use(of: chain, by: account, isTransfer: true)])
        try await redis.replies(OwnershipScripts.unindex, moved([chain], by: account))
    }

    /// Records uses. An owner without the tag of the chain was not written by a gateway with the cache key, and is ignored.
    private func uses(of chains: [PurchaseChain], by account: Account) async -> [UseReply?] {
        let replies = await requests.run(OwnershipScripts.use, chains.map { use(of: $0, by: account) })
        var uses = replies.map { UseReply($0) }
        let forged = zip(chains.indices, uses).filter { !isTrusted($1?.owner, of: chains[$0]) }
        if forged.isEmpty { return uses }
        for _ in forged { observe(.sealInvalid) }
        let calls = forged.map { use(of: chains[$0], by: account, ignoring: $1?.owner) }
        for (reply, index) in zip(await requests.run(OwnershipScripts.use, calls), forged.map(\.0)) {
            let use = UseReply(reply)
            // Forged again meanwhile: nothing is known about the owner.
            uses[index] = isTrusted(use?.owner, of: chains[index]) ? use : nil
        }
        return uses
    }

    private func isTrusted(_ owner: UseReply.Owner?, of chain: PurchaseChain) -> Bool {
        guard let owner else { return true }
        return AccountName(stored: owner.account).flatMap { names.tag(of: $0, chain) } == owner.tag
    }

    private func use(
        of chain: PurchaseChain, by account: Account, isTransfer: Bool = false, ignoring owner: UseReply.Owner? = nil
    ) -> ScriptCall {
        let record = record(of: chain), accounts = names.names(of: account, in: chain.bundleID)
        return ScriptCall(
            keys: record.keys, isTransfer ? 1 : 0, rules.retention, rules.window, rules.maximumAccounts,
            OwnershipRules.Limits.accounts, Limits.dropped, owner?.account ?? "", owner?.tag ?? "", record.arguments,
            accounts.flatMap { [$0.text, names.tag(of: $0, chain) ?? ""] })
    }

    /// Returns the calls that remove chains from the index of an account under older keys: it is under the first now.
    private func moved(_ chains: [PurchaseChain], by account: Account) -> [ScriptCall] {
        Dictionary(grouping: chains, by: \.bundleID).flatMap { bundleID, chains in
            accountKeys(account, bundleID).dropFirst().map { keys in
                unindex(keys, chains.flatMap { names.owners(of: $0) }, unusedFor: Limits.rotation)
            }
        }
    }

    private func indexed(
        _ chains: [PurchaseChain], by account: Account
    ) -> [(keys: AccountKeys, call: ScriptCall)] {
        Dictionary(grouping: chains, by: \.bundleID).map { bundleID, chains in
            let keys = AccountKeys(bundleID, names.names(of: account, in: bundleID)[0].name)
            let entries = chains.flatMap { chain in
                let name = names.owners(of: chain)[0]
                let bytes = StoredAccountChain(chain).storedBytes
                return [RedisWord(name), RedisWord(seal.seal(bytes, for: keys.sealedName(name)))]
            }
            let call = ScriptCall(
                keys: [keys.chains, keys.accounts], rules.retention, Limits.chains, Limits.dropped, keys.name, entries)
            return (keys, call)
        }
    }
}

private struct UseReply {
    let use: RecordedUse
    /// The accounts that made room for this account.
    let surplus: [AccountName]
    /// The names of chains of the same partition that were not used for too long.
    let old: [String]
    /// The other account from which the binding follows; nil for none.
    let owner: Owner?

    /// An account, by its name, and the tag that proves that it owns the chain.
    struct Owner {
        let account: String
        let tag: String
    }

    init?(_ reply: Result<RedisValue, RedisError>) {
        guard case .success(.array(let parts)) = reply, parts.count == 6,
            let binding = parts[0].text.flatMap({ RecordedUse.Binding(rawValue: $0) }), binding != .unknown,
            case .integer(let accounts) = parts[1],
            let owner = parts[4].text, let tag = parts[5].text
        else { return nil }
        self.owner = owner.isEmpty ? nil : Owner(account: owner, tag: tag)
        use = RecordedUse(binding, suspiciousAccounts: accounts > 0 ? Int(clamping: accounts) : nil)
        surplus = parts[2].texts.compactMap { AccountName(stored: $0) }
        old = parts[3].texts
    }
}

// MARK: - Trimming

extension RedisOwnershipStore {
    /// Deletes in the background what replies named as surplus: no client waits for it.
    private func trim(
        _ uses: [(PurchaseChain, UseReply)], _ accounts: [(AccountKeys, [String])], _ moved: [ScriptCall]
    ) {
        let surplus = uses.flatMap { chain, use in
            use.surplus.map { unindex(AccountKeys(chain.bundleID, $0.name), names.owners(of: chain)) }
        }
        let dropped =
            drops(of: uses) + accounts.compactMap { keys, names in drop(names, keys.accounts) { keys.chains(of: $0) } }
        guard !(surplus.isEmpty && moved.isEmpty && dropped.isEmpty),
            trims.withLock({ $0.begins(orKeeps: surplus) })
        else { return }
        Task {
            _ = await redis.run(OwnershipScripts.drop, dropped)
            var unindexed = moved + surplus
            repeat {
                _ = await redis.run(OwnershipScripts.unindex, unindexed)
                unindexed = trims.withLock { $0.next() }
            } while !unindexed.isEmpty
        }
    }

    private func drops(of uses: [(PurchaseChain, UseReply)]) -> [ScriptCall] {
        Dictionary(grouping: uses, by: \.0.partition).compactMap { partition, uses in
            let keys = OwnershipKeys(partition)
            return drop(Array(Set(uses.flatMap(\.1.old))), keys.owners) { keys.owner($0) }
        }
    }

    private func drop(_ names: [String], _ ages: RedisWord, key: (String) -> RedisWord) -> ScriptCall? {
        guard !names.isEmpty else { return nil }
        return ScriptCall(keys: [ages] + names.map(key), rules.retention, names)
    }

    /// Returns the call that removes chains from the index of an account, or without names the account.
    func unindex(_ keys: AccountKeys, _ names: [String], unusedFor age: Duration = .zero) -> ScriptCall {
        ScriptCall(keys: [keys.chains, keys.accounts], keys.name, age, names)
    }

    // MARK: - Reporting

    func report(_ event: Event, about chain: PurchaseChain) async throws(StoreUnreachable) -> Bool {
        let keys = NotificationKeys(chain.partition)
        return try await redis.count(
            OwnershipScripts.report, keys: [keys.totals, keys.events] + record(of: chain).keys.dropFirst(), retention,
            event.sealed(keys, seal), rules.window) == 1
    }

    // MARK: - Looking up

    func chains(of account: Account, in bundleID: String) async throws(StoreUnreachable) -> Set<PurchaseChain> {
        let own = names.names(of: account, in: bundleID)
        var chains: Set<PurchaseChain> = [], rest = try await used(by: account, in: bundleID)[...]
        while !rest.isEmpty {
            let part = Array(rest.prefix(Limits.read))
            for (chain, owners) in zip(part, try await owners(of: part))
            where owners.allSatisfy({ isNone($0, orOneOf: own, of: chain) }) {
                chains.insert(chain)
            }
            rest = rest.dropFirst(Limits.read)
        }
        return chains
    }

    /// Returns the recorded owner of each chain with its tag, under each of its names.
    private func owners(of chains: [PurchaseChain]) async throws(StoreUnreachable) -> [[RedisValue]] {
        let keys = chains.map { Array(record(of: $0).keys.dropFirst()) }
        let commands = keys.joined().map { RedisCommand("HMGET", key: $0, "o", "t") }
        var replies = try await redis.replies(to: commands, ofAnotherType: .null)[...]
        return keys.map { keys in
            defer { replies = replies.dropFirst(keys.count) }
            return Array(replies.prefix(keys.count))
        }
    }

    /// Returns true without an owner, or for one of these accounts with the tag of the chain.
    private func isNone(_ owner: RedisValue, orOneOf accounts: [AccountName], of chain: PurchaseChain) -> Bool {
        // A key of another type.
        guard case .array(let parts) = owner else { return false }
        if parts.first == .null { return true }
        let owner = UseReply.Owner(account: parts.first?.text ?? "", tag: parts.last?.text ?? "")
        return isTrusted(owner, of: chain) && accounts.contains { $0.text == owner.account }
    }

    /// Returns the chains that an account was seen with, whatever they are bound to, newest first.
    func used(by account: Account, in bundleID: String) async throws(StoreUnreachable) -> [PurchaseChain] {
        let keys = accountKeys(account, bundleID)
        let indexes = try await redis.hashes(keys.map(\.chains))
        let indexed = zip(keys, indexes).flatMap { keys, fields in
            fields.compactMap { IndexedChain($0.name, $0.value, of: keys, seal, bundleID: bundleID) }
        }
        return indexed.sorted { $0.usedAt > $1.usedAt }.prefix(Limits.chains).map(\.chain)
    }

    func accountKeys(_ account: Account, _ bundleID: String) -> [AccountKeys] {
        names.names(of: account, in: bundleID).map { AccountKeys(bundleID, $0.name) }
    }

    // MARK: - Erasing

    func forget(_ chain: PurchaseChain) async throws(StoreUnreachable) -> Bool {
        try await remove([chain]) > 0
    }

    func erase(_ subject: ErasureSubject) async throws(StoreUnreachable) -> ErasureCount {
        var count = 0, rest = Array(subject.chains)[...]
        while !rest.isEmpty {
            count += try await remove(Array(rest.prefix(Limits.erased)))
            rest = rest.dropFirst(Limits.erased)
        }
        if let account = subject.account { count += try await remove(account, in: subject.bundleID) }
        return count > 0 ? [.ownership: count] : [:]
    }

    /// Removes an account from the chains that it was seen with, and its index last: an erasure that ends before can be
    /// repeated.
    private func remove(_ account: Account, in bundleID: String) async throws(StoreUnreachable) -> Int {
        let accounts = names.names(of: account, in: bundleID).map(\.text)
        let calls = try await used(by: account, in: bundleID).map { chain in
            let call = record(of: chain)
            return ScriptCall(keys: call.keys, call.arguments, accounts)
        }
        let left = try await redis.replies(OwnershipScripts.leave, calls)
        try await redis.replies(OwnershipScripts.unindex, accountKeys(account, bundleID).map { unindex($0, []) })
        return left.count { $0 == .integer(1) }
    }

    /// Deletes the records of chains, after their places in the indexes of accounts: only a record names its accounts.
    /// - Returns: the number of chains that had a record.
    private func remove(_ chains: [PurchaseChain]) async throws(StoreUnreachable) -> Int {
        let calls = chains.map { record(of: $0) }
        let stored = try await redis.hashes(calls.flatMap { $0.keys.dropFirst() })
        let perChain = stored.count / max(1, chains.count)
        try await unindex(
            chains.enumerated().map { index, chain in
                (chain, stored[index * perChain..<(index + 1) * perChain].joined().map(\.name))
            })
        let replies = try await redis.replies(OwnershipScripts.forget, calls).map(\.elements)
        // Accounts that used them meanwhile.
        try await unindex(zip(chains, replies).map { ($0, $1.dropFirst().compactMap(\.bytes)) })
        return replies.count { $0.first == .integer(1) }
    }

    /// Returns the key of the records' ages, the keys of a chain's record, and its names.
    func record(of chain: PurchaseChain) -> ScriptCall {
        let keys = OwnershipKeys(chain.partition), chains = names.owners(of: chain)
        return ScriptCall(keys: [keys.owners] + chains.map { keys.owner($0) }, chains)
    }

    /// Removes chains from the indexes of accounts, which the fields of their records name.
    private func unindex(_ chains: [(PurchaseChain, fields: [[UInt8]])]) async throws(StoreUnreachable) {
        let calls = chains.flatMap { chain, fields in
            fields.compactMap { AccountName(field: $0) }
                .map { unindex(AccountKeys(chain.bundleID, $0.name), names.owners(of: chain)) }
        }
        try await redis.replies(OwnershipScripts.unindex, calls)
    }
}

extension AccountName {
    /// Returns nil for a field that does not record an account's use.
    fileprivate init?(field: [UInt8]) {
        guard field.first == UInt8(ascii: "s"), let name = String(outside: field.dropFirst()) else { return nil }
        self.init(stored: name)
    }
}

/// The trims in the background: how many there are, and the calls that wait for them.
///
/// Only the index entries of surplus accounts wait, since no record names these accounts any longer: an entry that is not
/// removed stays for the time of retention. All else is found again at the next use.
struct OwnershipTrims {
    enum Limits {
        static let running = 16
        /// The calls that wait; further calls are not made.
        static let waiting = 16_384
        static let batch = 256
    }

    private var running = 0
    private var waiting: [ScriptCall] = []

    /// Begins a trim.
    /// - Parameter surplus: the calls that wait if too many trims run.
    /// - Returns: false if too many run.
    mutating func begins(orKeeps surplus: [ScriptCall]) -> Bool {
        guard running < Limits.running else {
            waiting += surplus.prefix(Limits.waiting - waiting.count)
            return false
        }
        running += 1
        return true
    }

    /// Returns the next calls that wait; without any, the trim ends.
    mutating func next() -> [ScriptCall] {
        let calls = Array(waiting.prefix(Limits.batch))
        waiting.removeFirst(calls.count)
        if calls.isEmpty { running -= 1 }
        return calls
    }
}
