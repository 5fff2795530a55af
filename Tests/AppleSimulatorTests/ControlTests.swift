// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

@testable import AppleSimulator

/// The endpoints that control the simulator.
struct ControlTests {
    @Test func `statistics count calls by endpoint, with faults too`() async throws {
        try await withApple("faults: [{fault: {http_status: 503}, requests: 1}]") { apple in
            let (production, sandbox) = (Wire(apple.productionURL), Wire(apple.sandboxURL))
            let body = Samples.body(Samples.receipt())
            for _ in 0..<3 { _ = try await production.verify(body) }
            _ = try await sandbox.verify(body)
            _ = try await sandbox.verify("{}")
            for wire in [production, sandbox] {
                let counts =
                    #"{"distinct_receipts":2,"notifications":{"failed":0,"pending":0,"pending_retries":0,"sent":0,"#
                    + #""succeeded":0},"production":3,"sandbox":2,"server_api":{"calls":{},"quotas":[]}}"#
                #expect(try await wire.ask("GET", "/stats").body == counts)
            }
            #expect(
                apple.statsDetails.outcomes == [
                    "production": ["http_503": 1, "status_0": 2], "sandbox": ["status_21008": 1, "status_21002": 1],
                ])
        }
    }

    @Test func `one receipt in two encodings is one receipt`() async throws {
        try await withApple { apple in
            let body = Samples.body(Samples.receipt())
            let wire = Wire(apple.productionURL)
            _ = try await wire.verify(body)
            _ = try await wire.verify(body.replacing("MII", with: "M\\nII"))
            #expect(apple.stats == Stats(production: 2, sandbox: 0, distinctReceipts: 1))
        }
    }

    @Test func `details count the calls in flight`() async throws {
        try await withApple { apple in
            let wire = Wire(apple.productionURL)
            _ = try await wire.verify("{}")
            let exchange = try await wire.ask("GET", "/stats/details")
            let decoder = JSONDecoder()
            decoder.keyDecodingStrategy = .convertFromSnakeCase
            let details = try decoder.decode(StatsDetails.self, from: Data(exchange.body.utf8))
            #expect(details.inFlight == 0 && details.maximumInFlight == 1 && details.connections == 2)
            #expect(details.outcomes == ["production": ["status_21002": 1]])
        }
    }

    @Test func `statistics start again when they are deleted`() async throws {
        try await withApple { apple in
            _ = try await Wire(apple.productionURL).verify("{}")
            #expect(try await Wire(apple.sandboxURL).ask("DELETE", "/stats").status == 204)
            #expect(apple.stats == Stats() && apple.statsDetails.outcomes.isEmpty)
        }
    }

    @Test func `a scenario is replaced at once and its clock starts again`() async throws {
        let clock = ManualClock()
        try await withApple(clock: clock) { apple in
            let wire = Wire(apple.productionURL)
            clock.advance(bySeconds: 100)
            let put = try await wire.ask("PUT", "/scenario", "faults: [{fault: html, for: 10}]")
            clock.advance(bySeconds: 9.9)
            let during = try await wire.verify("{}")
            clock.advance(bySeconds: 0.1)
            let after = try await wire.verify("{}")
            #expect(put.status == 204)
            #expect(during.body.hasPrefix("<html>") && after.body == #"{"status":21002}"#)
        }
    }

    @Test func `another scenario's stories apply at once`() async throws {
        try await withApple { apple in
            let (wire, body) = (Wire(apple.productionURL), Samples.body(Samples.receipt()))
            let before = try AppleAnswer(Data(await wire.verify(body).body.utf8))
            apple.play(try Scenario(yaml: "stories: {default: family_shared}"))
            let after = try AppleAnswer(Data(await wire.verify(body).body.utf8))
            #expect(before.newest["in_app_ownership_type"] == "PURCHASED")
            #expect(after.newest["in_app_ownership_type"] == "FAMILY_SHARED")
        }
    }

    @Test func `an invalid scenario changes nothing and is explained`() async throws {
        try await withApple("faults: [{fault: html}]") { apple in
            let wire = Wire(apple.productionURL)
            let exchange = try await wire.ask("PUT", "/scenario", "faults:\n  - {fault: hmtl}\n")
            #expect(exchange.status == 422 && exchange.body.hasPrefix("line 2: 'hmtl' is unknown here"))
            #expect(try await wire.verify("{}").body.hasPrefix("<html>"))
        }
    }

    @Test(arguments: [("GET", "/"), ("POST", "/stats"), ("PUT", "/stats/details"), ("GET", "/scenario")])
    func `other paths and methods are not found`(method: String, path: String) async throws {
        try await withApple { apple in
            let exchange = try await Wire(apple.productionURL).ask(method, path)
            #expect(exchange.status == 404)
            #expect(apple.stats == Stats())
        }
    }
}
