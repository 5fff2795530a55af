// SPDX-License-Identifier: Apache-2.0

import NIOPosix
import RealServers
import Testing
import TestSupport

@testable import Redis

@Suite(.timeLimit(.patient))
struct LoginTests {
    /// The configuration of a node with scripts and a subscriber.
    private static let acl =
        "~rc:* ~rcl:* ~rl:* ~gw:* &__redis__:invalidate -@all +evalsha +eval +script|load +get +set +del +pttl +time "
        + "+client|id +client|tracking +client|setname +subscribe +ping +auth"

    private static let script = RedisScript("return redis.call('SET', KEYS[1], ARGV[1])")

    @Test func `the ACL permits all commands of the client, and nothing else`() async throws {
        let redis = try await RealServer.redis(
            ["--user", "default", "off", "--user"] + "gateway on >secret \(Self.acl)".words)
        try await TestNode.with(
            redis.address,
            { configuration in
                configuration.credentials = .init(user: "gateway", password: "secret")
                configuration.scripts = [Self.script]
                configuration.trackedPrefixes = ["rc:"]
            }
        ) { test in
            try await test.log.wait(for: .flushed(.subscribed))
            #expect(
                await test.node.send([Self.script.call(keys: ["rc:a"], ["1"]), RedisCommand("GET", key: "rc:a")])
                    == [.success(.status("OK")), .success(.text("1"))])
            #expect(test.node.health == .connected(1))
            let refusals = await test.node.send([RedisCommand("FLUSHALL"), RedisCommand("GET", key: "others")])
            #expect(refusals.map(\.refusalKind) == [.noPermission, .noPermission])
            #expect(test.node.health.misconfiguration?.kind == .noPermission)
        }
    }

    @Test(arguments: [
        (nil, nil, RedisRefusal.Kind.noAuth), (nil, "wrong", .wrongPassword), ("unknown", "secret", .wrongPassword),
    ])
    func `a refused login is reported, and succeeds as soon as it is fixed`(
        _ user: String?, _ password: String?, _ kind: RedisRefusal.Kind
    ) async throws {
        let redis = try await RealServer.redis(["--requirepass", "secret"])
        try await TestNode.with(
            redis.address, waits: false,
            {
                $0.credentials = .init(user: user, password: password)
            }
        ) { test in
            try await test.log.wait { events in
                events.contains { if case .connectFailed(.commands, .refused) = $0 { true } else { false } }
            }
            #expect(test.node.health.misconfiguration?.kind == kind)
            #expect(await test.node.send([RedisCommand("PING")]) == [.failure(.notConnected)])
            try await TestNode.with(redis.address, { $0.credentials.password = "secret" }) { mender in
                let words: [String] = [
                    "ACL", "SETUSER", user ?? "default", password.map { ">\($0)" } ?? "nopass", "~*", "+@all", "on",
                ]
                let mend = RedisCommand(words.map { RedisWord($0) }, key: nil)
                #expect(await mender.node.send([mend]) == [.success(.status("OK"))])
            }
            try await test.log.wait(for: .connected(.commands))
            #expect(test.node.health == .connected(1))
        }
    }

    @Test func `an error that repeats the password is not shown`() async throws {
        let redis = try await RealServer.redis(["--rename-command", "AUTH", ""])
        try await TestNode.with(redis.address, waits: false, { $0.credentials.password = "very-secret" }) { test in
            try await test.log.wait { events in
                events.contains { if case .connectFailed(.commands, .refused) = $0 { true } else { false } }
            }
            #expect(test.node.health.misconfiguration?.line == "ERR unknown command 'AUTH'")
        }
    }

    @Test func `a database that does not exist is a fault of the configuration`() async throws {
        let redis = try await RealServer.redis()
        try await TestNode.with(redis.address, waits: false, { $0.database = 99 }) { test in
            try await test.log.wait { events in
                events.contains { if case .connectFailed(.commands, .refused) = $0 { true } else { false } }
            }
            #expect(test.node.health.misconfiguration?.line == "ERR DB index is out of range")
        }
    }

    @Test func `the database and the name are the configured ones`() async throws {
        let redis = try await RealServer.redis()
        try await TestNode.with(redis.address, { ($0.database, $0.clientName) = (3, "node-7") }) { test in
            let results = await test.node.send([RedisCommand("CLIENT", "GETNAME"), RedisCommand("CLIENT", "INFO")])
            #expect(results.first == .success(.text("node-7")))
            #expect(results.last?.text.contains(" db=3 ") == true)
        }
    }

    @Test func `a user without permission to track can send commands, and the fault is reported`() async throws {
        let redis = try await RealServer.redis(["--user"] + "gateway on >secret ~* &* +@all -client|tracking".words)
        try await TestNode.with(
            redis.address,
            {
                ($0.credentials, $0.trackedPrefixes) = (.init(user: "gateway", password: "secret"), ["rc:"])
            }
        ) { test in
            try await test.log.wait { events in
                events.contains { if case .connectFailed(.subscriber, .refused) = $0 { true } else { false } }
            }
            #expect(test.node.health.misconfiguration?.kind == .noPermission)
            #expect(await test.node.send([RedisCommand("PING")]) == [.success(.status("PONG"))])
        }
    }
}

extension Result<RedisValue, RedisError> {
    var refusalKind: RedisRefusal.Kind? {
        if case .failure(.refused(let refusal)) = self { refusal.kind } else { nil }
    }

    /// The text of a string; empty otherwise.
    var text: String {
        if case .success(.string(let bytes)) = self { String(decoding: bytes, as: UTF8.self) } else { "" }
    }
}

extension RedisHealth {
    var misconfiguration: RedisRefusal? {
        if case .misconfigured(.refused(let refusal)) = self { refusal } else { nil }
    }
}

extension String {
    fileprivate var words: [String] { split(separator: " ").map(String.init) }
}
