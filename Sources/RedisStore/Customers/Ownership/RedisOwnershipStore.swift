// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import Customers
internal import Gateway
internal import JSON
internal import Receipts
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
    let names: OwnershipNames
    private let seal: StoreSeal
    private let rules: OwnershipRules
    private let retention: EventRetention
    private let observe: @Sendable (SharedCacheFault) -> Void
    private let trims = Mutex(OwnershipTrims())

    enum Limits {
        /// The last used chains in the index of one account.
        static let chains = 10_000
        /// The entries beyond their retention that one call deletes, in each of its partitions.
        static let dropped = 8
        /// The time after which what is stored under an older key is removed from the index. Nodes with another first
        /// key may have written it just now.
        static let rotation: Duration = .seconds(60)
        /// The chains whose bindings are read at once.
        static let read = 64
        /// The chains that are erased at once.
        static let erased = 64
    }

    /// - Parameters:
    ///   - requests: the connections that record uses for clients.
    ///   - retention: the retention of the log of events.
    init(
        _ redis: any RedisCommands, requests: any RedisCommands, keys: StoreKeys, rules: OwnershipRules,
        retention: EventRetention, observe: @escaping @Sendable (SharedCacheFault) -> Void
    ) {
        self.redis = redis
        self.requests = requests
        names = OwnershipNames(keys)
        seal = StoreSeal(keys: keys)
        (self.rules, self.retention, self.observe) = (rules, retention, observe)
    }
}

// MARK: - Using

extension RedisOwnershipStore {
    func record(_ account: Account, using chains: [PurchaseChain]) async -> [RecordedUse]? {
        // An account without its index could not be erased; an index without its binding is harmless.
        let accounts = indexed(chains, by: account)
        let indexReplies = await requests.run(OwnershipScripts.index, accounts.map(\.call))
        guard (try? indexReplies.allSuccessful()) != nil else { return nil }
        let uses = await uses(of: chains, by: account)
        let old = zip(accounts, indexReplies).map { ($0.keys, $1.names) }
        guard uses.count == chains.count, chains.isEmpty || uses.contains(where: { $0 != nil }) else { return nil }
        trim(zip(chains, uses).compactMap { chain, use in use.map { (chain, $0) } }, old, moved(chains, by: account))
        return uses.map { $0?.use ?? RecordedUse(.unknown) }
    }

    func transfer(_ chain: PurchaseChain, to account: Account) async throws(StoreUnreachable) {
        // As in `record`.
        let indexed = await redis.run(OwnershipScripts.index, indexed([chain], by: account).map(\.call))
        _ = try indexed.allSuccessful()
        let replies = await redis.run(OwnershipScripts.use, [use(of: chain, by: account, isTransfer: true)])
        _ = try replies.allSuccessful()
        _ = try await redis.run(OwnershipScripts.unindex, moved([chain], by: account)).allSuccessful()
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
        let keys = OwnershipKeys(chain.partition), chains = names.names(of: chain)
        let accounts = names.names(of: account, in: chain.bundleID)
        let tagged = accounts.flatMap { [$0.text, names.tag(of: $0, chain) ?? ""] }
        let numbers = [
            isTransfer ? 1 : 0, rules.retention.wholeMilliseconds, rules.window.wholeMilliseconds,
            Int64(rules.maximumAccounts), Int64(OwnershipRules.Limits.accounts), Int64(Limits.dropped),
        ]
        return ScriptCall(
            keys: [keys.owners] + chains.map { keys.owner($0) },
            numbers.map { RedisWord($0) } + [RedisWord(owner?.account ?? ""), RedisWord(owner?.tag ?? "")]
                + chains.map { RedisWord($0) } + tagged.map { RedisWord($0) })
    }

    /// Returns the calls that remove chains from the index of an account under older keys: it is under the first now.
    private func moved(_ chains: [PurchaseChain], by account: Account) -> [ScriptCall] {
        Dictionary(grouping: chains, by: \.bundleID).flatMap { bundleID, chains in
            accountKeys(account, bundleID).dropFirst().map { keys in
                unindex(keys, chains.flatMap { names.names(of: $0) }, unusedFor: Limits.rotation)
            }
        }
    }

    /// Returns the calls that add chains to the index of an account: a call for each app.
    private func indexed(
        _ chains: [PurchaseChain], by account: Account
    ) -> [(keys: AccountKeys, call: ScriptCall)] {
        Dictionary(grouping: chains, by: \.bundleID).map { bundleID, chains in
            let keys = AccountKeys(bundleID, names.names(of: account, in: bundleID)[0].name)
            let entries = chains.flatMap { chain in
                let name = names.names(of: chain)[0]
                let bytes = StoredAccountChain(chain).storedBytes
                return [RedisWord(name), RedisWord(seal.seal(bytes, for: keys.sealedName(name)))]
            }
            let numbers = [rules.retention.wholeMilliseconds, Int64(Limits.chains), Int64(Limits.dropped)]
            return (
                keys,
                ScriptCall(
                    keys: [keys.chains, keys.accounts], numbers.map { RedisWord($0) } + [RedisWord(keys.name)] + entries
                )
            )
        }
    }
}

/// The reply to a use.
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
            let binding = RecordedUse.Binding(stored: parts[0].text), case .integer(let accounts) = parts[1],
            let owner = parts[4].text, let tag = parts[5].text
        else { return nil }
        self.owner = owner.isEmpty ? nil : Owner(account: owner, tag: tag)
        use = RecordedUse(binding, suspiciousAccounts: accounts > 0 ? Int(clamping: accounts) : nil)
        surplus = parts[2].texts.compactMap { AccountName(stored: $0) }
        old = parts[3].texts
    }
}

extension RecordedUse.Binding {
    fileprivate init?(stored text: String?) {
        switch text {
        case "new": self = .new
        case "same": self = .same
        case "other": self = .other
        default: return nil
        }
    }
}

// MARK: - Trimming

extension RedisOwnershipStore {
    /// Deletes in the background what replies named as surplus: no client waits for it.
    /// - Parameters:
    ///   - accounts: the names of accounts that are too old.
    ///   - moved: the calls that remove what is stored under the first key by now.
    private func trim(
        _ uses: [(PurchaseChain, UseReply)], _ accounts: [(AccountKeys, [String])], _ moved: [ScriptCall]
    ) {
        let surplus = uses.flatMap { chain, use in
            use.surplus.map { unindex(AccountKeys(chain.bundleID, $0.name), names.names(of: chain)) }
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

    /// Returns the calls that delete old records: a call for each partition.
    private func drops(of uses: [(PurchaseChain, UseReply)]) -> [ScriptCall] {
        Dictionary(grouping: uses, by: \.0.partition).compactMap { partition, uses in
            let keys = OwnershipKeys(partition)
            return drop(Array(Set(uses.flatMap(\.1.old))), keys.owners) { keys.owner($0) }
        }
    }

    private func drop(_ names: [String], _ ages: RedisWord, key: (String) -> RedisWord) -> ScriptCall? {
        guard !names.isEmpty else { return nil }
        return ScriptCall(
            keys: [ages] + names.map(key), [RedisWord(rules.retention.wholeMilliseconds)] + names.map { RedisWord($0) })
    }

    /// Returns the call that removes chains from the index of an account, or without names the account.
    func unindex(_ keys: AccountKeys, _ names: [String], unusedFor age: Duration = .zero) -> ScriptCall {
        ScriptCall(
            keys: [keys.chains, keys.accounts],
            [RedisWord(keys.name), RedisWord(age.wholeMilliseconds)] + names.map { RedisWord($0) })
    }
}

// MARK: - Reporting

extension RedisOwnershipStore {
    func report(_ event: Event, about chain: PurchaseChain) async throws(StoreUnreachable) -> Bool {
        let keys = NotificationKeys(chain.partition), owners = OwnershipKeys(chain.partition)
        let call = ScriptCall(
            keys: [keys.totals, keys.events] + names.names(of: chain).map { owners.owner($0) },
            retention.words + [event.sealed(keys, seal), RedisWord(rules.window.wholeMilliseconds)])
        return try await redis.run(OwnershipScripts.report, [call]).allSuccessful() == [.integer(1)]
    }
}

// MARK: - Looking up

extension RedisOwnershipStore {
    func chains(of account: Account, in bundleID: String) async throws(StoreUnreachable) -> Set<PurchaseChain> {
        let own = names.names(of: account, in: bundleID)
        var chains: Set<PurchaseChain> = [], rest = try await used(by: account, in: bundleID)[...]
        while !rest.isEmpty {
            let part = Array(rest.prefix(Limits.read))
            let owners = try await owners(of: part)
            chains.formUnion(zip(part, owners).filter { $1.allSatisfy { $0.isNone(orOneOf: own) } }.map(\.0))
            rest = rest.dropFirst(Limits.read)
        }
        return chains
    }

    /// Returns the account that each chain is bound to, under each of its names.
    private func owners(of chains: [PurchaseChain]) async throws(StoreUnreachable) -> [[RecordedOwner]] {
        let keys = chains.map { Array(record(of: $0).keys.dropFirst()) }
        var replies = await redis.send(keys.joined().map { RedisCommand("HMGET", key: $0, "o", "t") })[...]
        guard replies.count == keys.joined().count else { throw StoreUnreachable() }
        var owners: [[RecordedOwner]] = []
        for (chain, keys) in zip(chains, keys) {
            var ofChain: [RecordedOwner] = []
            for reply in replies.prefix(keys.count) {
                ofChain.append(try RecordedOwner(reply) { isTrusted($0, of: chain) })
            }
            owners.append(ofChain)
            replies = replies.dropFirst(keys.count)
        }
        return owners
    }

    /// Returns the chains that an account was seen with, whatever they are bound to, newest first.
    func used(by account: Account, in bundleID: String) async throws(StoreUnreachable) -> [PurchaseChain] {
        let keys = accountKeys(account, bundleID)
        let indexes = try await hashes(keys.map(\.chains))
        let indexed = zip(keys, indexes).flatMap { keys, fields in
            fields.compactMap { IndexedChain($0.name, $0.value, of: keys, seal, bundleID: bundleID) }
        }
        return indexed.sorted { $0.usedAt > $1.usedAt }.prefix(Limits.chains).map(\.chain)
    }

    func accountKeys(_ account: Account, _ bundleID: String) -> [AccountKeys] {
        names.names(of: account, in: bundleID).map { AccountKeys(bundleID, $0.name) }
    }

    /// Reads hashes. A key of another type counts as empty.
    func hashes(
        _ keys: [RedisWord]
    ) async throws(StoreUnreachable) -> [[(name: [UInt8], value: [UInt8])]] {
        let replies = await redis.send(keys.map { RedisCommand("HGETALL", key: $0) })
        guard replies.count == keys.count else { throw StoreUnreachable() }
        var hashes: [[(name: [UInt8], value: [UInt8])]] = []
        for reply in replies {
            switch reply {
            case .success(.array(let parts)):
                let words = parts.map { $0.bytes ?? [] }
                hashes.append(stride(from: 0, to: words.count - 1, by: 2).map { (words[$0], words[$0 + 1]) })
            case .failure(.refused(let refusal)) where refusal.isWrongType: hashes.append([])
            default: throw StoreUnreachable()
            }
        }
        return hashes
    }
}

/// The account in a chain's record.
private enum RecordedOwner {
    case none
    case account(String)
    /// A key of another type, or an owner without the tag of the chain.
    case unreadable

    /// - Parameter reply: the owner and its tag.
    init(
        _ reply: Result<RedisValue, RedisError>, isTrusted: (UseReply.Owner) -> Bool
    ) throws(StoreUnreachable) {
        switch reply {
        case .success(.array(let parts)) where parts.first == .null: self = .none
        case .success(.array(let parts)):
            let owner = UseReply.Owner(account: parts.first?.text ?? "", tag: parts.last?.text ?? "")
            self = isTrusted(owner) ? .account(owner.account) : .unreadable
        case .success: self = .unreadable
        case .failure(.refused(let refusal)) where refusal.isWrongType: self = .unreadable
        case .failure: throw StoreUnreachable()
        }
    }

    func isNone(orOneOf accounts: [AccountName]) -> Bool {
        switch self {
        case .none: true
        case .account(let name): accounts.contains { $0.text == name }
        case .unreadable: false
        }
    }
}

extension RedisResults {
    /// Returns the values of all replies.
    func allSuccessful() throws(StoreUnreachable) -> [RedisValue] {
        var values: [RedisValue] = []
        for reply in self {
            guard case .success(let value) = reply else { throw StoreUnreachable() }
            values.append(value)
        }
        return values
    }
}

extension Result<RedisValue, RedisError> {
    fileprivate var names: [String] { (try? get())?.texts ?? [] }
}

extension RedisValue {
    var elements: [RedisValue] { if case .array(let elements) = self { elements } else { [] } }

    fileprivate var texts: [String] { elements.compactMap(\.text) }
}
