// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import Customers
internal import Gateway
internal import JSON
internal import Receipts
internal import Redis
internal import Synchronization

extension RedisOwnershipStore {
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
        let accounts = names.names(of: account, in: bundleID).map { RedisWord($0.text) }
        let calls = try await used(by: account, in: bundleID).map { chain in
            let call = record(of: chain)
            return ScriptCall(keys: call.keys, call.arguments + accounts)
        }
        let left = try await redis.run(OwnershipScripts.leave, calls).allSuccessful()
        let indexes = accountKeys(account, bundleID).map { unindex($0, []) }
        _ = try await redis.run(OwnershipScripts.unindex, indexes).allSuccessful()
        return left.count { $0 == .integer(1) }
    }

    /// Deletes the records of chains, after their places in the indexes of accounts: only a record names its accounts.
    /// - Returns: the number of chains that had a record.
    private func remove(_ chains: [PurchaseChain]) async throws(StoreUnreachable) -> Int {
        let calls = chains.map { record(of: $0) }
        let stored = try await hashes(calls.flatMap { $0.keys.dropFirst() })
        let perChain = stored.count / max(1, chains.count)
        try await unindex(
            chains.enumerated().map { index, chain in
                (chain, stored[index * perChain..<(index + 1) * perChain].joined().map(\.name))
            })
        let replies = try await redis.run(OwnershipScripts.forget, calls).allSuccessful().map(\.elements)
        // Accounts that used them meanwhile.
        try await unindex(zip(chains, replies).map { ($0, $1.dropFirst().compactMap(\.bytes)) })
        return replies.count { $0.first == .integer(1) }
    }

    /// Returns the key of the records' ages, the keys of a chain's record, and its names.
    func record(of chain: PurchaseChain) -> ScriptCall {
        let keys = OwnershipKeys(chain.partition), chains = names.names(of: chain)
        return ScriptCall(keys: [keys.owners] + chains.map { keys.owner($0) }, chains.map { RedisWord($0) })
    }

    /// Removes chains from the indexes of accounts, which the fields of their records name.
    private func unindex(_ chains: [(PurchaseChain, fields: [[UInt8]])]) async throws(StoreUnreachable) {
        let calls = chains.flatMap { chain, fields in
            fields.compactMap { AccountName(field: $0) }
                .map { unindex(AccountKeys(chain.bundleID, $0.name), names.names(of: chain)) }
        }
        _ = try await redis.run(OwnershipScripts.unindex, calls).allSuccessful()
    }
}

extension AccountName {
    /// Returns nil for a field that does not record an account's use.
    fileprivate init?(field: [UInt8]) {
        guard field.first == UInt8(ascii: "s"), let name = String(outside: field.dropFirst()) else { return nil }
        self.init(stored: name)
    }
}
