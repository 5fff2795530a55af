// SPDX-License-Identifier: Apache-2.0

import Gateway
import ReceiptForge
import Receipts
import Testing
import TestSupport

@testable import Customers
@testable import ServerTestSupport

/// The behaviour of every store of notifications and customer states, in this process and in Redis.
@Suite(.timeLimit(.patient)) struct NotificationStoreTests {
    typealias Samples = NotificationSamples

    @Test(.redis, arguments: StoreKind.allCases)
    func `a notification is stored once, taken once, and gone when it is finished`(kind: StoreKind) async throws {
        let store = SharedCustomers(kind).notifications.0, partition = Samples.partition
        #expect(try await !store.hasSeen(Samples.identity(1), in: partition))
        #expect(try await store.store(Samples.record("one"), Samples.identity(1), in: partition))
        #expect(try await !store.store(Samples.record("one again"), Samples.identity(1), in: partition))
        #expect(try await store.store(Samples.record("two"), Samples.identity(2), in: partition))
        #expect(try await store.hasSeen(Samples.identity(1), in: partition))
        let taken = await store.take(from: partition, includingStalled: false)
        #expect(try taken.map { try $0.record.get() } == [Samples.record("one"), Samples.record("two")])
        #expect(await store.take(from: partition, includingStalled: true).isEmpty)
        let before = try #require(await store.survey(partition))
        #expect(before.entries == 2 && before.bytes == taken.reduce(0) { $0 + $1.storedBytes })
        #expect(before.lastIntakeAge != nil && before.fault == nil)
        await store.finish(taken, in: partition)
        await store.finish(taken, in: partition)
        let after = try #require(await store.survey(partition))
        #expect(after.entries == 0 && after.bytes == 0 && after.oldestAge == nil)
        #expect(try await !store.store(Samples.record("one"), Samples.identity(1), in: partition))
    }

    @Test(.redis, arguments: StoreKind.allCases)
    func `what a dead node took is taken over by another`(kind: StoreKind) async throws {
        let shared = SharedCustomers(kind), (dead, other) = shared.notifications, partition = Samples.partition
        _ = try await dead.store(Samples.record(), Samples.identity(1), in: partition)
        let taken = try #require(await dead.take(from: partition, includingStalled: false).first)
        #expect(await other.take(from: partition, includingStalled: true).isEmpty)
        try shared.stall(taken, in: partition)
        #expect(await other.take(from: partition, includingStalled: false).isEmpty)
        let again = await other.take(from: partition, includingStalled: true)
        #expect(try again.map { try $0.record.get() } == [Samples.record()])
    }

    @Test(.redis, arguments: StoreKind.allCases)
    func `the backlog has a limit in bytes`(kind: StoreKind) async throws {
        let store = SharedCustomers(kind, maximumBytes: 5000).notifications.0, partition = Samples.partition
        let record = Samples.record(String(repeating: "x", count: 2000))
        for number in 1...2 { _ = try await store.store(record, Samples.identity(number), in: partition) }
        await #expect(throws: NotificationStoreFault.backlog) {
            try await store.store(record, Samples.identity(3), in: partition)
        }
        await store.finish(await store.take(from: partition, includingStalled: false), in: partition)
        _ = await store.survey(partition)
        #expect(try await store.store(record, Samples.identity(3), in: partition))
    }

    @Test(.redis, arguments: StoreKind.allCases)
    func `of several states of a transaction and of a plan the newest counts, in any order`(kind: StoreKind)
        async throws
    {
        let items = [
            Samples.transaction(at: 1), Samples.transaction(at: 5, revoked: true), Samples.transaction(at: 3),
            Samples.transaction("2002", at: 2), Samples.renewal(at: 4, willRenew: false),
            Samples.renewal(at: 2, willRenew: true),
        ]
        let store = SharedCustomers(kind).notifications.0
        var generator = SplitMix64(seed: TestSeed.number(0))
        for number in 0..<20 {
            let chain = PurchaseChain(
                bundleID: Samples.bundleID, environment: .sandbox, originalTransactionID: "\(number)")
            for item in (items + items).shuffled(using: &generator) {
                _ = await store.merge([.init(chain, [item])])
            }
            let state = try #require(await store.states(of: [chain])?.first)
            #expect(Set(state.transactions) == Set([items[1], items[3]].compactMap(\.transaction)))
            #expect(state.renewals == [items[4]].compactMap(\.renewal))
            #expect(state.signedDate == StoreSamples.time(5))
        }
    }

    @Test(.redis, arguments: StoreKind.allCases)
    func `an update says if it changed anything`(kind: StoreKind) async throws {
        let store = SharedCustomers(kind).notifications.0
        func merge(_ item: SignedStateItem) async -> [Result<Bool, StoreUnreachable>] {
            await store.changes([.init(Samples.chain, [item])])
        }
        #expect(await merge(Samples.transaction(at: 2)) == [.success(true)])
        #expect(await merge(Samples.transaction(at: 2)) == [.success(false)])
        #expect(await merge(Samples.transaction(at: 1, revoked: true)) == [.success(false)])
        #expect(await merge(Samples.transaction(at: 2, revoked: true)) == [.success(true)])
        #expect(await merge(Samples.transaction(at: 2)) == [.success(false)])
    }

    @Test(.redis, arguments: StoreKind.allCases)
    func `the transactions of a chain are bounded to those signed last`(kind: StoreKind) async throws {
        let store = SharedCustomers(kind).notifications.0, maximum = ChainRecord.Limits.transactions
        let items = (1...maximum + 8).map { Samples.transaction("\(3000 + $0)", at: Int64($0)) }
        var generator = SplitMix64(seed: TestSeed.number(1))
        for item in items.shuffled(using: &generator) { _ = await store.merge([.init(Samples.chain, [item])]) }
        _ = await store.merge([.init(Samples.chain, [Samples.renewal(at: 1, willRenew: true)])])
        let state = try #require(await store.states(of: [Samples.chain])?.first)
        #expect(Set(state.transactions) == Set(items.suffix(maximum).compactMap(\.transaction)))
        #expect(state.renewals.count == 1)
    }

    @Test(.redis, arguments: StoreKind.allCases, [[1, 2], [2, 1], [1, 3], [3, 1]])
    func `a downgrade stays one in a newer plan for the same product, in any order`(
        kind: StoreKind, order: [Int64]
    ) async throws {
        let store = SharedCustomers(kind).notifications.0
        for second in order {
            guard case .renewal(var plan) = Samples.renewal(at: second, willRenew: second != 1) else { continue }
            (plan.productID, plan.renewalProductID) = ("gold", second == 3 ? "bronze" : "silver")
            plan.isDowngrade = second == 1
            _ = await store.merge([.init(Samples.chain, [.renewal(plan)])])
        }
        let plan = try #require(await store.states(of: [Samples.chain])?.first?.renewals.first)
        #expect(plan.signedDate == StoreSamples.time(order.max() ?? 0) && plan.isDowngrade == !order.contains(3))
    }
}

extension SignedStateItem {
    var transaction: Transaction? {
        if case .transaction(let transaction) = self { transaction } else { nil }
    }
    var renewal: Renewal? { if case .renewal(let renewal) = self { renewal } else { nil } }
}
