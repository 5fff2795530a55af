// SPDX-License-Identifier: Apache-2.0

import Cryptography
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
            let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
                .deletingLastPathComponent().deletingLastPathComponent()
            let text = try String(contentsOf: root.appending(path: "docs/redis.md"), encoding: .utf8)
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
        let observations = try await Self.observations(of: redis) { .now().advanced(by: .seconds(seconds)) }
        let clock = try #require(observations.first { $0.subject == "clock" })
        #expect(clock.level == .warning && clock.seen.contains(words), "\(clock)")
    }

    /// Returns the failures for a user with these rights.
    private static func faults(of redis: RealServer, user: String, _ rights: [String]) async throws -> [String] {
        try redis.ask(["ACL", "SETUSER", user, "reset", "on", ">\(password)"] + rights)
        let observations = try await observations(of: redis, user: user)
        #expect(!observations.isEmpty && !observations.contains { "\($0)".contains(password) })
        return observations.filter { $0.level == .failed }.map { "\($0.seen) \($0.advice ?? "")" }
    }

    private static func observations(
        of redis: RealServer, user: String? = nil, clock: @escaping @Sendable () -> Timestamp = { .now() }
    ) async throws -> [CheckResult] {
        var configuration = GatewayConfiguration()
        configuration.redis.url = try RedisURL("redis://127.0.0.1:\(redis.port)")
        configuration.redis.user = user
        configuration.redis.password = user.map { _ in Password(secret: Secret(password)) }
        let limit = Patience.forOperation
        (configuration.redis.deadline, configuration.redis.connectDeadline) = (limit, limit)
        let report = CheckReport(.redis)
        await RedisCheck(configuration: configuration, report: report, clock: clock)?.run()
        return report.close()
    }

    @Test(arguments: [
        ("redis_version:5.0.14\r\nmaxmemory:1\r\nmaxmemory_policy:volatile-lru", CheckResult.Level.failed),
        ("redis_version:7.2.4\r\nvalkey_version:8.1.0\r\nmaxmemory:1\r\nmaxmemory_policy:volatile-lru", .ok),
        ("# nothing that is known", .ok), ("redis_version:\r\nmaxmemory:many\r\n:::", .ok),
    ])
    func `malformed INFO fields are tolerated`(text: String, worst: CheckResult.Level) {
        let report = CheckReport(.redis)
        RedisServerInfo(text).record(on: report)
        let observations = report.close()
        #expect(observations.count == 2 && observations[0].level == worst, "\(observations)")
    }
}
