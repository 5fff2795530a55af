// SPDX-License-Identifier: Apache-2.0

import Testing
import TestSupport

@testable import Customers
@testable import Server
@testable import ServerTestSupport
@testable import Settings

/// The doctor's checks of webhooks.
@Suite("Webhooks in the doctor's report", .timeLimit(.patient))
struct WebhooksCheckTests {
    private static func checks(
        ofWebhooks webhooks: [String], _ change: (inout GatewayConfiguration) -> Void = { _ in }
    ) async throws -> [CheckResult] {
        let list = webhooks.map { "      - \($0)\n" }.joined()
        let yaml = "clients:\n  - name: shop\n    apps: [com.example.shop]\n    keys: []\n"
        let area = try CheckedArea(.webhooks, clients: yaml + (list.isEmpty ? "" : "    webhooks:\n\(list)")) {
            $0.webhooks.allowsPlainHTTP = true
            change(&$0)
        }
        await area.check.checkWebhooks()
        return area.check.report.close()
    }

    private static func webhook(_ name: String, _ url: String, _ more: String = "") -> String {
        "{name: \(name), url: '\(url)', secrets: [\(WebhookSamples.key)]\(more)}"
    }

    @Test func `without endpoints there is one line`() async throws {
        let checks = try await Self.checks(ofWebhooks: [])
        #expect(checks.map(\.subject) == ["endpoints"] && checks[0].level == .ok)
    }

    @Test func `an endpoint that answers anything is reached, without an event`() async throws {
        let receiver = WebhookReceiver(status: 405)
        try await receiver.run { port in
            let checks = try await Self.checks(
                ofWebhooks: [Self.webhook("crm", "http://127.0.0.1:\(port)/hooks?key=hidden")]
            ) { $0.webhooks.allowsPrivateAddresses = true }
            let reached = try #require(checks["shop/crm"])
            #expect(reached.level == .ok && reached.seen.contains("status 405"), "\(checks)")
            #expect(checks.first?.seen == "endpoints: 1, 0 of them for Apple's own bodies; apps: 1; keys: 1")
            #expect(checks["http"]?.level == .warning)
            #expect(checks.allSatisfy { !"\($0)".contains("hidden") })
            #expect(receiver.received.map(\.requestLine) == ["GET /hooks?key=hidden HTTP/1.1"])
            #expect(receiver.received.allSatisfy { $0.body.isEmpty })
        }
    }

    @Test func `a private address, and a port without a server, fail with advice`() async throws {
        let endpoint = Self.webhook("crm", "http://127.0.0.1:1/")
        let refused = try await Self.checks(ofWebhooks: [endpoint])["shop/crm"]
        #expect(refused?.level == .failed && refused?.seen == "not reached (forbidden_address)")
        #expect(refused?.advice?.contains("allow_private_addresses") == true)
        let checks = try await Self.checks(ofWebhooks: [endpoint]) { $0.webhooks.allowsPrivateAddresses = true }
        #expect(checks["shop/crm"]?.seen == "not reached (connect)")
    }

    @Test func `without Redis the store is a warning`() async throws {
        let endpoint = Self.webhook("crm", "http://127.0.0.1:1/")
        let lost = try await Self.checks(ofWebhooks: [endpoint])["store"]
        #expect(lost?.level == .warning && lost?.advice?.contains("gateway.redis.url") == true)
        let kept = try await Self.checks(ofWebhooks: [endpoint]) { $0.notifications.allowsVolatile = true }
        let store = try #require(kept["store"])
        #expect(store.level == .ok && store.seen == "100000 events of each app are kept, for 7d at most")
    }

    @Test(
        arguments: [(0, .ok), (120, .ok), (-120, .ok), (121, .warning), (-300, .warning)] as [(Int, CheckResult.Level)])
    func `a clock that differs from an endpoint's is a warning`(seconds: Int, level: CheckResult.Level) {
        let report = CheckReport(.webhooks)
        let endpoint = WebhookEndpoint(name: "a/b", apps: [], url: "https://a.example.com")
        let answers = [0, seconds].map { difference in
            TriedEndpoint(
                endpoint: endpoint,
                result: .success(.init(status: 404, took: .zero, clockDifference: .seconds(difference))))
        }
        AreaCheck(configuration: GatewayConfiguration(), report: report).recordClock(answers)
        #expect(report.close().map(\.level) == [level])
    }
}
