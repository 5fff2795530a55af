// SPDX-License-Identifier: Apache-2.0

import NIOCore
import NIOPosix
import RealServers
import ReceiptForge
import Receipts
import Redis
import Resilience
import Synchronization
import TestSupport

@testable import AppStore
@testable import Gateway
@testable import RedisStore

/// A receipt, Apple's answer to it, and keys to encrypt that with.
enum StoreSamples {
    static let pki = Forged.pki
    static let contents = Forged.forge.contents
    static let created = Timestamp(millisecondsSince1970: contents.creationDate.secondsSince1970 * 1000)
    static let bundleID = contents.bundleID
    static let originalTransactionID = "2000000123456789"
    static let receipt = pki.sign(contents)

    static let verifier = Forged.verifier

    static let firstKey = "2026a:" + String(repeating: "QUFB", count: 10) + "QUE="
    static let secondKey = "2026b:" + String(repeating: "QkJC", count: 10) + "QkI="

    static func keys(_ text: String = firstKey) -> StoreKeys {
        guard let keys = try? StoreKeys(text) else { preconditionFailure("the keys of the tests are none") }
        return keys
    }

    /// Returns a time so many seconds after the receipt's creation.
    static func time(_ seconds: Int64) -> Timestamp { created.advanced(by: .seconds(seconds)) }

    static func verified(_ bytes: [UInt8] = receipt) throws -> VerifiedReceipt {
        try verifier.verify(bytes, at: Timestamp(millisecondsSince1970: 4_000_000_000_000))
    }

    static func key(
        _ bytes: [UInt8] = receipt, _ edit: (inout VerificationOptions) -> Void = { _ in }
    ) throws -> CacheKey {
        var asked = VerificationOptions()
        edit(&asked)
        let options = UpstreamRequest(
            subject: .signed(VerifiedEvidence(.appReceipt(try verified(bytes)))),
            excludesOldTransactions: asked.excludesOldTransactions)
        return CacheKey(options, at: .verifyReceipt, with: asked.sentSecret ?? ScriptedApple.secret)
    }

    /// Returns the name of a cached result under the first key.
    static func name(of key: CacheKey) -> String { EntryNames(keys()).names(of: key)[0] }

    /// Returns Apple's JSON: one subscription, paid until 1000 seconds after the receipt's creation.
    static func body(padding: Int = 0, environment: String = "Sandbox") -> [UInt8] {
        let transaction = """
            {"product_id":"monthly","transaction_id":"2000000987654321",\
            "original_transaction_id":"\(originalTransactionID)",\
            "purchase_date_ms":"\(time(0).millisecondsSince1970)",\
            "expires_date_ms":"\(time(1000).millisecondsSince1970)"}
            """
        var latest: [UInt8] = []
        Base64.append(encoding: receipt, to: &latest)
        return Array(
            """
            {"status":0,"environment":"\(environment)",\
            "receipt":{"bundle_id":"\(bundleID)","in_app":[\(transaction)]},\
            "latest_receipt_info":[\(transaction)],\
            "pending_renewal_info":[{"original_transaction_id":"\(originalTransactionID)","auto_renew_status":"1"}],\
            "latest_receipt":"\(String(decoding: latest, as: UTF8.self))",\
            "note":"\(String(repeating: "x", count: padding))"}
            """.utf8)
    }

    static func answer(padding: Int = 0) throws -> UpstreamAnswer {
        let response = try VerifyReceiptResponse(parsing: body(padding: padding))
        guard case .answer(let answer) = UpstreamReply(response, from: .sandbox, at: time(0)) else {
            throw SharedCacheFault.unreadable
        }
        return answer
    }

    /// An answer without nil values.
    static var fullAnswer: UpstreamAnswer {
        var transaction = Transaction(productID: "monthly", transactionID: "2000000987654321")
        transaction.originalTransactionID = originalTransactionID
        transaction.purchaseDate = time(0)
        transaction.originalPurchaseDate = time(-1)
        transaction.expiresDate = time(1000)
        transaction.cancellationDate = Timestamp(millisecondsSince1970: .min)
        transaction.cancellationReason = -1
        transaction.isUpgraded = true
        transaction.isTrialPeriod = false
        transaction.isInIntroOfferPeriod = true
        transaction.ownership = .familyShared
        transaction.subscriptionGroupID = "group"
        transaction.promotionalOfferID = ""
        transaction.offerCodeName = "für Dich 🎁"
        transaction.appAccountToken = "a62bbeda-9147-4f0c-a8b0-6e0e0e0e0e0e"
        transaction.quantity = .max
        transaction.webOrderLineItemID = "3000000000000001"
        transaction.productType = .nonRenewingSubscription
        transaction.signedFields = .value(signedTransactionFields)
        var renewal = Renewal(originalTransactionID: originalTransactionID)
        renewal.productID = "monthly"
        renewal.renewalProductID = "yearly"
        renewal.willRenew = false
        renewal.expirationIntent = .priceIncreaseDeclined
        renewal.isInBillingRetry = true
        renewal.gracePeriodExpiresDate = time(1100)
        renewal.priceConsent = .pending
        renewal.promotionalOfferID = "offer"
        renewal.offerCodeName = "code"
        renewal.status = ReportedStatus(.inGracePeriod, at: time(4))
        renewal.signedFields = .value(signedRenewalFields)
        var answer = UpstreamAnswer(
            environment: .sandbox, bundleID: bundleID, transactions: [transaction, transaction], renewals: [renewal],
            latestReceipt: nil, body: body(), revision: "1700000000000_für Dich")
        answer.unfinishedConsumables = .known(["2000000987654321", "", "für"])
        return answer
    }

    /// The fields of a signed transaction, without nil values.
    private static var signedTransactionFields: SignedTransactionFields {
        var fields = SignedTransactionFields()
        fields.signedDate = time(1)
        (fields.storefront, fields.storefrontID) = ("DEU", "143443")
        (fields.price, fields.currency) = (-4990, "EUR")
        (fields.offerType, fields.offerIdentifier) = (2, "offer")
        (fields.offerDiscountType, fields.offerPeriod) = ("FREE_TRIAL", "P1M")
        (fields.revocationType, fields.revocationPercentage) = ("REFUND_PRORATED", 50_000)
        (fields.appTransactionID, fields.previousOriginalTransactionID) = ("700", "800")
        (fields.transactionReason, fields.billingPlanType) = ("PURCHASE", "MONTHLY")
        (fields.commitmentBillingPeriodNumber, fields.commitmentTotalBillingPeriods) = (1, 12)
        (fields.commitmentExpiresDate, fields.commitmentPrice) = (time(2), 59_880)
        fields.advancedCommerceInfo = Array(#"{"items":[{"SKU":"gold"}]}"#.utf8)
        return fields
    }

    /// The fields of a signed renewal info, without nil values.
    private static var signedRenewalFields: SignedRenewalFields {
        var fields = SignedRenewalFields()
        (fields.signedDate, fields.renewalDate) = (time(1), time(2))
        (fields.renewalPrice, fields.currency) = (.max, "JPY")
        (fields.offerType, fields.offerIdentifier) = (4, "winback")
        (fields.offerDiscountType, fields.offerPeriod) = ("PAY_UP_FRONT", "P3M")
        fields.recentSubscriptionStartDate = time(-9)
        fields.eligibleWinBackOfferIDs = ["winback", ""]
        (fields.appAccountToken, fields.renewalBillingPlanType) = ("a62bbeda", "MONTHLY")
        (fields.appTransactionID, fields.previousOriginalTransactionID) = ("700", "800")
        (fields.commitmentAutoRenewProductID, fields.commitmentAutoRenewStatus) = ("yearly", 1)
        (fields.commitmentRenewalDate, fields.commitmentRenewalPrice) = (time(3), 59_880)
        fields.commitmentRenewalBillingPlanType = "BILLED_UPFRONT"
        fields.advancedCommerceInfo = Array("{}".utf8)
        return fields
    }

    /// Returns Apple's answer `seconds` after the receipt's creation, fresh for half a minute.
    static func known(at seconds: Int64 = 100, padding: Int = 0) throws -> CachedResult {
        CachedResult(
            .answered(try answer(padding: padding)), fetchedAt: time(seconds), freshUntil: time(seconds + 30),
            took: .milliseconds(250))
    }

    /// Returns an answer with a purchase of each of these original transactions.
    static func known(naming originalTransactionIDs: [String]) -> CachedResult {
        let transactions = originalTransactionIDs.map { id in
            var transaction = Transaction(productID: "coins", transactionID: id)
            transaction.originalTransactionID = id
            return transaction
        }
        let answer = UpstreamAnswer(
            environment: .sandbox, bundleID: bundleID, transactions: transactions, renewals: [], latestReceipt: nil,
            body: [UInt8](repeating: 0x20, count: 400 * transactions.count))
        return CachedResult(.answered(answer), fetchedAt: time(100), freshUntil: time(130))
    }

    /// Returns that a transaction belongs to another one, remembered for a month.
    static func alias(at seconds: Int64) -> CachedResult {
        CachedResult(
            .alias(
                TransactionAlias(
                    originalTransactionID: originalTransactionID, environment: .sandbox, bundleID: bundleID)),
            fetchedAt: time(seconds), freshUntil: time(seconds + 30 * 86_400))
    }

    /// Returns the result that an account is gone, fresh until `end`.
    static func gone(at seconds: Int64, until end: Int64) -> CachedResult {
        CachedResult(.accountNotFound, fetchedAt: time(seconds), freshUntil: time(end))
    }
}

extension UpstreamCache {
    /// Stores a result that was requested after all purges so far.
    func keep(_ known: CachedResult, for key: CacheKey) async {
        if let redis = self as? RedisUpstreamCache { await redis.redisPurges.catchUp() }
        await insert(known.since(purgePosition), for: key)
    }

    /// Looks up the result of a receipt with these transactions.
    func result(for key: CacheKey, naming ids: [String] = []) async -> CachedResult? {
        await lookUp(key, naming: ids).result
    }
}

extension CachedResult {
    /// Returns the result as if requested after these purges.
    func since(_ purges: PurgePosition) -> CachedResult {
        CachedResult(result, fetchedAt: fetchedAt, freshUntil: freshUntil, took: took, purges: purges)
    }
}

/// A clock that stands still until a test moves it.
final class StandingClock: Sendable {
    private let now: Mutex<Timestamp>

    init(at time: Timestamp) { now = Mutex(time) }

    convenience init(_ seconds: Int64) { self.init(at: StoreSamples.time(seconds)) }

    var time: Timestamp { now.withLock(\.self) }
    func set(_ seconds: Int64) { set(StoreSamples.time(seconds)) }
    func set(_ time: Timestamp) { now.withLock { $0 = time } }
    func advance(by time: Duration) { now.withLock { $0 = $0.advanced(by: time) } }
}

/// A value behind a lock, which tests read.
final class Mutexed<Value: Sendable>: Sendable {
    private let value: Mutex<Value>

    init(_ value: Value) { self.value = Mutex(value) }

    var now: Value { value.withLock(\.self) }

    func change(_ change: (inout Value) -> Void) { value.withLock { change(&$0) } }
}

typealias FaultLog = RecordedValues<SharedCacheFault>

struct StoreRedis: Surroundings {
    let server: RealServer
    let node: RedisNode
    let events: Events

    @TaskLocal private static var running: StoreRedis?
    static var local: TaskLocal<StoreRedis?> { $running }

    /// Forwards events to listeners.
    final class Events: RedisObserver {
        private let listeners = Mutex<[@Sendable (RedisEvent) -> Void]>([])
        private let connections = AsyncStream.makeStream(of: RedisConnectionRole.self)

        func observe(_ event: RedisEvent) {
            if case .connected(let role) = event { connections.continuation.yield(role) }
            for listener in listeners.withLock(\.self) { listener(event) }
        }

        func listen(_ listener: @escaping @Sendable (RedisEvent) -> Void) {
            listeners.withLock { $0.append(listener) }
        }

        /// Waits until the connections for commands and announcements are up.
        func waitUntilConnected() async {
            var roles: Set<RedisConnectionRole> = []
            for await role in connections.stream {
                roles.insert(role)
                if roles.count == 2 { return }
            }
        }
    }

    /// Starts a Redis and a connection around `body`.
    static func with(
        isolation: isolated (any Actor)? = #isolation, _ body: (StoreRedis) async throws -> Void
    ) async throws {
        let server = try await RealServer.redis()
        var configuration = RedisNodeConfiguration(address: .host("127.0.0.1", port: server.port))
        (configuration.commandDeadline, configuration.connectDeadline) = (Patience.forOperation, Patience.forOperation)
        configuration.trackedPrefixes = [SharedCacheNames.resultPrefix, RedisPurges.headKey]
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 1), events = Events()
        let node = RedisNode(configuration, eventLoops: group, observer: events)
        node.start()
        await events.waitUntilConnected()
        let outcome: Result<Void, any Error>
        do {
            outcome = .success(try await body(StoreRedis(server: server, node: node, events: events)))
        } catch { outcome = .failure(error) }
        await node.shutdown()
        try await group.shutdownGracefully()
        server.kill()
        try outcome.get()
    }

    /// Returns a node's cache in this Redis, with invalidation.
    func cache(
        _ keys: String = StoreSamples.firstKey, clock: StandingClock = StandingClock(100),
        faults: FaultLog = FaultLog(),
        through store: (any RedisCommands)? = nil
    ) -> RedisUpstreamCache {
        let cache = RedisUpstreamCache(
            store: store ?? node, keys: StoreSamples.keys(keys), localBytes: 64 << 20, clock: { clock.time },
            observe: faults.add)
        events.listen { event in
            switch event {
            case .invalidated(let names): cache.invalidate(keys: names)
            case .flushed: cache.flushed()
            default: break
            }
        }
        Task { await cache.redisPurges.follow() }
        return cache
    }

    /// Returns all keys and values as stored.
    func dump() async throws -> [(key: [UInt8], value: [UInt8])] {
        guard case .array(let keys) = try await node.send(RedisCommand("KEYS", "*")) else { return [] }
        var entries: [(key: [UInt8], value: [UInt8])] = []
        for case .string(let key) in keys {
            let commands = [
                RedisCommand("GET", key: RedisWord(key)),
                RedisCommand("LRANGE", key: RedisWord(key), 0, -1),
                RedisCommand("DUMP", key: RedisWord(key)),
            ]
            for case .success(let value) in await node.send(commands) { entries.append((key, value.allBytes)) }
        }
        return entries
    }
}

extension RedisValue {
    var allBytes: [UInt8] {
        switch self {
        case .string(let bytes): bytes
        case .array(let values): values.flatMap(\.allBytes)
        default: []
        }
    }
}

/// Records the names of commands, and passes them on unless a test sets the replies.
final class TestRedis: RedisCommands {
    private let redis: (any RedisCommands)?
    private let replies: Mutex<[Result<RedisValue, RedisError>]>
    private let names = Mutex<[String]>([])

    /// - Parameters:
    ///   - replies: the replies to the next commands; the last one repeats.
    ///   - redis: gets the commands if there are no replies.
    init(_ replies: [Result<RedisValue, RedisError>], else redis: (any RedisCommands)? = nil) {
        self.replies = Mutex(replies)
        self.redis = redis
    }

    convenience init(_ redis: any RedisCommands) { self.init([], else: redis) }

    /// The names of the commands except scripts, some of which run in the background.
    var sent: [String] { names.withLock { $0.filter { !$0.hasPrefix("EVAL") } } }
    var count: Int { names.withLock { $0.count } }
    func reply(_ replies: [Result<RedisValue, RedisError>]) { self.replies.withLock { $0 = replies } }
    func fail(_ error: RedisError?) { reply(error.map { [.failure($0)] } ?? []) }

    func send(_ commands: [RedisCommand]) async -> [Result<RedisValue, RedisError>] {
        names.withLock { $0 += commands.map(\.description) }
        let scripted = replies.withLock { replies in
            replies.isEmpty ? nil : commands.map { _ in replies.count > 1 ? replies.removeFirst() : replies[0] }
        }
        if let scripted { return scripted }
        return await redis?.send(commands) ?? []
    }
}

extension UpstreamCache {
    var purgePosition: PurgePosition { purges.position }

    func purge(_ purges: [Purge]) async throws(StoreUnreachable) { try await self.purges.purge(purges) }

    func knownPurge(of ids: [String], in bundleID: String?, since time: Timestamp) -> KnownPurge {
        purges.knownPurge(of: ids, in: bundleID, since: time)
    }

    func purgeDecision(for result: CachedResult, naming ids: [String], in bundleID: String?) -> PurgeDecision {
        purges.decision(for: result, naming: ids, in: bundleID)
    }

    func version(watching ids: [String]) -> InvalidationVersion { purges.version(watching: ids) }

    /// Invalidates every result that names a transaction by one of these IDs, on all nodes.
    func purge(transactionIDs: [String]) async throws { try await purge(transactionIDs.map { Purge($0) }) }
}
