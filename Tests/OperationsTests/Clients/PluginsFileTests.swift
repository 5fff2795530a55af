// SPDX-License-Identifier: Apache-2.0

import AppStore
import HTTPServer
import Testing

@testable import Clients
@testable import ServerTestSupport
@testable import Settings

/// The plugins of a client in the clients file, and the origins of pages.
struct PluginsFileTests {
    private static func clients(_ fields: String) throws -> [Client] {
        try ClientsFile("defaults: {concurrency: 7}\nclients:\n- {name: app, keys: [], \(fields)}").clients
    }

    @Test func `a client with plugins has the limits of apps, not the defaults of backends`() throws {
        let app = try #require(try Self.clients("apps: [a], plugins: [openiap, cordova-plugin-purchase]").first)
        #expect(app.plugins == Set(PluginProtocol.allCases) && app.limits == .ofApps)
        #expect(app.limits.policies.map(\.subject) == [.address])
        let backend = try #require(try Self.clients("apps: [a]").first)
        #expect(backend.plugins.isEmpty && backend.limits.concurrency == 7 && backend != app)
        #expect(Access(AccessRules(clients: [backend])).plugins.isEmpty)
        #expect(Access(AccessRules(clients: [backend, app])).plugins == Set(PluginProtocol.allCases))
    }

    @Test(arguments: [
        ("apps: [a], plugins: []", "plugins is empty: list cordova-plugin-purchase, openiap"),
        ("apps: [a], plugins: [cordova]", "plugins takes only: cordova-plugin-purchase, openiap"),
        ("apps: [a], plugins: openiap", "plugins must be a list"),
        (#"apps: "*", plugins: [openiap]"#, #"a client with plugins lists its apps: "*" is for backends"#),
    ])
    func `a fault of plugins is named`(fields: String, fault: String) {
        let problems = configurationProblems(reading: { try Self.clients(fields) })
        #expect(problems.contains { $0.contains(fault) }, "\(problems)")
    }

    @Test(arguments: [
        ("may: [purge]", "may"), ("apple: [read]", "apple"), ("ownership: reject", "ownership"),
        ("defer: degraded", "defer"), ("webhooks: []", "webhooks"), ("certificates: [dns:a.internal]", "certificates"),
        ("unknown_ids_per_minute: 3", "unknown_ids_per_minute"),
    ])
    func `a client with plugins has nothing of a backend's`(field: String, name: String) {
        let problems = configurationProblems(
            reading: { try Self.clients("apps: [a], plugins: [openiap], \(field)") })
        #expect(problems.contains { $0.contains("\(name) is not for a client with plugins") }, "\(problems)")
    }

    @Test func `a plugin without a key for the history is a fault at the start`() throws {
        func faults(_ fields: String, _ change: (inout AccessRules) -> Void = { _ in }) throws -> [String] {
            var rules = AccessRules(clients: try Self.clients(fields))
            change(&rules)
            return GatewayConfiguration().startFaults(rules).map(\.seen).filter { $0.contains("history") }
        }
        let plugin = "apps: [com.example.a], plugins: [cordova-plugin-purchase]"
        let found = try faults(plugin)
        #expect(found.count == 1 && found.first?.contains("com.example.a") == true, "\(found)")
        #expect(try faults(plugin) { $0.serverAPIKeys.account = ServerAPIKeyFixture.key }.isEmpty)
        #expect(try faults("apps: [com.example.a], plugins: [openiap]").isEmpty)
        #expect(try faults("apps: [com.example.a]").isEmpty)
    }

    @Test func `limits per address behind an unknown proxy are a fault at the start`() throws {
        func faults(_ fields: String, _ change: (inout GatewayConfiguration) -> Void = { _ in }) throws -> [String] {
            var configuration = GatewayConfiguration()
            change(&configuration)
            let rules = AccessRules(clients: try Self.clients(fields))
            return configuration.startFaults(rules).map(\.seen).filter { $0.contains("per address") }
        }
        let plugin = "apps: [a], plugins: [openiap]"
        let found = try faults(plugin)
        #expect(found.count == 1 && found.first?.hasPrefix("Limits per address for app, ") == true, "\(found)")
        let proxy = try AddressRanges(configuration: "10.0.0.0/8")
        #expect(try faults(plugin) { $0.http.remoteAddresses.trustedProxies = proxy }.isEmpty)
        #expect(try faults(plugin) { $0.http.proxyProtocolAddresses = proxy }.isEmpty)
        #expect(try faults(plugin) { $0.http.listener.tls.certificate = "server.pem" }.isEmpty)
        #expect(try faults("\(plugin), limits: [{name: all, quota: 9, window: 1s}]").isEmpty)
        #expect(try faults("apps: [a], limits: [{name: each, quota: 9, window: 1s, per: address}]").isEmpty)
    }

    // MARK: - Origins

    @Test(arguments: [
        ("", ""), ("null", "null"), ("https://App.example.com", "https://app.example.com"), ("file://", "file://"),
        (" http://localhost:8100 ,ionic://localhost", "http://localhost:8100,ionic://localhost"),
    ])
    func `origins are read`(text: String, origins: String) throws {
        #expect(try WebOrigins(configuration: text).configurationText == origins)
    }

    @Test(arguments: [
        "*", "localhost", "https://", "://a", "https://a/", "https://a/path", "https://a b", "https://é.example",
        "https://a\"", "null,*", String(repeating: "null,", count: 65), "https://\(String(repeating: "a", count: 250))",
    ])
    func `what is no origin is refused`(text: String) {
        #expect(throws: ConfigurationValueFault.self) { try WebOrigins(configuration: text) }
    }

    @Test func `an origin is the whole text`() throws {
        let origins = try WebOrigins(configuration: "https://a.example,null")
        #expect(origins.contains("https://a.example") && origins.contains("null"))
        for other in ["https://a.example:443", "http://a.example", "https://b.a.example", "Null", ""] {
            #expect(!origins.contains(other), "\(other)")
        }
    }
}
