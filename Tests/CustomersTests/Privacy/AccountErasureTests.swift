// SPDX-License-Identifier: Apache-2.0

import Customers
import Gateway
import Redis
import Testing
import TestSupport

@testable import RedisStore
@testable import ServerTestSupport

/// The erasure of an account, of which nothing but the account is named.
@Suite(.timeLimit(.patient)) struct AccountErasureTests {
    private typealias Samples = OwnershipSamples

    /// The other erases its account afterwards.
    @Test(.redis, arguments: StoreKind.allCases)
    func `an account takes no purchase of another with it`(kind: StoreKind) async throws {
        let ownership = SharedOwnership(kind).store
        let owner = try Samples.account("owner"), thief = try Samples.account("thief")
        let stolen = Samples.chain("1"), own = Samples.chain("2")
        _ = await ownership.record(owner, using: [stolen])
        _ = await ownership.record(thief, using: [stolen, own])
        let data = ScriptedCustomerData(), erasure = data.erasure(ownership)
        let count = try await erasure.erase(Samples.bundleID, originalTransactionIDs: [], account: thief)
        #expect(data.erasedIDs == ["2"] && data.subjects.allSatisfy { $0.account == thief })
        // The record of its own purchase, and its trace in the other's.
        #expect(count == [.ownership: 2])
        #expect(try await ownership.chains(of: owner, in: Samples.bundleID) == [stolen])
        #expect(await ownership.record(owner, using: [stolen])?.map(\.binding) == [.same])
        _ = try await erasure.erase(Samples.bundleID, originalTransactionIDs: [], account: owner)
        #expect(data.erasedIDs == ["1", "2"])
        #expect(await ownership.record(thief, using: [stolen, own])?.map(\.binding) == [.new, .new])
    }

    // MARK: Order

    @Test func `after a failed second pass, a repetition finds the purchases again`() async throws {
        let ownership = UnreliableOwnershipStore(), account = try Samples.account("a")
        _ = await ownership.record(account, using: [Samples.chain("1")])
        let data = ScriptedCustomerData([.success([:]), .failure(StoreUnreachable())])
        let erasure = data.erasure(ownership)
        await #expect(throws: StoreUnreachable.self) {
            try await erasure.erase(Samples.bundleID, originalTransactionIDs: [], account: account)
        }
        let again = try await erasure.erase(Samples.bundleID, originalTransactionIDs: [], account: account)
        #expect(again == [.ownership: 1])
        #expect(data.subjects.count == 4 && Set(data.subjects).count == 1)
    }

    @Test(arguments: [false, true])
    func `cached results are purged again if something was written meanwhile`(isLate: Bool) async throws {
        let data = ScriptedCustomerData([.success([.events: 2]), .success(isLate ? [.events: 1] : [:])])
        let purge = ScriptedCustomerData(), erasure = data.erasure(UnreliableOwnershipStore(), purge: purge)
        let count = try await erasure.erase(Samples.bundleID, originalTransactionIDs: ["1"], account: nil)
        #expect(count == [.events: isLate ? 3 : 2])
        #expect(purge.subjects.count == (isLate ? 2 : 1))
    }

    // MARK: Counts

    @Test func `counts stay at the largest number, and below 0 do not count`() {
        var count: ErasureCount = [.events: .max - 1]
        count.add([.events: 2, .deliveries: -1])
        #expect(count == [.events: .max])
    }

    @Test(arguments: [Int64.max, .min, -1])
    func `a count that no store can have is a fault of Redis`(count: Int64) async throws {
        let redis = TestRedis([.success(.integer(count))]), subject = Samples.subject([Samples.chain("1")])
        let jobs = RedisJobStore(redis, keys: StoreSamples.keys(), rules: JobRules(), observe: { _ in })
        await #expect(throws: StoreUnreachable.self) { _ = try await jobs.erase(subject) }
        await #expect(throws: StoreUnreachable.self) {
            _ = try await (redis as any RedisCommands).count(ErasureScripts.states, keys: ["gw:{x}:states"])
        }
    }

    @Test func `a store that always has more jobs ends the erasure`() async throws {
        let redis = TestRedis([.success(.integer(Int64(RedisJobStore.Limits.erased)))])
        let jobs = RedisJobStore(redis, keys: StoreSamples.keys(), rules: JobRules(), observe: { _ in })
        await #expect(throws: StoreUnreachable.self) {
            _ = try await jobs.erase(Samples.subject([Samples.chain("1")]))
        }
        #expect(redis.count <= RedisJobStore.Limits.erasures)
    }
}
