// SPDX-License-Identifier: Apache-2.0

internal import Customers
internal import Gateway
internal import JSON
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

    func chains(of name: String) -> RedisWord { RedisWord(prefix + "account:" + name) }

    /// Returns the name that binds an encrypted chain to its place in the index.
    func sealedName(_ chain: String) -> String { "\(prefix)account:\(name) \(chain)" }
}

/// The name of an account, after the ID of the key it was made with: `<key ID>:<name>`. So a name under a key that is
/// no longer configured is recognized: it may be any account's name.
struct AccountName: Hashable, Sendable {
    let text: String

    init(keyID: String, _ name: String) { text = "\(keyID):\(name)" }

    init?(stored text: String) {
        guard text.contains(":") else { return nil }
        self.text = text
    }

    var keyID: String { String(text.prefix { $0 != ":" }) }

    var name: String { String(text.drop { $0 != ":" }.dropFirst()) }
}

extension EntryNames {
    func owners(of chain: PurchaseChain) -> [String] { names("ownership", chain.nameParts) }

    /// Returns the tag of an account as the owner of a chain, which only a holder of the cache key can make; nil if the
    /// key of the name is not configured.
    func tag(of owner: AccountName, _ chain: PurchaseChain) -> String? {
        keys.first { $0.id == owner.keyID }?.names.name("owner", chain.nameParts + [Array(owner.text.utf8)])
    }

    func names(of account: Account, in bundleID: String) -> [AccountName] {
        let parts = [bundleID, account.id].map { Array($0.utf8) }
        return keys.map { AccountName(keyID: $0.id, $0.names.name("account", parts)) }
    }
}

struct StoredAccountChain: StoredForm {
    private(set) var chain: PurchaseChain

    init(_ chain: PurchaseChain) { self.chain = chain }

    /// - Parameter bundleID: the app of the key.
    init(storedBytes: [UInt8], bundleID: String) throws(StoredFormFault) {
        chain = PurchaseChain(bundleID: bundleID, environment: .production, originalTransactionID: "")
        try read(storedBytes)
    }

    /// Visits all fields but the app.
    mutating func visitForm<Form: StoredFormVisitor>(_ form: inout Form) throws(Form.Failure) {
        var environment: Environment? = chain.environment, id = chain.originalTransactionID
        try form.version(1)
        try form.word("environment", &environment)
        try form.text(&id)
        guard let environment else { return try form.invalid("environment") }
        chain = PurchaseChain(bundleID: chain.bundleID, environment: environment, originalTransactionID: id)
    }
}

struct IndexedChain {
    /// The time of its last use, in milliseconds since 1970.
    let usedAt: Int64
    let chain: PurchaseChain

    /// Returns nil for an entry that cannot be decrypted or read.
    /// - Parameter value: the time as digits, a space, and the encrypted form.
    init?(_ name: [UInt8], _ value: [UInt8], of keys: AccountKeys, _ seal: StoreSeal, bundleID: String) {
        let digits = value.prefix { $0 != UInt8(ascii: " ") }
        guard let name = String(outside: name), let usedAt = Int64(stored: digits),
            let bytes = try? seal.open(Array(value.dropFirst(digits.count + 1)), for: keys.sealedName(name)),
            let chain = try? StoredAccountChain(storedBytes: bytes, bundleID: bundleID).chain
        else { return nil }
        (self.usedAt, self.chain) = (usedAt, chain)
    }
}
