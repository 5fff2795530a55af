// SPDX-License-Identifier: Apache-2.0

import Gateway
import NIOPosix
import RealServers
import Receipts
import Redis
import Testing
import TestSupport

@testable import Customers
@testable import RedisStore

/// Notifications in a real Redis.
struct NotificationStage: Surroundings {
    let server: RealServer
    let redis: any RedisClient

    @TaskLocal private static var running: NotificationStage?
    static var local: TaskLocal<NotificationStage?> { $running }

    /// Starts a Redis, and connects to it.
    static func with(
        _ options: [String] = [], isolation: isolated (any Actor)? = #isolation,
        _ body: (NotificationStage) async throws -> Void
    ) async throws {
        let server = try await RealServer.redis(options)
        try await with(server, url: "redis://127.0.0.1:\(server.port)", body)
    }

    /// Connects to the Redis behind a URL.
    static func with(
        _ server: RealServer, url: String, isolation: isolated (any Actor)? = #isolation,
        _ body: (NotificationStage) async throws -> Void
    ) async throws {
        var configuration = try RedisClientConfiguration(RedisURL(url))
        configuration.node.commandDeadline = Patience.forOperation
        let client = configuration.client(eventLoops: MultiThreadedEventLoopGroup.singleton, observer: Silence())
        client.start()
        let result: Result<Void, any Error>
        do {
            try await eventually { (try? await client.send(RedisCommand("EXISTS", key: "{x}"))) != nil }
            result = .success(try await body(NotificationStage(server: server, redis: client)))
        } catch { result = .failure(error) }
        await client.shutdown()
        try result.get()
    }

    func store(
        keys: String = StoreSamples.firstKey, maximumBytes: Int = 1 << 20, replicas: Int = 0, relays: Bool = false,
        rules: EventRules = .test, retention: EventRetention = .test,
        clock: @escaping @Sendable () -> Timestamp = { .now() }
    ) -> RedisNotifications {
        RedisNotifications(
            redis, requests: redis, keys: StoreSamples.keys(keys), maximumBytes: maximumBytes, replicas: replicas,
            rules: rules, retention: retention, relays: { _ in relays }, clock: clock, observe: { _ in })
    }

    /// Expects that none of these texts can be read in Redis, and that no key expires.
    /// - Returns: the keys.
    func expectNothingReadable(of secrets: [String]) async throws -> [String] {
        let keys = try server.ask("KEYS", "*").split(separator: "\n").map(String.init)
        var bytes = Array(keys.joined().utf8)
        for key in keys.map({ RedisWord($0) }) {
            let commands = [
                RedisCommand("HGETALL", key: key), RedisCommand("XRANGE", key: key, "-", "+"),
                RedisCommand("ZRANGE", key: key, 0, -1),
            ]
            for case .success(let value) in await redis.send(commands) { bytes += value.allBytes }
            #expect(try await redis.send(RedisCommand("TTL", key: key)) == .integer(-1))
        }
        let text = String(decoding: bytes, as: UTF8.self)
        for secret in secrets { #expect(!text.contains(secret), "\(secret) is readable") }
        return keys
    }

    /// Writes far more evictable keys than a small Redis has room for, and expects that it evicted some.
    func fill() async throws {
        let value = RedisWord([UInt8](repeating: 0x78, count: 10_000))
        for start in stride(from: 0, to: 3000, by: 100) {
            _ = await redis.send(
                (start..<start + 100).map { RedisCommand("SET", key: RedisWord("rc:12:\($0)"), value, "EX", "1000") })
        }
        let stats = try server.ask("INFO", "stats").split(whereSeparator: \.isNewline)
        let evicted = stats.first { $0.hasPrefix("evicted_keys:") }
        #expect(evicted.flatMap { Int($0.dropFirst("evicted_keys:".count)) } ?? 0 > 1000)
    }

    /// Waits until the clock of Redis, in milliseconds, has moved on.
    func nextMillisecond() async throws {
        let before = try await milliseconds
        while try await milliseconds == before {}
    }

    private var milliseconds: Int64 {
        get async throws {
            guard case .array(let parts) = try await redis.send(RedisCommand("TIME")), let seconds = parts[0].number,
                let microseconds = parts[1].number
            else { throw StageFault.noTime }
            return seconds * 1000 + microseconds / 1000
        }
    }

    private enum StageFault: Error {
        case noTime
    }

    private struct Silence: RedisObserver {
        func observe(_ event: RedisEvent) {}
    }
}

/// Notifications and states for tests.
enum NotificationSamples {
    static let bundleID = "com.example.forge"
    static let partition = AppPartition(bundleID: bundleID, of: "2000")
    static let chain = PurchaseChain(bundleID: bundleID, environment: .sandbox, originalTransactionID: "2000")

    static func record(_ text: String = "notification") -> NotificationRecord {
        NotificationRecord(.v2, Array(text.utf8), receivedAt: StoreSamples.time(0))
    }

    static func identity(_ number: Int) -> NotificationIdentity {
        NotificationIdentity(.sandbox, uuid: "00000000-0000-4000-8000-\(100_000_000_000 + number)")
    }

    /// Returns a state of a transaction.
    static func transaction(_ id: String = "2001", at seconds: Int64, revoked: Bool = false) -> SignedStateItem {
        var transaction = Transaction(productID: "monthly", transactionID: id)
        transaction.originalTransactionID = "2000"
        transaction.expiresDate = StoreSamples.time(1000 + seconds)
        transaction.cancellationDate = revoked ? StoreSamples.time(seconds) : nil
        var fields = SignedTransactionFields()
        fields.signedDate = StoreSamples.time(seconds)
        transaction.signedFields = .value(fields)
        return .transaction(transaction)
    }

    /// Returns a state of the plan.
    static func renewal(at seconds: Int64, willRenew: Bool) -> SignedStateItem {
        var renewal = Renewal(originalTransactionID: "2000")
        renewal.willRenew = willRenew
        // Stored plans with and without a status have different forms.
        renewal.status = willRenew ? nil : ReportedStatus(.expired, at: StoreSamples.time(seconds))
        var fields = SignedRenewalFields()
        fields.signedDate = StoreSamples.time(seconds)
        renewal.signedFields = .value(fields)
        return .renewal(renewal)
    }
}

extension EventRules {
    static let test = EventRules()
}

extension EventRetention {
    static let test = EventRetention(maximumCount: 80_000, maximumAge: .seconds(7 * 86_400))
}

extension CustomerStateUpdate {
    /// An update by a notification of the same time as its newest item.
    init(_ chain: PurchaseChain, _ items: [SignedStateItem]) {
        let date = items.map(\.signedDate).max() ?? StoreSamples.time(0)
        self.init(chain: chain, items: items, cause: EventCause(source: .notification, signedDate: date))
    }
}

extension CustomerStateStore {
    /// Merges updates, and returns true for each that changed something.
    func changes(_ updates: [CustomerStateUpdate]) async -> [Result<Bool, StoreUnreachable>] {
        await merge(updates).map { $0.map(\.changed) }
    }
}

extension NotificationQueue {
    func finish(_ taken: [TakenNotification], in partition: AppPartition) async {
        await finish(taken.map { FinishedNotification(taken: $0) }, in: partition)
    }
}

extension EmbeddedNotificationStore {
    convenience init(isPermitted: Bool, maximumBytes: Int, clock: @escaping @Sendable () -> Timestamp) {
        self.init(
            isPermitted: isPermitted, maximumBytes: maximumBytes, log: EmbeddedEventLog(.test, clock: clock),
            rules: .test,
            relays: { _ in false }, clock: clock)
    }
}
