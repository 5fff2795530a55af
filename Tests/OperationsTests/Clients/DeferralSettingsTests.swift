// SPDX-License-Identifier: Apache-2.0

import Customers
import Testing

@testable import Clients
@testable import ServerTestSupport
@testable import Settings

@Suite("The settings of deferred verifications")
struct DeferralSettingsTests {
    @Test(arguments: [
        ("", DeferralPolicy.onRequest), (", defer: on_request", .onRequest), (", defer: undecided", .undecided),
        (", defer: degraded", .degraded),
    ])
    func `a client may have answers deferred without a preference`(field: String, policy: DeferralPolicy) throws {
        #expect(try read("{name: shop, apps: [a], \(ClientsFile.unusedKeys)\(field)}").first?.deferral == policy)
    }

    @Test func `another value is a problem, and so is a client without API keys`() {
        for client in [
            "{name: shop, apps: [a], \(ClientsFile.unusedKeys), defer: always}",
            "{name: shop, defer: undecided, form: {keys: [], apps: []}}",
        ] {
            #expect(throws: ConfigurationProblems.self) { try read(client) }
        }
    }

    @Test func `clients differ by their setting`() throws {
        let clients = try ["undecided", "degraded"].flatMap {
            try read("{name: shop, apps: [a], \(ClientsFile.unusedKeys), defer: \($0)}")
        }
        #expect(Set(clients).count == 2)
    }

    @Test(arguments: [
        ("jobs.max_age", "59s"), ("jobs.max_age", "31d"), ("jobs.retention", "401d"), ("jobs.max_count", "0"),
        ("jobs.max_bytes", "1KiB"), ("jobs.max_total_bytes", "1KiB"),
    ])
    func `values out of range are refused`(name: String, text: String) throws {
        let key = try #require(ConfigurationKeys.all.first { $0.name == name })
        var configuration = GatewayConfiguration()
        #expect(throws: ConfigurationValueFault.self) { try key.set(&configuration, text) }
        #expect(configuration.jobs == JobRules())
    }

    @Test func `sizes are set in bytes`() throws {
        var configuration = GatewayConfiguration()
        for (name, text) in [("jobs.max_bytes", "1MiB"), ("jobs.max_total_bytes", "2GiB")] {
            let key = try #require(ConfigurationKeys.all.first { $0.name == name })
            try key.set(&configuration, text)
        }
        #expect(configuration.jobs.maximumBytes == 1 << 20 && configuration.jobs.maximumTotalBytes == 2 << 30)
    }

    private func read(_ client: String) throws -> [Client] {
        try ClientsFile("clients: [\(client)]").clients
    }
}
