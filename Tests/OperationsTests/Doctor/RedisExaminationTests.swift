// SPDX-License-Identifier: Apache-2.0

import Cryptography
import Customers
import Foundation
import RealServers
import Receipts
import Redis
import Testing
import TestSupport

@testable import RedisStore
@testable import Server
@testable import Settings

/// The doctor's observations about a Redis user, command by command.
@Suite(.timeLimit(.patient)) struct RedisExaminationTests {
    private static let password = "secret-of-the-user"

    /// The ACL rules of the gateway's user in docs/redis.md.
    private static var rights: [String] {
        get throws {
            let text = try String(contentsOf: repositoryRoot.appending(path: "docs/redis.md"), encoding: .utf8)
            let line = try #require(text.split(separator: "\n").first { $0.hasPrefix("user gateway on >PASSWORD ") })
            return line.split(separator: " ").dropFirst(4).map(String.init)
        }
    }

    /// The rules that only sentinels, clusters or other databases need, if any.
    private static let dispensable: Set<String> = [
        "+auth", "+select", "+role", "+cluster|slots", "+asking", "+client|setname",
    ]

    @Test func `the documented user may do everything, and a missing command is reported`() async throws {
        let redis = try await RealServer.redis()
        let rights = try Self.rights
        let complete = try await Self.faults(of: redis, user: "complete", rights)
        #expect(complete == [])
        let commands = rights.filter { $0.hasPrefix("+") && !Self.dispensable.contains($0) }
        #expect(commands.count > 15)
        for command in commands {
            let faults = try await Self.faults(of: redis, user: "without", rights.filter { $0 != command })
            let name = String(command.dropFirst())
            #expect(faults.count == 1 && faults[0].localizedCaseInsensitiveContains(name), "\(command): \(faults)")
            #expect(faults.allSatisfy { $0.contains("docs/redis.md") }, "\(command): \(faults)")
        }
    }

    @Test(arguments: ["~rc:*", "~rcl:*", "~rl:*", "~gw:*", "&__redis__:invalidate"])
    func `a user without access to some keys is reported`(_ right: String) async throws {
        let redis = try await RealServer.redis(["--acl-pubsub-default", "resetchannels"])
        let faults = try await Self.faults(of: redis, user: "kept", try Self.rights.filter { $0 != right })
        #expect(faults.count == 1 && faults[0].contains("NOPERM"), "\(faults)")
    }

    @Test(arguments: [(3600, "behind"), (-3600, "ahead of")])
    func `a clock that differs from Redis's is reported`(seconds: Int, words: String) async throws {
        let redis = try await RealServer.redis()
        let results = try await Self.check(redis) { .now().advanced(by: .seconds(seconds)) }.results
        let clock = try #require(results["clock"])
        #expect(clock.level == .warning && clock.seen.contains(words), "\(clock)")
    }

    /// Returns the failures for a user with these rights.
    private static func faults(of redis: RealServer, user: String, _ rights: [String]) async throws -> [String] {
        try redis.ask(["ACL", "SETUSER", user, "reset", "on", ">\(password)"] + rights)
        let results = try await check(redis, user: user).results
        #expect(!results.isEmpty && !results.contains { "\($0)".contains(password) })
        return results.filter { $0.level == .failed }.map { "\($0.seen) \($0.advice ?? "")" }
    }

    /// Checks a Redis, for one client with these settings.
    private static func check(
        _ redis: RealServer, user: String? = nil, ofClient settings: String = "",
        clock: @escaping @Sendable () -> Timestamp = { .now() }
    ) async throws -> (results: [CheckResult], store: StoreFinding) {
        let clients = "clients:\n  - {name: shop, apps: [com.example.shop], keys: []\(settings)}\n"
        let url = try RedisURL("redis://127.0.0.1:\(redis.port)")
        let area = try CheckedArea(.redis, clients: clients) {
            ($0.redis.url, $0.redis.user) = (url, user)
            $0.redis.password = user.map { _ in Password(secret: Secret(password)) }
            ($0.redis.deadline, $0.redis.connectDeadline) = (Patience.forOperation, Patience.forOperation)
        }
        let check = try #require(
            RedisCheck(configuration: area.check.configuration, report: area.check.report, clock: clock))
        let store = await check.run()
        return (area.check.report.close(), store)
    }

    // MARK: - What Redis keeps

    @Test(arguments: [
        (["--maxmemory", "1mb", "--maxmemory-policy", "noeviction"], "OOM", "maxmemory"),
        (["--maxmemory", "1mb", "--maxmemory-policy", "volatile-lru"], "OOM", "maxmemory"),
        (["--replicaof", "127.0.0.1 1"], "READONLY", "master"),
        (["--min-replicas-to-write", "1"], "NOREPLICAS", "min-replicas-to-write"),
    ])
    func `a Redis that refuses writes keeps nothing`(directives: [String], word: String, advice: String) async throws {
        let store = try await Self.check(RealServer.redis(directives)).store
        guard case .fault(.failed, let seen, let said) = store else {
            Issue.record("\(store)")
            return
        }
        #expect(seen.contains(word) && said.contains(advice), "\(store)")
    }

    @Test func `a Redis that cannot save keeps nothing`() async throws {
        let redis = try await RealServer.redis(["--save", "3600 1"])
        try redis.ask("SET", "key", "value")
        // The folder of the snapshots is gone.
        try FileManager.default.removeItem(at: redis.folder)
        try FileManager.default.createDirectory(at: redis.folder, withIntermediateDirectories: true)
        try redis.ask("BGSAVE")
        try await redis.ask("INFO", "persistence", until: { $0.contains("rdb_last_bgsave_status:err") })
        let (results, store) = try await Self.check(redis)
        #expect(store == .unreachable)
        let connection = try #require(results["connection"])
        #expect(connection.level == .failed && connection.seen.contains("MISCONF"), "\(connection)")
    }

    @Test func `a Redis that evicts what never expires is a warning, and a failure where that is used`() async throws {
        let redis = try await RealServer.redis(["--maxmemory", "64mb", "--maxmemory-policy", "allkeys-lfu"])
        #expect(try await Self.check(redis).store == .evicts("allkeys-lfu", isUsed: false))
        #expect(
            try await Self.check(redis, ofClient: ", defer: undecided").store == .evicts("allkeys-lfu", isUsed: true))
    }

    @Test func `a Redis that does not report its policy counts as one that evicts`() {
        let store = RedisServerInfo("aof_enabled:1\nmaxmemory:1").record(on: CheckReport(.redis), isUsed: true)
        #expect(store == .evicts("unknown", isUsed: true))
    }

    @Test func `a Redis without appendonly is a warning where data is kept there`() async throws {
        func persistence(_ checked: (results: [CheckResult], store: StoreFinding)) throws -> CheckResult {
            #expect(checked.store == .kept(isPersistent: false))
            return try #require(checked.results["persistence"])
        }
        let redis = try await RealServer.redis()
        let unused = try await persistence(Self.check(redis))
        #expect(unused.level == .ok && unused.seen.hasPrefix("appendonly no, which is right"), "\(unused)")
        for settings in [", defer: degraded", ", ownership: reject"] {
            let used = try await persistence(Self.check(redis, ofClient: settings))
            #expect(used.level == .warning && used.advice?.contains("appendonly yes") == true, "\(used)")
        }
        let keys = NotificationKeys(AppPartition(bundleID: "com.example.shop", number: 7))
        try redis.ask("HSET", "\(keys.prefix)totals", "bytes", "0")
        #expect(try await persistence(Self.check(redis)).level == .warning)
    }

    @Test func `a Redis with appendonly keeps everything`() async throws {
        let redis = try await RealServer.redis(["--appendonly", "yes"])
        let (results, store) = try await Self.check(redis, ofClient: ", defer: undecided")
        #expect(store == .kept(isPersistent: true))
        #expect(results["persistence"]?.level == .ok, "\(results)")
    }

    @Test(arguments: [
        ("aof_enabled:1\naof_last_write_status:err", CheckResult.Level.failed, "append-only"),
        ("aof_enabled:0\nrdb_last_bgsave_status:err", .warning, "snapshot"),
        ("aof_enabled:1\naof_last_write_status:ok\nrdb_last_bgsave_status:ok", .ok, "loses nothing"),
    ])
    func `a Redis that could not write to its disk is reported`(
        text: String, level: CheckResult.Level, words: String
    ) throws {
        let report = CheckReport(.redis)
        _ = RedisServerInfo(text).record(on: report, isUsed: true)
        let persistence = try #require(report.close()["persistence"])
        #expect(persistence.level == level && persistence.seen.contains(words), "\(persistence)")
    }

    @Test(arguments: [
        ("redis_version:5.0.14\r\nmaxmemory:1\r\nmaxmemory_policy:volatile-lru", CheckResult.Level.failed),
        ("redis_version:7.2.4\r\nvalkey_version:8.1.0\r\nmaxmemory:1\r\nmaxmemory_policy:volatile-lru", .ok),
        ("# nothing that is known", .ok), ("redis_version:\r\nmaxmemory:many\r\n:::", .ok),
    ])
    func `malformed INFO fields are tolerated`(text: String, worst: CheckResult.Level) {
        let report = CheckReport(.redis)
        _ = RedisServerInfo(text).record(on: report, isUsed: true)
        let observations = report.close()
        #expect(observations.count == 3 && observations[0].level == worst, "\(observations)")
    }
}
