// SPDX-License-Identifier: Apache-2.0

import Customers
import Gateway
import Receipts
import Testing
import TestSupport

@testable import ServerTestSupport

/// The behaviour of every store of the accounts of purchases, in this process and in Redis.
@Suite(.timeLimit(.patient)) struct OwnershipStoreTests {
    typealias Samples = OwnershipSamples

    @Test(.redis, arguments: StoreKind.allCases)
    func `a chain is bound to its first account`(kind: StoreKind) async throws {
        let (store, other) = SharedOwnership(kind).nodes
        #expect(try await store.binding(by: "a") == .new)
        #expect(try await other.binding(by: "a") == .same)
        #expect(try await other.binding(by: "b") == .other)
        #expect(try await store.binding(by: "a") == .same)
        #expect(try await store.binding(of: Samples.chain("2"), by: "b") == .new)
    }

    @Test(.redis, arguments: StoreKind.allCases)
    func `accounts are compared byte by byte`(kind: StoreKind) async throws {
        let store = SharedOwnership(kind).store, composed = "\u{E9}", decomposed = "e\u{301}"
        #expect(composed == decomposed)
        #expect(try Samples.account(composed) != Samples.account(decomposed))
        #expect(try await store.binding(by: composed) == .new)
        #expect(try await store.binding(by: decomposed) == .other)
        #expect(try await store.binding(by: composed) == .same)
    }

    @Test(.redis, arguments: StoreKind.allCases)
    func `each chain has its own use, in order`(kind: StoreKind) async throws {
        let store = SharedOwnership(kind).store, chains = (0..<40).map { Samples.chain("\($0)") }
        for number in stride(from: 0, to: 40, by: 3) {
            #expect(try await store.binding(of: chains[number], by: "a") == .new)
        }
        for number in stride(from: 1, to: 40, by: 3) {
            #expect(try await store.binding(of: chains[number], by: "b") == .new)
        }
        let uses = try #require(await store.record(try Samples.account("a"), using: chains))
        #expect(uses.map(\.binding) == (0..<40).map { [.same, .other, .new][$0 % 3] })
        #expect(await store.record(try Samples.account("a"), using: []) == [])
    }

    @Test(.redis, arguments: StoreKind.allCases)
    func `environments and apps do not share bindings`(kind: StoreKind) async throws {
        let store = SharedOwnership(kind).store
        let foreign = PurchaseChain(bundleID: "other", environment: .production, originalTransactionID: "2000")
        #expect(try await store.binding(by: "a") == .new)
        #expect(try await store.binding(of: Samples.chain("2000", .sandbox), by: "b") == .new)
        #expect(try await store.binding(of: foreign, by: "c") == .new)
    }

    @Test(.redis, arguments: StoreKind.allCases)
    func `of many first uses at once exactly one binds`(kind: StoreKind) async throws {
        let (store, other) = SharedOwnership(kind).nodes
        for id in ["1", "2", "3"] {
            let chain = Samples.chain(id), accounts = (0..<32).map { "account \($0)" }
            let bindings = try await withThrowingTaskGroup(of: (String, RecordedUse.Binding).self) { group in
                for (number, account) in accounts.enumerated() {
                    group.addTask {
                        (account, try await (number % 2 == 0 ? store : other).binding(of: chain, by: account))
                    }
                }
                return try await group.reduce(into: [:]) { $0[$1.0] = $1.1 }
            }
            let owners = accounts.filter { bindings[$0] == .new }
            #expect(owners.count == 1)
            #expect(bindings.values.count { $0 == .other } == 31)
            for account in accounts {
                let binding = try await store.binding(of: chain, by: account)
                #expect(binding == (account == owners.first ? .same : .other))
            }
        }
    }

    @Test(.redis, arguments: StoreKind.allCases)
    func `a binding can be transferred, and forgotten`(kind: StoreKind) async throws {
        let shared = SharedOwnership(kind), store = shared.store, chain = Samples.chain()
        try await store.transfer(chain, to: try Samples.account("a"))
        #expect(try await store.binding(by: "b") == .other)
        try await store.transfer(chain, to: try Samples.account("b"))
        #expect(try await store.binding(by: "b") == .same)
        #expect(try await store.binding(by: "a") == .other)
        #expect(try await store.chains(of: try Samples.account("b"), in: Samples.bundleID) == [chain])
        #expect(try await store.forget(chain))
        #expect(try await !store.forget(chain))
        if let redis = shared.redis { #expect(try await redis.keyCount == 0) }
        #expect(try await store.binding(by: "c") == .new)
    }

    @Test(.redis, arguments: StoreKind.allCases)
    func `too many accounts within the window are suspicious, and reported once`(kind: StoreKind) async throws {
        let shared = SharedOwnership(kind), (store, other) = shared.nodes, chain = Samples.chain()
        for account in ["a", "b", "c"] {
            #expect(try await store.use(by: account).suspiciousAccounts == nil)
        }
        #expect(try await store.use(by: "d") == RecordedUse(.other, suspiciousAccounts: 4))
        #expect(try await other.use(by: "a") == RecordedUse(.same, suspiciousAccounts: 4))
        let written = try await withThrowingTaskGroup(of: Bool.self) { group in
            for number in 0..<8 {
                group.addTask {
                    try await (number % 2 == 0 ? store : other).report(Samples.event(number), about: chain)
                }
            }
            return try await group.reduce(into: 0) { $0 += $1 ? 1 : 0 }
        }
        #expect(written == 1)
        #expect(try await store.use(by: "e").suspiciousAccounts == nil)
        let query = EventQuery(chain.partition, after: .start, maximum: 10)
        let events = try #require(await shared.log.read([query])?.first).events
        #expect(events.count == 1 && events.first?.event.type == .fraudSuspected)
    }

    @Test(.redis, arguments: StoreKind.allCases)
    func `a chain without a record is not reported`(kind: StoreKind) async throws {
        let shared = SharedOwnership(kind)
        #expect(try await !shared.store.report(Samples.event(1), about: Samples.chain()))
        let query = EventQuery(Samples.chain().partition, after: .start, maximum: 10)
        #expect(await shared.log.read([query])?.first?.events.isEmpty == true)
        if let redis = shared.redis { #expect(try await redis.keyCount == 0) }
    }

    @Test(.redis, arguments: StoreKind.allCases)
    func `an account has all its chains: an erasure deletes their data, and then the account`(kind: StoreKind)
        async throws
    {
        let store = SharedOwnership(kind).store, account = try Samples.account("a")
        let chains = (0..<1001).map { Samples.chain("\($0)") }
        for start in stride(from: 0, to: chains.count, by: 200) {
            _ = await store.record(account, using: Array(chains[start...].prefix(200)))
        }
        #expect(try await store.chains(of: account, in: Samples.bundleID) == Set(chains))
    }

    @Test(.redis, arguments: StoreKind.allCases)
    func `the chains of an account are those that it used and no other account has, in one app`(
        kind: StoreKind
    ) async throws {
        let store = SharedOwnership(kind).store, account = try Samples.account("a")
        let chains: Set = [Samples.chain("1"), Samples.chain("2", .sandbox)]
        let foreign = PurchaseChain(bundleID: "other", environment: .production, originalTransactionID: "3")
        _ = await store.record(try Samples.account("b"), using: [Samples.chain("1"), Samples.chain("4")])
        _ = await store.record(account, using: chains + [foreign])
        #expect(try await store.chains(of: account, in: Samples.bundleID) == [Samples.chain("2", .sandbox)])
        #expect(try await store.chains(of: account, in: "other") == [foreign])
        #expect(try await store.chains(of: try Samples.account("c"), in: Samples.bundleID).isEmpty)
    }

    @Test(.redis, arguments: StoreKind.allCases)
    func `an erased account leaves the chains of others`(kind: StoreKind) async throws {
        let shared = SharedOwnership(kind), store = shared.store, account = try Samples.account("a")
        _ = try await store.use(of: Samples.chain("1"), by: "b")
        _ = await store.record(account, using: [Samples.chain("1"), Samples.chain("2"), Samples.chain("3")])
        _ = try await store.use(of: Samples.chain("3"), by: "c")
        #expect(try await store.erase(Samples.subject([], account)) == [.ownership: 3])
        #expect(try await store.chains(of: account, in: Samples.bundleID).isEmpty)
        if let redis = shared.redis { #expect(try await !redis.exists(Samples.recordKey(Samples.chain("2")))) }
        #expect(try await store.binding(of: Samples.chain("1"), by: "b") == .same)
        #expect(try await store.binding(of: Samples.chain("1"), by: "a") == .other)
        // It was bound to the erased account.
        #expect(try await store.binding(of: Samples.chain("3"), by: "c") == .new)
    }

    @Test(.redis, arguments: StoreKind.allCases)
    func `an erased purchase leaves the other purchases of its accounts`(kind: StoreKind) async throws {
        let store = SharedOwnership(kind).store, account = try Samples.account("a")
        _ = await store.record(account, using: [Samples.chain("1"), Samples.chain("2")])
        #expect(try await store.erase(Samples.subject([Samples.chain("1")])) == [.ownership: 1])
        #expect(try await store.chains(of: account, in: Samples.bundleID) == [Samples.chain("2")])
        #expect(try await store.binding(of: Samples.chain("2"), by: "b") == .other)
        #expect(try await store.binding(of: Samples.chain("1"), by: "b") == .new)
    }

    @Test(.redis, arguments: StoreKind.allCases)
    func `an erasure of purchases and an account can be repeated`(kind: StoreKind) async throws {
        let store = SharedOwnership(kind).store, account = try Samples.account("a")
        for (id, user) in [("1", "a"), ("2", "b"), ("2", "a"), ("3", "a"), ("4", "b")] {
            _ = try await store.use(of: Samples.chain(id), by: user)
        }
        let subject = Samples.subject([Samples.chain("1")], account)
        #expect(try await store.erase(subject) == [.ownership: 3])
        #expect(try await store.erase(subject) == [:])
        #expect(try await store.chains(of: account, in: Samples.bundleID) == [])
        for (id, user, binding) in [("1", "c", .new), ("2", "b", .same), ("3", "c", .new), ("4", "b", .same)]
            as [(String, String, RecordedUse.Binding)]
        {
            #expect(try await store.binding(of: Samples.chain(id), by: user) == binding, "\(id)")
        }
    }
}
