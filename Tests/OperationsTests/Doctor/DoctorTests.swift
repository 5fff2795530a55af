// SPDX-License-Identifier: Apache-2.0

import Foundation
import Gateway
import HTTPClient
import ReceiptForge
import Receipts
import Testing

@testable import AppStore
@testable import Clients
@testable import Cryptography
@testable import HTTPServer
@testable import Operations
@testable import Server
@testable import ServerTestSupport
@testable import Settings

/// The doctor's checks that need no other service.
struct DoctorTests {
    private static let now = Timestamp(rfc3339: "2026-06-01T12:00:00Z") ?? .now()

    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    // MARK: - Clients

    private static func observations(
        ofClients yaml: String, _ change: (inout GatewayConfiguration) -> Void = { _ in }
    ) throws -> [CheckResult] {
        try CheckedArea(.clients, clients: yaml, at: now, change).results { $0.checkClients() }
    }

    private static func client(_ name: String, keys: [String?], _ more: String = "") -> String {
        let lines = keys.enumerated().map { index, expires in
            "      - {id: rgk_\(name)\(index), hash: 'hmac-sha256:\(String(repeating: "0", count: 64))'"
                + (expires.map { ", expires: \($0)" } ?? "") + "}\n"
        }
        return "  - name: \(name)\n    apps: [com.example.\(name)]\n    keys:\n\(lines.joined())\(more)"
    }

    @Test func `expired keys lock a client out, and keys that expire soon give a warning`() throws {
        let yaml =
            "clients:\n" + Self.client("over", keys: ["2026-05-31"]) + Self.client("soon", keys: ["2026-06-20"])
            + Self.client("replaced", keys: ["2026-05-01", "2027-06-01"]) + Self.client("ever", keys: [nil])
        let observations = try Self.observations(ofClients: yaml)
        let keys = try #require(observations["keys"])
        #expect(keys.level == .failed && keys.seen.hasSuffix(" over"), "\(keys)")
        let expiry = try #require(observations["expiry"])
        #expect(expiry.level == .warning && expiry.seen.hasSuffix("soon: rgk_soon0 on 2026-06-20"), "\(expiry)")
    }

    @Test func `a client that only receives webhooks is not locked out`() throws {
        let key = "whsec_\(Data(count: 32).base64EncodedString())"
        let hook = "{name: crm, url: 'https://example.com/crm', secrets: ['\(key)']}"
        let yaml = "clients:\n  - {name: shop, apps: [com.example.shop], keys: [], webhooks: [\(hook)]}\n"
        let observations = try Self.observations(ofClients: yaml)
        #expect(observations["keys"]?.level == .ok, "\(observations)")
    }

    @Test func `a client with a certificate is not locked out, and its apps need a secret`() throws {
        let yaml =
            "clients:\n" + Self.client("over", keys: ["2026-05-31"], "    certificates: [dns:over.internal]\n")
            + "  - {name: shop, apps: [com.example.shop], certificates: ['dns:shop.internal']}\n"
        let observations = try Self.observations(ofClients: yaml)
        #expect(observations["keys"]?.level == .ok, "\(observations)")
        let secrets = try #require(observations["secrets"])
        #expect(secrets.seen.contains("secret for com.example.over, com.example.shop"), "\(secrets)")
    }

    @Test func `clients without limits and apps without a secret are named`() throws {
        let limits = "    limits: [{name: minute, quota: 10, window: 60s}]\n"
        let yaml =
            "clients:\n" + Self.client("free", keys: [nil]) + Self.client("limited", keys: [nil], limits)
            + "apps:\n  - {bundle_id: com.example.limited, shared_secret: 0123456789abcdef0123456789abcdef}\n"
        let observations = try Self.observations(ofClients: yaml)
        let free = try #require(observations["limits"])
        #expect(free.level == .warning && free.seen.hasSuffix(": free"), "\(free)")
        let secrets = try #require(observations["secrets"])
        #expect(secrets.level == .warning && secrets.seen.contains("secret for com.example.free:"), "\(secrets)")
        let served = try Self.observations(ofClients: yaml) { $0.apple.sharedSecret = Secret("of-the-whole-account") }
        #expect(served["secrets"]?.level == .ok)
    }

    @Test func `an account with a key and without a shared secret is named so`() throws {
        let clients = "clients:\n\(Self.client("shop", keys: [nil]))\(try folder.serverAPIKey())\n"
        let observations = try Self.observations(ofClients: clients)
        let secrets = try #require(observations["secrets"])
        #expect(
            secrets.level == .ok && secrets.seen.hasPrefix("no shared secret of the account; its key"), "\(secrets)")
    }

    @Test func `apps that may only use the Server API, and have no key, are named`() throws {
        let limits = "    limits: [{name: minute, quota: 10, window: 60s}]\n"
        let shop = "clients:\n" + Self.client("shop", keys: [nil], limits)
        func warning(_ apps: String, _ primary: ReceiptUpstream = .both) throws -> CheckResult? {
            try Self.observations(ofClients: shop + apps) { configuration in
                configuration.apple.sharedSecret = Secret("of-the-whole-account")
                configuration.apple.receiptUpstream = primary
            }["receipt_upstream"]
        }
        #expect(try warning("") == nil && warning("", .verifyReceipt) == nil)
        let ofApp = try #require(try warning("apps: [{bundle_id: a, receipt_upstream: server_api}]\n"))
        #expect(ofApp.level == .warning && ofApp.seen.contains("key of the App Store Server API for a:"), "\(ofApp)")
        #expect(ofApp.advice?.contains("`server_api`") == true)
        let ofAll = try #require(try warning("apps: [{bundle_id: a, receipt_upstream: both}]\n", .serverAPI))
        #expect(ofAll.seen.contains(" for com.example.shop:"), "\(ofAll)")
        #expect(
            try Self.observations(ofClients: shop) {
                ($0.apple.receiptUpstream, $0.apple.isEnabled) = (.serverAPI, false)
            }.allSatisfy { $0.subject != "receipt_upstream" })
    }

    @Test func `apps for which offers may be signed, and that have no key, are named`() throws {
        let signatures = """
                may: [sign]
                signatures: {com.example.shop: {introductory_offers: [monthly]}}

            """
        let shop = "clients:\n" + Self.client("shop", keys: [nil], signatures)
        for isEnabled in [true, false] {
            let warning = try Self.observations(ofClients: shop) { $0.apple.isEnabled = isEnabled }["signatures"]
            #expect(warning?.level == .warning && warning?.seen.contains(" for com.example.shop,") == true)
            #expect(warning?.advice?.contains("`server_api`") == true)
        }
        let observations = try Self.observations(ofClients: "\(shop)\(try folder.serverAPIKey())\n")
        #expect(observations.allSatisfy { $0.subject != "signatures" })
    }

    @Test func `plugins without a key or a known proxy are named`() throws {
        let shop = "clients:\n" + Self.client("shop", keys: [nil], "    plugins: [cordova-plugin-purchase]\n")
        let found = try Self.observations(ofClients: shop).filter { ["plugins", "addresses"].contains($0.subject) }
        #expect(Set(found.map(\.subject)) == ["plugins", "addresses"] && found.allSatisfy { $0.level == .warning })
        let proxy = try AddressRanges(configuration: "127.0.0.1")
        let observations = try Self.observations(ofClients: "\(shop)\(try folder.serverAPIKey())\n") {
            $0.http.remoteAddresses.trustedProxies = proxy
        }
        #expect(observations.allSatisfy { !["plugins", "addresses"].contains($0.subject) })
    }

    // MARK: - Notifications

    private static func notificationChecks(
        ofClients yaml: String?, in store: StoreFinding = .notConfigured,
        _ change: (inout GatewayConfiguration) -> Void = { _ in }
    ) throws -> [CheckResult] {
        try CheckedArea(.notifications, clients: yaml, at: now, change).results { $0.checkNotifications(store) }
    }

    @Test func `without Redis notifications are refused, unless they may be lost`() throws {
        let refused = try Self.notificationChecks(ofClients: nil)
        #expect(refused.map(\.subject) == ["path", "store"] && refused.allSatisfy { $0.level == .ok })
        #expect(refused[0].seen == "POST /apple/notifications for any app")
        #expect(refused[1].seen.contains("refused"))
        let token = try NotificationToken(configuration: "a-token-of-sixteen-characters")
        let lost = try Self.notificationChecks(ofClients: nil) {
            ($0.notifications.allowsVolatile, $0.notifications.token) = (true, token)
        }
        #expect(lost[0].seen.hasPrefix("POST /apple/notifications/{token} "))
        #expect(lost[1].seen.contains("end with the process"))
        let none = try Self.notificationChecks(ofClients: "clients: []\n")
        #expect(none.map(\.subject) == ["path"] && none[0].seen.contains("names no app"), "\(none)")
    }

    @Test func `a store that keeps nothing is a fault of notifications`() throws {
        func store(_ finding: StoreFinding) throws -> CheckResult {
            try #require(Self.notificationChecks(ofClients: nil, in: finding)["store"])
        }
        let kept = try store(.kept(isPersistent: true)), volatile = try store(.kept(isPersistent: false))
        #expect(kept.level == .ok && !kept.seen.contains("restarts"), "\(kept)")
        #expect(volatile.level == .ok && volatile.seen.hasSuffix("until it restarts (appendonly no)"), "\(volatile)")
        let full = try store(.fault(.failed, seen: "Redis is full", advice: "Raise it."))
        #expect(full.level == .failed && full.seen == "notifications get 503: Redis is full")
        #expect(full.advice == "Raise it.")
        let unused = try store(.evicts("allkeys-lru", isUsed: false))
        #expect(unused.level == .warning && unused.seen.contains("maxmemory-policy allkeys-lru"), "\(unused)")
        #expect(try store(.evicts("allkeys-lru", isUsed: true)).level == .failed)
    }

    @Test func `apps with a key and without a number are named`() throws {
        let apps = "apps: [{bundle_id: a, app_apple_id: 1}, {bundle_id: b, receipt_upstream: both}]\n"
        let checks = try Self.notificationChecks(ofClients: "clients: []\n\(try folder.serverAPIKey())\n\(apps)")
        let numbers = try #require(checks["app_apple_id"])
        #expect(numbers.level == .warning && numbers.seen.hasPrefix("not set for b: "), "\(numbers)")
        #expect(try Self.notificationChecks(ofClients: "clients: []\n\(apps)").allSatisfy { $0.level == .ok })
    }

    // MARK: - Keys of the App Store Server API

    /// Returns the lines about the keys of apps whose replies from production and the sandbox are given.
    private static func observations(
        ofReplies replies: [String: KeyReplies], keys ofApps: [String: ServerAPIKey] = [:]
    ) throws -> [CheckResult] {
        let report = CheckReport(.apple)
        let keys = ServerAPIKeys(account: try key("ACCOUNT123"), ofApps: ofApps)
        AreaCheck(configuration: GatewayConfiguration(), report: report).record(
            TriedKeys(keys: keys, bundleIDs: replies.keys.sorted(), replies: replies))
        return report.close()
    }

    private static func key(_ keyID: String) throws -> ServerAPIKey {
        let forged = ForgedAPIKey(seed: Forged.pki.seed)
        let privateKey = try #require(ECSigningKey(pem: Array(forged.privateKeyPEM.utf8)))
        return ServerAPIKey(issuerID: forged.issuerID, keyID: keyID, privateKey: privateKey)
    }

    @Test func `apps with the same key and the same replies share one line`() throws {
        let rejected = KeyReplies(production: .rejected, sandbox: .rejected)
        let lines = try Self.observations(
            ofReplies: [
                "com.example.a": rejected, "com.example.b": rejected,
                "com.example.c": KeyReplies(production: .accepted, sandbox: .accepted), "com.example.d": rejected,
            ], keys: ["com.example.d": Self.key("OTHER12345")]
        ).filter { $0.subject.hasPrefix("server_api:") }
        #expect(lines.map(\.subject) == ["a", "c", "d"].map { "server_api:com.example.\($0)" })
        #expect(lines.map(\.level) == [.failed, .ok, .failed])
        #expect(
            lines.map(\.seen) == [
                "Apple rejects the key ACCOUNT123 for com.example.a, com.example.b: 401 in production and in the sandbox",
                "Apple accepts the key ACCOUNT123 for com.example.c in production and in the sandbox",
                "Apple rejects the key OTHER12345 for com.example.d: 401 in production and in the sandbox",
            ])
    }

    @Test func `what is ok comes without advice`() throws {
        let lines = try Self.observations(
            ofReplies: ["com.example.a": KeyReplies(production: .rejected, sandbox: .accepted)])
        #expect(lines.contains { $0.subject == "app_apple_id" })
        #expect(lines.allSatisfy { $0.level == .ok && $0.advice == nil }, "\(lines)")
    }

    // MARK: - This machine

    @Test func `caches and bodies that exceed the system's memory fail`() throws {
        let allowed = try #require(SystemLimits.memory)
        let checks = try CheckedArea(.limits) { $0.nearCacheSize = .bytes(allowed) }.results { $0.checkLimits() }
        let memory = try #require(checks["memory"])
        #expect(memory.level == .failed && memory.seen.contains(StatusValue.bytes(allowed).text), "\(memory)")
    }

    @Test func `control groups are read with all groups above them`() {
        #expect(
            SystemLimits.groups("1:cpu:/old\n0::/system.slice/gateway.service\n") == [
                "/sys/fs/cgroup", "/sys/fs/cgroup/system.slice", "/sys/fs/cgroup/system.slice/gateway.service",
            ])
        #expect(SystemLimits.groups("0::/\n") == ["/sys/fs/cgroup"])
        #expect(SystemLimits.groups("") == ["/sys/fs/cgroup"])
        #expect(SystemLimits.quota("50000 100000") == 0.5)
        #expect(SystemLimits.quota("max 100000") == nil && SystemLimits.quota("") == nil)
    }

    @Test func `roots that expire soon give a warning, and expired ones fail`() throws {
        let roots = [TrustRoot(path: try folder.write(Forged.pki.rootPEM, to: "root.pem"), environments: [.sandbox])]
        let end = try #require(TrustStore(adding: roots).anchors.compactMap(\.expires).first)
        for (days, level) in [(-365, CheckResult.Level.ok), (-30, .warning), (1, .failed)] {
            let checks = try Self.certificateChecks(days: days, from: end) { $0.trustRoots = roots }
            #expect(checks["roots"]?.level == level)
        }
    }

    @Test func `the ports' certificates give a warning two weeks before they expire, and then fail`() throws {
        try folder.makeCertificate("a")
        let end = try #require(try ServerCertificate(folder.files("a"), of: "gateway.http.tls")).end
        for (days, level) in [(-15, CheckResult.Level.ok), (-13, .warning), (0, .failed)] {
            let checks = try Self.certificateChecks(days: days, from: end) {
                ($0.http.listener.tls, $0.admin.tls) = (folder.files("a"), folder.files("a"))
            }
            for plane in ["data", "admin"] {
                let check = try #require(checks.first { $0.subject == plane })
                #expect(check.level == level && check.seen.contains(end.day), "\(check)")
            }
        }
    }

    private static func certificateChecks(
        days: Int, from end: Timestamp, _ change: (inout GatewayConfiguration) -> Void
    ) throws -> [CheckResult] {
        let now = end.advanced(by: .seconds(days * 86_400))
        return try CheckedArea(.certificates, at: now, change).results { $0.checkCertificates() }
    }

    @Test func `an answer of the running gateway has a limit in bytes`() async throws {
        let body = String(repeating: "x", count: LocalGateway.Limits.answerBytes + 1)
        try await WebhookReceiver(answerBody: body).run { port in
            let gateway = try LocalGateway(ListenerConfiguration(host: "127.0.0.1", port: port))
            #expect(await gateway.condition(at: "/readyz") == .unreachable(.tooLarge))
        }
    }

    // MARK: - The report

    private static let observations = [
        CheckResult(area: .redis, subject: "latency", level: .failed, seen: "slow", advice: "Be quick."),
        CheckResult(area: .clients, subject: "file", level: .ok, seen: "none", advice: nil),
    ]

    @Test func `colours are for terminals, and areas keep their order`() {
        let report = DoctorReport(observations: Self.observations)
        let plain = "Clients\n  ok       file           none\n\nRedis\n  failed   latency        slow. Be quick.\n\n"
        #expect(report.text(hasColours: false) == plain + "1 ok, 0 warnings, 1 failed\n")
        #expect(report.text(hasColours: true).contains("\u{1B}[1;31mfailed   \u{1B}[0mlatency"))
        #expect(report.level == .failed && !report.isMisconfigured)
    }

    @Test func `an area that takes too long keeps its observations so far`() async throws {
        let report = CheckReport(.redis)
        report.ok("first", "seen")
        let none: Int? = await value(within: .zero) {
            // Sleeps until it is cancelled.
            try? await Task.sleep(for: .seconds(3600))
            return 1
        }
        #expect(none == nil)
        #expect(await value(within: .seconds(3600)) { 2 } == 2)
        #expect(report.close().count == 1)
        report.ok("late", "dropped")
        #expect(report.close().count == 1)
    }

    @Test(arguments: [("0.0.0.0", "127.0.0.1"), ("::", "[::1]"), ("fe80::1", "[fe80::1]"), ("localhost", "localhost")])
    func `a listener on all addresses is reached on loopback`(host: String, reachable: String) {
        #expect(ListenerConfiguration(host: host, port: 9090).reachableHost == reachable)
    }
}
