// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

import Gateway
import Ownership
import Privacy
import Receipts
import Testing

@testable import RedisCustomers

/// The erasure of an account, of which nothing but the account is named.
@Suite(.timeLimit(.minutes(5))) struct AccountErasureTests {
    private typealias Samples = OwnershipSamples

    @Test func `an account takes no purchase of another with it, in this process`() async throws {
        try await Self.expectKept(UnreliableOwnershipStore())
    }

    @Test func `an account takes no purchase of another with it, in Redis`() async throws {
        try await NotificationStage.with { stage in try await Self.expectKept(stage.ownership()) }
    }

    /// Erases an account that used a purchase of another, then that other.
    private static func expectKept(_ ownership: any OwnershipStore) async throws {
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
}
