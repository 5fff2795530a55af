// SPDX-License-Identifier: Apache-2.0

import Customers
import Gateway
import RealServers
import Redis
import Testing
import TestSupport

@testable import RedisStore
@testable import ServerTestSupport

/// The accounts of purchases in real Redis servers.
@Suite(.timeLimit(.patient)) struct RedisOwnershipTests {
    typealias Samples = OwnershipSamples
    private var stage: NotificationStage { .current }

    private static let day = Duration.seconds(86_400)
    private static let both = "\(StoreSamples.secondKey),\(StoreSamples.firstKey)"

    private static func indexKey(_ account: String, keys: String = StoreSamples.firstKey) throws -> RedisWord {
        let names = EntryNames(StoreSamples.keys(keys)).names(
            of: try Samples.account(account), in: Samples.bundleID)
        return AccountKeys(Samples.bundleID, names[0].name).chains
    }

    // MARK: Retention

    @Test(.redis) func `a binding is forgotten when its account has not used it for too long`() async throws {
        var rules = OwnershipRules()
        rules.retention = Self.day * 10
        let store = stage.ownership(rules: rules)
        #expect(try await store.binding(by: "a") == .new)
        try await stage.age(Samples.chain(), by: Self.day * 9)
        #expect(try await store.binding(by: "b") == .other)
        try await stage.age(Samples.chain(), by: Self.day * 2)
        #expect(try await store.binding(by: "b") == .new)
        #expect(try await store.binding(by: "a") == .other)
    }

    @Test(.redis) func `the writer deletes what is beyond the retention`() async throws {
        var rules = OwnershipRules()
        rules.retention = Self.day * 10
        let store = stage.ownership(rules: rules), chains = Samples.neighbours(3)
        let accounts = try (0..<300).map { try Samples.account("\($0)") }
        let new = try #require(accounts.dropFirst().first { Self.sharesIndex($0, accounts[0]) })
        _ = await store.record(accounts[0], using: [chains[0], chains[1]])
        try await stage.age(chains[0], by: Self.day * 11)
        try await stage.age(accounts[0], by: Self.day * 11)
        _ = await store.record(new, using: [chains[2]])
        try await eventually { try await stage.keyCount == 5 }
        #expect(try await !stage.exists(Samples.recordKey(chains[0])))
        #expect(try await stage.exists(Samples.recordKey(chains[1])))
        #expect(try await !stage.exists(try Self.indexKey("0")))
    }

    private static func sharesIndex(_ one: Account, _ other: Account) -> Bool {
        let names = EntryNames(StoreSamples.keys())
        let keys = [one, other].map { AccountKeys(Samples.bundleID, names.names(of: $0, in: Samples.bundleID)[0].name) }
        return keys[0].accounts == keys[1].accounts
    }

    @Test(.redis) func `the accounts of a chain are bounded to the owner and the latest`() async throws {
        let store = stage.ownership(), maximum = OwnershipRules.Limits.accounts
        for number in 0..<maximum + 6 { _ = try await store.binding(by: "\(number)") }
        let count = try await stage.redis.send(RedisCommand("HLEN", key: Samples.recordKey()))
        // And the owner with its tag.
        #expect(count == .integer(Int64(maximum + 2)))
        #expect(try await store.binding(by: "0") == .same)
        // Those that made room are no longer found by their accounts.
        let dropped = try Self.indexKey("1")
        try await eventually { try await !stage.exists(dropped) }
        #expect(try await store.chains(of: try Samples.account("0"), in: Samples.bundleID) == [Samples.chain()])
    }

    @Test(.redis) func `the accounts that made room leave the index, however many make room at once`() async throws {
        let bulk = HeldRedis(stage.redis), store = stage.ownership(bulk: bulk)
        let maximum = OwnershipRules.Limits.accounts
        let keys = try (0..<maximum + OwnershipTrims.Limits.running + 4).map { try Self.indexKey("\($0)") }
        for number in keys.indices { _ = try await store.binding(by: "\(number)") }
        #expect(try await stage.count(of: keys) == keys.count)
        bulk.release()
        try await eventually { try await stage.count(of: keys) == maximum }
    }

    @Test func `calls wait while all trims run, up to a limit, and are taken in parts`() {
        typealias Limits = OwnershipTrims.Limits
        var trims = OwnershipTrims()
        let calls = Array(repeating: ScriptCall(keys: ["key"]), count: Limits.waiting - 1)
        let begun = (0..<Limits.running + 2).map { _ in trims.begins(orKeeps: calls) }
        #expect(begun == Array(repeating: true, count: Limits.running) + [false, false])
        var counts: [Int] = []
        repeat { counts.append(trims.next().count) } while counts.last != 0
        #expect(counts.reduce(0, +) == Limits.waiting && counts.max() == Limits.batch)
        let begunLater = (0..<2).map { _ in trims.begins(orKeeps: []) }
        #expect(begunLater == [true, false])
    }

    // MARK: Keys

    @Test(.redis) func `a binding under an older key moves when its own account uses it`() async throws {
        let first = StoreSamples.firstKey, second = StoreSamples.secondKey
        let before = stage.ownership(keys: first), during = stage.ownership(keys: Self.both)
        #expect(try await before.binding(by: "a") == .new)
        #expect(try await during.binding(by: "b") == .other)
        #expect(try await stage.exists(Samples.recordKey(keys: first)))
        #expect(try await !stage.exists(Samples.recordKey(keys: second)))
        // Nodes with another first key may write to the index at the same time, so only old entries are removed.
        try await stage.age(try Samples.account("a"), by: Self.day)
        #expect(try await during.binding(by: "a") == .same)
        #expect(try await !stage.exists(Samples.recordKey(keys: first)))
        let older = try Self.indexKey("a", keys: first)
        try await eventually { try await !stage.exists(older) }
        let after = stage.ownership(keys: second)
        #expect(try await after.binding(by: "b") == .other)
        #expect(try await after.binding(by: "a") == .same)
    }

    @Test(.redis) func `nodes before and during a change of keys bind one account`() async throws {
        let before = stage.ownership(keys: "\(StoreSamples.firstKey),\(StoreSamples.secondKey)")
        let during = stage.ownership(keys: Self.both)
        for id in ["1", "2"] {
            let chain = Samples.chain(id)
            #expect(try await (id == "1" ? before : during).binding(of: chain, by: "a") == .new)
            for store in [before, during, before] {
                #expect(try await store.binding(of: chain, by: "b") == .other)
                #expect(try await store.binding(of: chain, by: "a") == .same)
            }
        }
    }

    @Test(.redis) func `an account named under a removed key is never another one`() async throws {
        let record = Samples.recordKey(), now = RedisWord(Int64(4_000_000_000_000))
        let stranger = String(repeating: "x", count: 43)
        _ = try await stage.redis.send(
            RedisCommand("HSET", key: record, "o", RedisWord("gone:\(stranger)"), RedisWord("sgone:\(stranger)"), now))
        let store = stage.ownership()
        #expect(try await store.binding(by: "a") == .new)
        #expect(try await store.binding(by: "a") == .same)
        #expect(try await store.binding(by: "b") == .other)
    }

    // MARK: Forgery

    @Test(.redis, arguments: [true, false])
    func `an owner copied from another purchase owns nothing`(hasTag: Bool) async throws {
        let faults = FaultLog(), store = stage.ownership(observe: faults.add)
        let own = Samples.chain("1"), stolen = Samples.chain("2")
        #expect(try await store.binding(of: own, by: "thief") == .new)
        #expect(try await store.binding(of: stolen, by: "owner") == .new)
        #expect(try await store.binding(of: stolen, by: "thief") == .other)
        // What a writer to Redis without the cache key can do.
        for field in hasTag ? ["o", "t"] : ["o"] {
            let copied = try await stage.redis.send(RedisCommand("HGET", key: Samples.recordKey(own), RedisWord(field)))
            _ = try await stage.redis.send(
                RedisCommand("HSET", key: Samples.recordKey(stolen), RedisWord(field), RedisWord(copied.bytes ?? [])))
        }
        #expect(try await store.binding(of: stolen, by: "owner") == .new)
        #expect(try await store.binding(of: stolen, by: "thief") == .other)
        #expect(try await store.binding(of: stolen, by: "owner") == .same)
        #expect(faults.all == [.sealInvalid])
    }

    @Test(.redis) func `an own name that another writer stored as the owner is no binding`() async throws {
        let store = stage.ownership(), thief = try Samples.account("thief"), stolen = Samples.chain("2")
        #expect(try await store.binding(of: stolen, by: "owner") == .new)
        #expect(try await store.binding(of: stolen, by: "thief") == .other)
        let owner = try await stage.redis.send(RedisCommand("HMGET", key: Samples.recordKey(stolen), "o", "t"))
        let name = EntryNames(StoreSamples.keys()).names(of: thief, in: Samples.bundleID)[0]
        let forged = RedisCommand(
            "HSET", key: Samples.recordKey(stolen), "o", RedisWord(name.text), "t", "AAAA")
        _ = try await stage.redis.send(forged)
        #expect(try await store.chains(of: thief, in: Samples.bundleID).isEmpty)
        // As if there was no owner.
        #expect(try await store.binding(of: stolen, by: "thief") == .new)
        let written = try await stage.redis.send(RedisCommand("HMGET", key: Samples.recordKey(stolen), "o", "t"))
        #expect(written != owner)
        #expect(try await store.binding(of: stolen, by: "thief") == .same)
    }

    @Test(.redis) func `a purchase without the tag of its owner is bound anew`() async throws {
        let store = stage.ownership()
        #expect(try await store.binding(by: "a") == .new)
        _ = try await stage.redis.send(RedisCommand("HDEL", key: Samples.recordKey(), "t"))
        #expect(try await store.binding(by: "b") == .new)
        #expect(try await store.binding(by: "a") == .other)
    }

    @Test(.redis) func `an account counts once under two keys`() async throws {
        let before = stage.ownership(), during = stage.ownership(keys: Self.both)
        for store in [before, during] {
            for account in ["a", "b", "c"] {
                #expect(try await store.use(by: account).suspiciousAccounts == nil)
            }
        }
        #expect(try await during.use(by: "d").suspiciousAccounts == 4)
    }

    // MARK: Suspicion

    @Test(.redis) func `accounts before the window do not count, and the next window is reported again`() async throws {
        let store = stage.ownership(), chain = Samples.chain(), event = Samples.event(1)
        for account in ["a", "b", "c", "d"] { _ = try await store.use(by: account) }
        #expect(try await store.report(event, about: chain))
        try await stage.age(chain, by: OwnershipRules().window + Self.day)
        #expect(try await store.use(by: "e").suspiciousAccounts == nil)
        for account in ["a", "b"] { #expect(try await store.use(by: account).suspiciousAccounts == nil) }
        #expect(try await store.use(by: "c").suspiciousAccounts == 4)
        #expect(try await store.report(event, about: chain))
        #expect(try await !store.report(event, about: chain))
    }

    // MARK: Index

    @Test(.redis)
    func `a chain whose binding cannot be read is of no account, and one without a binding is`() async throws {
        let store = stage.ownership(), account = try Samples.account("a")
        let chains = ["1", "2", "3", "4"].map { Samples.chain($0) }
        _ = await store.record(account, using: chains)
        _ = try await stage.redis.send(RedisCommand("HSET", key: Samples.recordKey(chains[0]), "o", "gone:name"))
        _ = try await stage.redis.send(RedisCommand("SET", key: Samples.recordKey(chains[1]), "x"))
        _ = try await stage.redis.send(RedisCommand("HDEL", key: Samples.recordKey(chains[2]), "o"))
        _ = try await stage.redis.send(RedisCommand("DEL", key: Samples.recordKey(chains[3])))
        #expect(try await store.chains(of: account, in: Samples.bundleID) == Set(chains[2...]))
    }

    @Test(.redis) func `a missing or damaged index is repaired at the next use`() async throws {
        let store = stage.ownership(), account = try Samples.account("a"), key = try Self.indexKey("a")
        _ = try await store.use(by: "a")
        _ = try await stage.redis.send(RedisCommand("DEL", key: key))
        #expect(try await store.chains(of: account, in: Samples.bundleID).isEmpty)
        let name = EntryNames(StoreSamples.keys()).owners(of: Samples.chain())[0]
        _ = try await stage.redis.send(RedisCommand("HSET", key: key, RedisWord(name), "1 x", "other", "garbage"))
        #expect(try await store.chains(of: account, in: Samples.bundleID).isEmpty)
        _ = try await store.use(by: "a")
        #expect(try await store.chains(of: account, in: Samples.bundleID) == [Samples.chain()])
        #expect(try await stage.redis.send(RedisCommand("HLEN", key: key)) == .integer(1))
    }

    @Test(.redis) func `the index of an account is bounded`() async throws {
        let store = stage.ownership(), account = try Samples.account("a")
        let maximum = RedisOwnershipStore.Limits.chains
        for start in stride(from: 0, to: maximum + 256, by: 256) {
            let chains = (start..<start + 256).map { Samples.chain("\($0)") }
            _ = try #require(await store.record(account, using: chains))
        }
        #expect(try await store.chains(of: account, in: Samples.bundleID).count == maximum)
        let length = try await stage.redis.send(RedisCommand("HLEN", key: try Self.indexKey("a")))
        #expect(length == .integer(Int64(maximum)))
    }

    @Test func `a chain is the same after storing, and part of one is none`() throws {
        let chain = Samples.chain(), bytes = StoredAccountChain(chain).storedBytes
        #expect(try StoredAccountChain(storedBytes: bytes, bundleID: Samples.bundleID).chain == chain)
        for part in (0..<bytes.count).map({ Array(bytes.prefix($0)) }) + [bytes + [0]] {
            #expect(throws: StoredFormFault.self) {
                try StoredAccountChain(storedBytes: part, bundleID: Samples.bundleID)
            }
        }
    }

    // MARK: Erasure

    @Test(.redis) func `an erasure leaves nothing of a customer, also under two keys`() async throws {
        let before = stage.ownership(), during = stage.ownership(keys: Self.both)
        let account = try Samples.account("a"), chains = Set((0..<5).map { Samples.chain("\($0)") })
        _ = await before.record(account, using: Array(chains))
        _ = await during.record(account, using: [Samples.chain("0"), Samples.chain("9")])
        _ = await during.record(try Samples.account("b"), using: [Samples.chain("1")])
        let known = try await during.chains(of: account, in: Samples.bundleID)
        #expect(known == chains.union([Samples.chain("9")]))
        #expect(try await during.erase(Samples.subject(known, account)) == [.ownership: 6])
        #expect(try await stage.keyCount == 0)
        #expect(try await during.erase(Samples.subject(known, account)) == [:])
    }

    @Test(.redis) func `an erasure of more chains than one step erases is whole`() async throws {
        let store = stage.ownership(), chains = (0..<200).map { Samples.chain("\($0)") }
        _ = await store.record(try Samples.account("a"), using: chains)
        #expect(try await store.erase(Samples.subject(Set(chains))) == [.ownership: 200])
        #expect(try await stage.keyCount == 0)
    }

    // MARK: Faults

    private typealias Uses = [(String, [RecordedUse.Binding])]

    @Test(.redis) func `a key of another type makes its chain unknown, and no other`() async throws {
        let store = stage.ownership(), chains = Samples.neighbours(3)
        _ = try await stage.redis.send(RedisCommand("SET", key: Samples.recordKey(chains[1]), "x"))
        _ = try await stage.redis.send(RedisCommand("SET", key: try Self.indexKey("b"), "x"))
        for (account, bindings) in [("a", [.new, .unknown, .new]), ("c", [.other, .unknown, .other])] as Uses {
            let uses = try #require(await store.record(try Samples.account(account), using: chains))
            #expect(uses.map(\.binding) == bindings)
        }
        // Without its index it could not be erased.
        #expect(await store.record(try Samples.account("b"), using: chains) == nil)
        let value = try await stage.redis.send(RedisCommand("GET", key: Samples.recordKey(chains[1])))
        #expect(value == .string(Array("x".utf8)))
        #expect(try await store.erase(Samples.subject(Set(chains), try Samples.account("b"))) == [.ownership: 3])
        // The damaged record could not say that this account used its chain, but the account's index does.
        for id in ["a", "c"] { _ = try await store.erase(Samples.subject([], try Samples.account(id))) }
        #expect(try await stage.keyCount == 0)
    }

    @Test(.redis) func `without Redis no use is known, and nothing else succeeds`() async throws {
        let away = TestRedis([.failure(.notConnected)]), chain = Samples.chain()
        let store = stage.ownership(bulk: away, requests: away), account = try Samples.account("a")
        #expect(await store.record(account, using: [chain]) == nil)
        await #expect(throws: StoreUnreachable.self) { try await store.transfer(chain, to: account) }
        await #expect(throws: StoreUnreachable.self) { _ = try await store.forget(chain) }
        await #expect(throws: StoreUnreachable.self) { _ = try await store.report(Samples.event(1), about: chain) }
        await #expect(throws: StoreUnreachable.self) { _ = try await store.chains(of: account, in: chain.bundleID) }
        await #expect(throws: StoreUnreachable.self) { _ = try await store.erase(Samples.subject([chain])) }
        await #expect(throws: StoreUnreachable.self) { _ = try await store.erase(Samples.subject([], account)) }
    }

    @Test(.redis) func `a use waits for the connections of requests only`() async throws {
        let bulk = TestRedis([.failure(.notConnected)])
        let store = stage.ownership(bulk: bulk)
        #expect(try await store.binding(by: "a") == .new)
        #expect(bulk.count == 0)
    }

    @Test(.redis("--maxmemory-policy", "volatile-lru"))
    func `a full Redis binds nothing, and evicts no binding`() async throws {
        let store = stage.ownership()
        #expect(try await store.binding(of: Samples.chain("1"), by: "a") == .new)
        try stage.server.ask("CONFIG", "SET", "maxmemory", "1")
        #expect(await store.record(try Samples.account("b"), using: [Samples.chain("2")]) == nil)
        try stage.server.ask("CONFIG", "SET", "maxmemory", "0")
        #expect(try await store.binding(of: Samples.chain("1"), by: "b") == .other)
        #expect(try await store.binding(of: Samples.chain("2"), by: "c") == .new)
    }

    @Test(.redis) func `nothing about an account or a purchase is readable, and nothing expires`() async throws {
        let store = stage.ownership(), chain = Samples.chain("987654321")
        for account in ["customer-1", "customer-2", "customer-3", "customer-4"] {
            _ = try await store.use(of: chain, by: account)
        }
        let secrets = ["customer", "987654321", Samples.bundleID, "Production"]
        #expect(try await stage.expectNothingReadable(of: secrets).count > 4)
    }

    // MARK: Cluster

    @Test func `bindings work in a cluster, and an erasure leaves nothing on any node`() async throws {
        let cluster = try await RedisCluster(), url = "redis+cluster://\(cluster.hosts)"
        try await NotificationStage.with(cluster.masters[0], url: url) { stage async throws in
            let store = stage.ownership(keys: Self.both), chains = (0..<40).map { Samples.chain("\($0)") }
            for account in ["a", "b", "c", "d"] {
                let uses = try #require(await store.record(try Samples.account(account), using: chains))
                #expect(uses.allSatisfy { $0.binding == (account == "a" ? .new : .other) })
                #expect(uses.allSatisfy { $0.suspiciousAccounts == (account == "d" ? 4 : nil) })
            }
            try await store.transfer(chains[0], to: try Samples.account("d"))
            #expect(try await store.binding(of: chains[0], by: "d") == .same)
            let account = try Samples.account("a")
            #expect(try await store.chains(of: account, in: Samples.bundleID) == Set(chains.dropFirst()))
            #expect(try await store.erase(Samples.subject(Set(chains), account)) == [.ownership: 40])
            for master in cluster.masters { #expect(try master.ask("DBSIZE") == "0") }
        }
    }
}
