// SPDX-License-Identifier: Apache-2.0

import Cryptography
import Gateway
import Testing

@testable import Clients
@testable import ServerTestSupport
@testable import Settings

@Suite("The interfaces for receipts, and the apps without a key")
struct ReceiptUpstreamTests {
    private static let key = """
        {issuer_id: \(ServerAPIKeyFixture.issuerID), key_id: \(ServerAPIKeyFixture.keyID), private_key_file: a.p8}
        """

    // MARK: - The clients file

    @Test func `an app's own interfaces override the operator's`() throws {
        let upstreams = try rules(
            "apps: [{bundle_id: a, receipt_upstream: server_api}, {bundle_id: b, receipt_upstream: both}]",
            primary: .verifyReceipt
        ).receiptUpstreams
        #expect(upstreams.upstream(forApp: "a") == .serverAPI && upstreams.upstream(forApp: "b") == .both)
        #expect(upstreams.upstream(forApp: "c") == .verifyReceipt && upstreams.upstream(forApp: nil) == .verifyReceipt)
        #expect(try rules("apps: []").receiptUpstreams == ReceiptUpstreams(primary: .both))
    }

    @Test(arguments: ["serverapi", "[both]", "~", "app_store_server_api"])
    func `an unknown value is an error with the choices`(value: String) {
        let found = configurationProblems(reading: { try rules("apps:\n- bundle_id: a\n  receipt_upstream: \(value)") })
        #expect(found == ["clients.yaml:4: receipt_upstream takes verify_receipt, server_api, both"])
    }

    // MARK: - Apps without a key

    private static let shops = """
        - {name: a, apps: [com.example.b, com.example.a], keys: []}
        - {name: b, apps: "*", keys: []}
        """

    @Test func `the apps of clients and those with something of their own are known`() throws {
        let rules = try rules(
            """
            apps:
            - {bundle_id: com.example.c, shared_secret: 0123456789abcdef}
            - {bundle_id: com.example.d, app_apple_id: 1}
            - {bundle_id: com.example.e, receipt_upstream: both}
            - {bundle_id: com.example.f, server_api: \(Self.key)}
            """, clients: Self.shops)
        #expect(rules.knownApps.sorted() == "abcdef".map { "com.example.\($0)" })
        #expect(rules.appsWithoutServerAPIKey == "abcde".map { "com.example.\($0)" })
    }

    @Test func `notifications are accepted of known apps, and without a clients file of any app`() throws {
        let rules = try rules("apps: [{bundle_id: com.example.c, app_apple_id: 1}]", clients: Self.shops)
        let access = Access(rules)
        for app in ["com.example.a", "com.example.b", "com.example.c"] { #expect(access.servesApp(app)) }
        // The client for any app names none.
        #expect(!access.servesApp("com.example.d") && !access.servesApp(""))
        let none = Access(try self.rules("apps: []"))
        #expect(none.servedApps == [] && !none.servesApp("com.example.a"))
        let alone = Access(AccessRules(GatewayConfiguration(), nil))
        #expect(alone.servedApps == nil && alone.servesApp("com.example.a"))
    }

    @Test func `an account's key serves each known app`() throws {
        #expect(try rules("server_api: \(Self.key)", clients: Self.shops).appsWithoutServerAPIKey == [])
    }

    @Test func `an app that never uses verifyReceipt does not depend on it`() throws {
        let apps = "apps: [{bundle_id: com.example.a, receipt_upstream: server_api}]"
        #expect(try rules(apps, clients: Self.shops).appsWithoutServerAPIKey == ["com.example.b"])
        #expect(try rules("apps: []", clients: Self.shops, primary: .serverAPI).appsWithoutServerAPIKey == [])
        let only = "apps: [{bundle_id: com.example.a, receipt_upstream: verify_receipt}]"
        #expect(
            try rules(only, clients: Self.shops, primary: .serverAPI).appsWithoutServerAPIKey == ["com.example.a"])
    }

    // MARK: - The Server API without a key

    @Test func `a fault names the apps, and those that no entry names`() throws {
        let rules = try rules("apps: []", clients: Self.shops, primary: .serverAPI)
        let fault = try #require(rules.receiptUpstreamFault)
        #expect(fault.seen.contains(" for com.example.a, com.example.b, other apps: "), "\(fault)")
        var alone = GatewayConfiguration()
        alone.apple.receiptUpstream = .serverAPI
        #expect(AccessRules(alone, nil).receiptUpstreamFault?.seen.contains(" for any app: ") == true)
    }

    @Test func `there is no fault with a key for each app, or with another interface`() throws {
        #expect(try rules("apps: []", clients: Self.shops).receiptUpstreamFault == nil)
        #expect(try rules("apps: []", clients: Self.shops, primary: .verifyReceipt).receiptUpstreamFault == nil)
        let account = "server_api: \(Self.key)"
        #expect(try rules(account, clients: Self.shops, primary: .serverAPI).receiptUpstreamFault == nil)
        let own = "apps: [{bundle_id: com.example.a, server_api: \(Self.key)}]"
        let one = "- {name: a, apps: [com.example.a], keys: []}"
        #expect(try rules(own, clients: one, primary: .serverAPI).receiptUpstreamFault == nil)
    }

    // MARK: - Neither a secret nor a key

    @Test func `apps that Apple is not called about are named at the start`() throws {
        let key = "{id: k, hash: 'hmac-sha256:\(String(repeating: "0", count: 64))'}"
        let shops = "- {name: a, apps: [c.b, c.a], keys: [\(key)]}\n- {name: hooks, apps: [c.e], keys: []}"
        let settings = GatewayConfiguration()
        let bare = try rules("apps: []", clients: shops)
        let fault = try #require(settings.startFaults(bare).first)
        #expect(fault.seen.contains("Server API for c.a, c.b: mode `auto` answers"), "\(fault)")
        #expect(fault.advice.contains("shared_secret_file") && fault.advice.contains("server_api"))
        // Apple is disabled on purpose.
        var closed = settings
        closed.apple.isEnabled = false
        #expect(closed.startFaults(bare).isEmpty)

        let secret = "{bundle_id: c.a, shared_secret: 0123456789abcdef}"
        #expect(try rules("apps: [\(secret)]", clients: shops).appsWithoutCredentials == ["c.b"])
        let both = "apps: [\(secret), {bundle_id: c.b, server_api: \(Self.key)}]"
        #expect(try settings.startFaults(rules(both, clients: shops)).isEmpty)
        #expect(try settings.startFaults(rules("server_api: \(Self.key)", clients: shops)).isEmpty)
        var account = bare
        account.secrets.primary = Secret("the account's")
        #expect(settings.startFaults(account).isEmpty)
    }

    // MARK: - Steps

    private func rules(
        _ text: String, clients: String = "[]", primary: ReceiptUpstream = .both
    ) throws(ConfigurationProblems) -> AccessRules {
        let list = clients == "[]" ? "clients: []" : "clients:\n\(clients)"
        let file = try ClientsFile("\(list)\n\(text)", files: ["a.p8": ServerAPIKeyFixture.pem()])
        var configuration = GatewayConfiguration()
        configuration.apple.receiptUpstream = primary
        return AccessRules(configuration, file)
    }
}
