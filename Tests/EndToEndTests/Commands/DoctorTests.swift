// SPDX-License-Identifier: Apache-2.0

import AppleSimulator
import Foundation
import RealServers
import ReceiptForge
import Testing
import TestSupport

/// The report of the doctor about faults in the gateway's environment.
@Suite(.timeLimit(.patient)) struct DoctorTests {
    private static let password = "a-password-never-shown"

    // MARK: - Everything

    @Test func `without a fault everything is checked and the exit status is 0`() async throws {
        let redis = try await RealServer.redis(["--maxmemory", "64mb", "--maxmemory-policy", "volatile-lru"])
        let identity = Sample.tlsAuthority.identity(forHosts: ["127.0.0.1"])
        try await withAppleURLs(Self.clock(aheadBy: 0), tls: identity) { apple in
            let folder = try ScratchFolder()
            let checkup = try await Checkup(
                apple.merging([
                    "GATEWAY_REDIS_URL": "redis://127.0.0.1:\(redis.port)",
                    "GATEWAY_APPLE_SHARED_SECRET": Sample.secret,
                    "GATEWAY_APPLE_CA_FILE": try folder.write(Sample.tlsAuthority.certificatePEM, to: "tls.pem"),
                    "GATEWAY_TRUST_ROOTS": try folder.write(Sample.pki.rootPEM, to: "root.pem"),
                ]) { $1 })
            #expect(checkup.complaints == [] && checkup.exitStatus == 0)
            let areas = [
                "configuration", "clients", "redis", "apple", "notifications", "webhooks", "verifications",
                "traces", "certificates", "limits", "ports",
            ]
            #expect(Set(checkup.checks.map(\.area)) == Set(areas))
            #expect(try checkup["apple", "production"].seen.contains("21002"))
            #expect(try checkup["apple", "clock"].status == "ok")
            #expect(!checkup.output.contains(Sample.secret))
        }
        // Only the scripts stay in Redis.
        try await redis.ask("DBSIZE", until: { $0 == "0" })
    }

    @Test func `the text has one line for each check, without colours outside a terminal`() async throws {
        let outcome = try await Program.gateway.run(
            ["doctor"],
            environment: [
                "GATEWAY_APPLE_ENABLED": "false", "GATEWAY_REDIS_URL": "redis://127.0.0.1:1",
                "GATEWAY_CACHE_KEYS": Fleet.cacheKeys,
            ])
        #expect(outcome.status == 1 && !outcome.output.contains("\u{1B}"))
        let lines = outcome.output.split(separator: "\n")
        let failed = lines.filter { $0.hasPrefix("  failed   connection") }
        #expect(failed.count == 1 && failed[0].contains("connection refused. Start Redis"), "\(outcome.output)")
        #expect(lines.last?.contains(" ok, ") == true)
    }

    @Test func `a wrong configuration is reported completely, with status 78`() async throws {
        let checkup = try await Checkup(["GATEWAY_ADMIN_PORT": "many", "GATEWAY_TRUST_ROOTS": "/nowhere.pem"])
        #expect(checkup.exitStatus == 78 && checkup.checks.allSatisfy { $0.area == "configuration" })
        #expect(checkup.checks.count == 2, "\(checkup.checks)")
    }

    // MARK: - Redis

    @Test func `a fault of the login is reported without the password`() async throws {
        let redis = try await RealServer.redis(["--requirepass", "another-password"])
        let checkup = try await Checkup([
            "GATEWAY_REDIS_URL": "redis://127.0.0.1:\(redis.port)", "GATEWAY_REDIS_PASSWORD": Self.password,
        ])
        let connection = try checkup["redis", "connection"]
        #expect(checkup.exitStatus == 1 && connection.seen.contains("WRONGPASS"), "\(connection)")
        #expect(!checkup.output.contains(Self.password))
    }

    @Test func `a replica accepts no writes, and the advice is to name its master`() async throws {
        let redis = try await RealServer.redis(["--replicaof", "127.0.0.1 1", "--replica-serve-stale-data", "yes"])
        let checkup = try await Checkup(["GATEWAY_REDIS_URL": "redis://127.0.0.1:\(redis.port)"])
        let commands = try checkup["redis", "commands"]
        #expect(commands.status == "failed" && commands.seen.contains("READONLY"), "\(commands)")
        #expect(commands.advice?.contains("master") == true && checkup.exitStatus == 1)
    }

    @Test(arguments: [
        ("64mb", "noeviction", "when it is full", 1), ("64mb", "allkeys-lru", "may be evicted", 3),
        ("0", "volatile-lru", "no limit", 1),
    ])
    func `an unsuitable memory policy of Redis is a warning`(
        maximum: String, policy: String, words: String, complaints: Int
    ) async throws {
        let redis = try await RealServer.redis(["--maxmemory", maximum, "--maxmemory-policy", policy])
        let checkup = try await Checkup(["GATEWAY_REDIS_URL": "redis://127.0.0.1:\(redis.port)"])
        let memory = try checkup["redis", "memory"]
        #expect(memory.status == "warning" && memory.seen.contains(words), "\(memory)")
        // Notifications and verifications are warned about, too, if Redis may evict what never expires.
        #expect(checkup.complaints.count == complaints && checkup.exitStatus == 0, "\(checkup.complaints)")
    }

    @Test func `a Redis that is full fails`() async throws {
        let redis = try await RealServer.redis(["--maxmemory", "1mb", "--maxmemory-policy", "noeviction"])
        let checkup = try await Checkup(["GATEWAY_REDIS_URL": "redis://127.0.0.1:\(redis.port)"])
        let commands = try checkup["redis", "commands"]
        #expect(commands.status == "failed" && commands.seen.contains("OOM"), "\(commands)")
        for area in ["notifications", "verifications"] {
            let store = try checkup[area, "store"]
            #expect(store.status == "failed" && store.seen.contains("OOM"), "\(store)")
            #expect(store.advice?.contains("maxmemory") == true, "\(store)")
        }
    }

    @Test func `a frozen Redis does not block the doctor`() async throws {
        let redis = try await RealServer.redis()
        redis.freeze()
        let checkup = try await Checkup([
            // It passes.
            "GATEWAY_REDIS_URL": "redis://127.0.0.1:\(redis.port)", "GATEWAY_REDIS_CONNECT_DEADLINE": "250ms",
        ])
        redis.thaw()
        let connection = try checkup["redis", "connection"]
        #expect(connection.status == "failed" && connection.seen.contains("not answered"), "\(connection)")
    }

    @Test func `the masters of a cluster and of sentinels are found, or reported missing`() async throws {
        let cluster = try await RedisCluster()
        let whole = try await Checkup(["GATEWAY_REDIS_URL": "redis+cluster://\(cluster.hosts)"])
        #expect(try whole["redis", "topology"].seen.contains("3 masters"), "\(whole.checks)")
        #expect(try whole["redis", "commands"].status == "ok")
        let unreachable = try await Checkup(["GATEWAY_REDIS_URL": "redis+sentinel://127.0.0.1:1/mymaster"])
        #expect(try unreachable["redis", "topology"].status == "failed" && unreachable.exitStatus == 1)
    }

    // MARK: - Apple

    @Test func `an untrusted certificate and a missing connection are different problems`() async throws {
        let stranger = TLSAuthority(seed: 24).identity(forHosts: ["127.0.0.1"])
        let folder = try ScratchFolder()
        let authority = try folder.write(Sample.tlsAuthority.certificatePEM, to: "tls.pem")
        try await withAppleURLs(tls: stranger) { apple in
            let checkup = try await Checkup(apple.merging(["GATEWAY_APPLE_CA_FILE": authority]) { $1 })
            let production = try checkup["apple", "production"]
            #expect(production.status == "failed" && production.seen.contains("not trusted"), "\(production)")
        }
        let closed = ["PRODUCTION", "SANDBOX"].map { ("GATEWAY_APPLE_\($0)_URL", "http://127.0.0.1:1/verifyReceipt") }
        let away = try await Checkup(Dictionary(uniqueKeysWithValues: closed))
        #expect(try away["apple", "sandbox"].seen.contains("refused"), "\(away.checks)")
        let settings = Dictionary(uniqueKeysWithValues: closed + [("HTTPS_PROXY", "http://127.0.0.1:1")])
        let proxied = try await Checkup(settings)
        #expect(try proxied["apple", "production"].advice?.contains("GATEWAY_APPLE_PROXY") == true)
    }

    @Test(arguments: [
        ("{http_status: 503}", "warning", "HTTP 503"), ("{http_status: 403}", "failed", "HTTP 403"),
        ("html", "failed", "not Apple's answer"), ("no_answer", "failed", "the answer timed out"),
        ("{throttled: 5000}", "warning", "429"), ("reset", "failed", "ended before the answer"),
    ])
    func `each answer of Apple or of a proxy has its own explanation`(
        fault: String, status: String, words: String
    ) async throws {
        try await withAppleURLs("faults: [{endpoint: production, fault: \(fault)}]") { apple in
            let settings = apple.merging(["GATEWAY_APPLE_DEADLINE": Patience.limitSetting]) { $1 }
            let checkup = try await Checkup(settings)
            let production = try checkup["apple", "production"]
            #expect(production.status == status && production.seen.contains(words), "\(production)")
            #expect(try checkup["apple", "sandbox"].status == "ok")
        }
    }

    @Test func `a wrong clock is found from the dates of Apple's answers`() async throws {
        for (seconds, status, words) in [(60.0, "warning", "ahead of"), (-3600, "failed", "behind")] {
            try await withAppleURLs(Self.clock(aheadBy: seconds)) { apple in
                let clock = try await Checkup(apple)["apple", "clock"]
                #expect(clock.status == status && clock.seen.contains(words), "\(clock)")
            }
        }
    }

    /// Returns a scenario in which the dates of Apple's answers deviate from this machine's clock.
    private static func clock(aheadBy seconds: TimeInterval) -> String {
        let format = DateFormatter()
        format.locale = Locale(identifier: "en_US_POSIX")
        format.timeZone = TimeZone(secondsFromGMT: 0)
        format.dateFormat = "EEE, dd MMM yyyy HH:mm:ss 'GMT'"
        return #"faults: [{headers: {Date: "\#(format.string(from: Date() + seconds))"}}]"#
    }

    private func withAppleURLs(
        _ scenario: String = "", tls: TLSIdentity? = nil, _ test: ([String: String]) async throws -> Void
    ) async throws {
        try await withApple(scenario, tls: tls) { apple in
            try await test([
                "GATEWAY_APPLE_PRODUCTION_URL": apple.productionURL, "GATEWAY_APPLE_SANDBOX_URL": apple.sandboxURL,
            ])
        }
    }

    // MARK: - This machine

    @Test func `a port used by another process and a running gateway are different problems`() async throws {
        let stranger = try await RealServer.redis()
        let taken = try await Checkup(["GATEWAY_HTTP_PORT": "\(stranger.port)"])
        let data = try taken["ports", "data"]
        #expect(data.status == "failed" && data.seen.contains("another process"), "\(data)")
        #expect(try taken["ports", "admin"].seen.contains("is free"))
        let gateway = try await RunningGateway()
        let running = try await Checkup([
            "GATEWAY_HTTP_PORT": "\(gateway.dataPort)", "GATEWAY_ADMIN_PORT": "\(gateway.adminPort)",
        ])
        for plane in ["data", "admin"] {
            let port = try running["ports", plane]
            #expect(port.status == "ok" && port.seen.contains("already running"), "\(port)")
        }
        #expect(await gateway.stop() == 0)
    }

    @Test(arguments: [(100, "failed"), (1000, "warning")])
    func `the limit of open files decides between warning and failure`(_ files: Int, status: String) async throws {
        let command = "ulimit -n \(files) && exec \"$0\" \"$@\""
        let checkup = try await Checkup(
            with: .shell, ["-c", command, Program.gateway.url.path, "doctor"])
        let check = try checkup["limits", "files"]
        #expect(check.status == status && check.advice?.contains("ulimit -n") == true, "\(check)")
    }
}
