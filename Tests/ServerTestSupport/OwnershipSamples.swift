// SPDX-License-Identifier: Apache-2.0

import Customers
import Gateway
import Receipts
import Redis
import Testing
import TestSupport

@testable import RedisStore

/// Purchases and accounts for tests.
enum OwnershipSamples {
    static let bundleID = NotificationSamples.bundleID

    static func chain(_ id: String = "2000", _ environment: Environment = .production) -> PurchaseChain {
        PurchaseChain(bundleID: bundleID, environment: environment, originalTransactionID: id)
    }

    /// Returns chains of one partition.
    static func neighbours(_ count: Int) -> [PurchaseChain] {
        let chains = (0...).lazy.map { chain("\(5000 + $0)") }
        return Array(chains.filter { $0.partition == chain().partition }.prefix(count))
    }

    static func account(_ id: String) throws -> Account { try #require(Account(id)) }

    static func event(_ number: Int, about chain: PurchaseChain = chain()) -> Event {
        Event(
            id: Event.id("fraud", bundleID: bundleID, chain.environment, cause: ["\(number)"]), type: .fraudSuspected,
            bundleID: bundleID, environment: chain.environment, originalTransactionID: chain.originalTransactionID,
            occurredAt: StoreSamples.time(0), json: Array(#"{"number":\#(number)}"#.utf8))
    }

    static func recordKey(_ chain: PurchaseChain = chain(), keys: String = StoreSamples.firstKey) -> RedisWord {
        OwnershipKeys(chain.partition).owner(EntryNames(StoreSamples.keys(keys)).owners(of: chain)[0])
    }

    static func subject(_ chains: Set<PurchaseChain>, _ account: Account? = nil) -> ErasureSubject {
        ErasureSubject(bundleID: bundleID, chains: chains, account: account)
    }
}

extension NotificationStage {
    func ownership(
        keys: String = StoreSamples.firstKey, rules: OwnershipRules = OwnershipRules(),
        bulk: (any RedisCommands)? = nil, requests: (any RedisCommands)? = nil,
        observe: @escaping @Sendable (SharedCacheFault) -> Void = { _ in }
    ) -> RedisOwnershipStore {
        RedisOwnershipStore(
            bulk ?? redis, requests: requests ?? redis, keys: StoreSamples.keys(keys), rules: rules, retention: .test,
            observe: observe)
    }

    /// The number of keys in Redis.
    var keyCount: Int {
        get async throws {
            guard case .integer(let count) = try await redis.send(RedisCommand("DBSIZE")) else { return -1 }
            return Int(count)
        }
    }

    func exists(_ key: RedisWord) async throws -> Bool {
        try await redis.send(RedisCommand("EXISTS", key: key)) == .integer(1)
    }

    /// Returns how many of these keys exist.
    func count(of keys: [RedisWord]) async throws -> Int {
        var count = 0
        for key in keys where try await exists(key) { count += 1 }
        return count
    }

    /// Moves the times of a chain's record back, as if so much time had passed.
    func age(_ chain: PurchaseChain, by time: Duration, keys: String = StoreSamples.firstKey) async throws {
        let owners = OwnershipKeys(chain.partition), name = EntryNames(StoreSamples.keys(keys)).owners(of: chain)[0]
        try await age(owners.owner(name), in: owners.owners, name, by: time)
    }

    /// Moves the times of an account's part of the index back.
    func age(_ account: Account, by time: Duration, keys: String = StoreSamples.firstKey) async throws {
        let bundleID = OwnershipSamples.bundleID
        let names = EntryNames(StoreSamples.keys(keys)).names(of: account, in: bundleID)
        let index = AccountKeys(bundleID, names[0].name)
        try await age(index.chains, in: index.accounts, index.name, by: time)
    }

    private static let aging: RedisWord = """
        local fields = redis.call('HGETALL', KEYS[2])
        for i = 1, #fields, 2 do
            local time, rest = string.match(fields[i + 1], '^(%d+)(.*)$')
            if fields[i] ~= 'o' and fields[i] ~= 't' then
                redis.call('HSET', KEYS[2], fields[i], string.format('%.0f', time - ARGV[1]) .. rest)
            end
        end
        return redis.call('ZINCRBY', KEYS[1], -ARGV[1], ARGV[2])
        """

    private func age(_ record: RedisWord, in ages: RedisWord, _ name: String, by time: Duration) async throws {
        let words: [RedisWord] = [
            "EVAL", Self.aging, 2, ages, record, RedisWord(time.wholeMilliseconds), RedisWord(name),
        ]
        _ = try await redis.send(RedisCommand(words, key: ages))
    }
}

/// Holds commands back until they are released.
final class HeldRedis: RedisCommands {
    private let redis: any RedisCommands
    private let gate = Gate()

    init(_ redis: any RedisCommands) { self.redis = redis }

    func release() { gate.open() }

    func send(_ commands: [RedisCommand]) async -> [Result<RedisValue, RedisError>] {
        await gate.pass()
        return await redis.send(commands)
    }
}

extension OwnershipStore {
    /// Records the use of one chain.
    func binding(of chain: PurchaseChain = OwnershipSamples.chain(), by account: String) async throws
        -> RecordedUse.Binding
    {
        try await use(of: chain, by: account).binding
    }

    func use(of chain: PurchaseChain = OwnershipSamples.chain(), by account: String) async throws -> RecordedUse {
        try #require(await record(try OwnershipSamples.account(account), using: [chain])?.first)
    }
}

/// A store of ownership that two nodes share.
struct SharedOwnership {
    let nodes: (any OwnershipStore, any OwnershipStore)
    /// Receives the events about suspicious uses.
    let log: any EventLog
    /// Nil if the store is in this process.
    let redis: NotificationStage?

    init(_ kind: StoreKind) {
        redis = kind == .redis ? .current : nil
        if let redis {
            (nodes, log) = ((redis.ownership(), redis.ownership()), redis.eventLog())
        } else {
            let log = EmbeddedEventLog(.test) { .now() }
            let store = EmbeddedOwnershipStore(OwnershipRules(), log: log) { .now() }
            (nodes, self.log) = ((store, store), log)
        }
    }

    var store: any OwnershipStore { nodes.0 }
}
