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

    @Test func `sizes are set in bytes`() throws {
        let settings = ["GATEWAY_JOBS_MAX_BYTES": "1MiB", "GATEWAY_JOBS_MAX_TOTAL_BYTES": "2GiB"]
        let jobs = try loadConfiguration(settings).jobs
        #expect(jobs.maximumBytes == 1 << 20 && jobs.maximumTotalBytes == 2 << 30)
    }

    private func read(_ client: String) throws -> [Client] {
        try ClientsFile("clients: [\(client)]").clients
    }
}
