// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import Customers
internal import Gateway
internal import Receipts
internal import Redis

/// The keys of the bindings in one partition. None expires; the writers trim them by age.
///
/// ```
/// gw:{n:<app>:<number>}:owner:<name> hash: `o` the account that a chain is bound to, `t` the tag that proves it,
///                                    `s<account>` the time of the last use by each account, `r` the time of the last
///                                    report
/// gw:{n:<app>:<number>}:owners       sorted set: the names of these chains, by the time of their last use
/// ```
struct OwnershipKeys: Sendable {
    private let prefix: String
    let owners: RedisWord

    init(_ partition: AppPartition) {
        prefix = NotificationKeys(partition).prefix
        owners = RedisWord(prefix + "owners")
    }

    func owner(_ name: String) -> RedisWord { RedisWord(prefix + "owner:" + name) }
}

/// The keys of the index of accounts, which finds the chains of an account. They follow from its name alone.
///
/// ```
/// gw:{a:<app>:<number>}:account:<name> hash: by the names of chains the time of the last use, and the chain, encrypted
/// gw:{a:<app>:<number>}:accounts       sorted set: the names of the accounts, by the time of their last use
/// ```
struct AccountKeys: Sendable {
    private let prefix: String
    let accounts: RedisWord
    let chains: RedisWord
    let name: String

    init(_ bundleID: String, _ name: String) {
        prefix = "gw:{a:\(bundleID.appName):\(AppPartition(bundleID: bundleID, of: name).number)}:"
        accounts = RedisWord(prefix + "accounts")
        chains = RedisWord(prefix + "account:" + name)
        self.name = name
    }

    /// Returns the key of another account of this partition.
    func chains(of name: String) -> RedisWord { RedisWord(prefix + "account:" + name) }

    /// Returns the name that binds an encrypted chain to its place in the index.
    func sealedName(_ chain: String) -> String { "\(prefix)account:\(name) \(chain)" }
}

/// The name of an account, after the ID of the key it was made with: `<key ID>:<name>`. So a name under a key that is
/// no longer configured is recognized: it may be any account's name.
struct AccountName: Hashable, Sendable {
    let text: String

    init(keyID: String, _ name: String) { text = "\(keyID):\(name)" }

    /// Returns nil for a text that is none.
    init?(stored text: String) {
        guard text.contains(":") else { return nil }
        self.text = text
    }

    /// The ID of the key that the name was made with.
    var keyID: String { String(text.prefix { $0 != ":" }) }

    /// The name without the ID of the key.
    var name: String { String(text.drop { $0 != ":" }.dropFirst()) }
}

/// Pseudonymous names of chains and accounts under every cache key; the first writes.
struct OwnershipNames: Sendable {
    private let keys: [(id: String, names: StoreNames)]

    init(_ keys: StoreKeys) { self.keys = keys.all.map { ($0.id, StoreNames($0)) } }

    func names(of chain: PurchaseChain) -> [String] {
        let parts = [chain.bundleID, chain.environment.rawValue, chain.originalTransactionID]
        return keys.map { $0.names.name("ownership", parts.map { Array($0.utf8) }) }
    }

    /// Returns the tag of an account as the owner of a chain, which only a holder of the cache key can make; nil if the
    /// key of the name is not configured.
    func tag(of owner: AccountName, _ chain: PurchaseChain) -> String? {
        let parts = [chain.bundleID, chain.environment.rawValue, chain.originalTransactionID, owner.text]
        return keys.first { $0.id == owner.keyID }?.names.name("owner", parts.map { Array($0.utf8) })
    }

    func names(of account: Account, in bundleID: String) -> [AccountName] {
        let parts = [bundleID, account.id].map { Array($0.utf8) }
        return keys.map { AccountName(keyID: $0.id, $0.names.name("account", parts)) }
    }
}
