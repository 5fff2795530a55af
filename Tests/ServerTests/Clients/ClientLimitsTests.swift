// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

import Gateway
import RateLimits
import Receipts
import Testing

@testable import Settings

@Suite("The limits in the clients file")
struct ClientLimitsTests {
    @Test func `limits are read, and what is left out has its default`() throws {
        let clients = try read(
            """
            - name: shop
              apps: '*'
              keys: []
              concurrency: 200
              limits:
                - {name: minute, quota: 1000, window: 60s}
                - name: per-app.2
                  quota: 10
                  window: 1d
                  burst: 5
                  per: app
                  cost: {apple: 5, apple_first: 2}
                  when_store_fails: closed
                  shadow: true
                  lease: never
                - {name: A_3, quota: 7, window: 1s, per: address, when_store_fails: open, cost: 3}
            """)
        let perApp = RatePolicy(
            name: "per-app.2", quota: 10, window: .seconds(86_400), burst: 5, whenStoreFails: .closed, isShadow: true,
            isLeased: false)
        let perAddress = RatePolicy(name: "A_3", quota: 7, window: .seconds(1), whenStoreFails: .open)
        #expect(
            clients.map(\.limits) == [
                ClientLimits(
                    policies: [
                        ClientPolicy(
                            subject: .client, rate: RatePolicy(name: "minute", quota: 1000, window: .seconds(60))),
                        ClientPolicy(subject: .app, rate: perApp, costs: [.apple: 5, .appleFirst: 2]),
                        ClientPolicy(
                            subject: .address, rate: perAddress,
                            costs: [.auto: 3, .local: 3, .apple: 3, .appleFirst: 3]),
                    ], concurrency: 200)
            ])
    }

    @Test func `clients without limits have the default limits`() throws {
        let clients = try read(
            """
            - {name: a, apps: '*', keys: []}
            - {name: b, apps: '*', keys: [], limits: []}
            - {name: c, apps: '*', keys: [], concurrency: 2}
            defaults:
              concurrency: 9
              limits: [{name: second, quota: 1, window: 1s}]
            """)
        #expect(clients.map(\.limits.policies.count) == [1, 0, 1])
        #expect(clients.map(\.limits.concurrency) == [9, 9, 2])
    }

    @Test func `a client without limits has none`() throws {
        #expect(try read("- {name: a, apps: '*', keys: []}").first?.limits == ClientLimits())
    }

    @Test(
        arguments: [
            ("limits: 5", "limits must be a list"), ("limits: [x]", nil),
            ("limits: [{quota: 1, window: 1s}]", "name is missing"),
            ("limits: [{name: a, window: 1s}]", "quota is missing"),
            ("limits: [{name: a, quota: 1}]", "window is missing"),
            ("limits: [{name: a, quota: 0, window: 1s}]", "quota takes an integer, from 1 to 10000000"),
            ("limits: [{name: a, quota: 10000001, window: 1s}]", "quota takes an integer, from 1 to 10000000"),
            ("limits: [{name: a, quota: many, window: 1s}]", "quota takes an integer, from 1 to 10000000"),
            (
                "limits: [{name: a, quota: 1, window: 60}]",
                "window takes a duration such as 500ms, 15s, 5m, 24h or 7d, from 1s to 31d"
            ),
            (
                "limits: [{name: a, quota: 1, window: 32d}]",
                "window takes a duration such as 500ms, 15s, 5m, 24h or 7d, from 1s to 31d"
            ),
            ("limits: [{name: a, quota: 1, window: 1500ms}]", "window must be whole seconds"),
            ("limits: [{name: a, quota: 1, window: 1s, burst: 0}]", "burst takes an integer, from 1 to 10000000"),
            ("limits: [{name: a, quota: 1, window: 1s, per: user}]", "per takes client, app, address"),
            (
                "limits: [{name: a, quota: 1, window: 1s, when_store_fails: pass}]",
                "when_store_fails takes local, open, closed"
            ),
            ("limits: [{name: a, quota: 1, window: 1s, shadow: yes}]", "shadow takes true or false"),
            ("limits: [{name: a, quota: 1, window: 1s, lease: 5}]", "lease takes auto, never"),
            ("limits: [{name: a, quota: 1, window: 1s, cost: 0}]", "cost takes an integer, from 1 to 10000"),
            ("limits: [{name: a, quota: 9, window: 1s, cost: {apple: x}}]", "apple takes an integer, from 1 to 10000"),
            (
                "limits: [{name: a, quota: 9, window: 1s, cost: {aple: 1}}]",
                "aple is not a field here (auto, local, apple, apple_first; did you mean apple?)"
            ),
            (
                "limits: [{name: a, quota: 9, window: 1s, burst: 4, cost: 5}]",
                "cost is more than the burst of 4: such a request would always be rejected"
            ),
            (
                "limits: [{name: a, quota: 1, window: 1s, burts: 1}]",
                """
                burts is not a field here (name, quota, window, burst, per, cost, when_store_fails, shadow, lease; did \
                you mean burst?)
                """
            ),
            ("limits: [{name: 'a\"b', quota: 1, window: 1s}]", "name must be up to 32 letters, digits and any of .-_"),
            ("limits: [{name: 'ä', quota: 1, window: 1s}]", "name must be up to 32 letters, digits and any of .-_"),
            (
                "limits: [{name: \(String(repeating: "a", count: 33)), quota: 1, window: 1s}]",
                "name must be up to 32 letters, digits and any of .-_"
            ),
            ("limits: [{name: concurrency, quota: 1, window: 1s}]", "a limit must not be named concurrency"),
            (
                "limits: [{name: a, quota: 1, window: 1s}, {name: a, quota: 2, window: 1s}]",
                "the limit a appears twice"
            ),
            ("limits: [\(nine)]", "a client has 8 limits at most"),
            ("concurrency: 0", "concurrency takes an integer, from 1 to 1000000"),
            ("concurrency: 1000001", "concurrency takes an integer, from 1 to 1000000"),
        ] as [(String, String?)])
    func `a fault is named with its line`(field: String, problem: String?) {
        let problems = #expect(throws: ConfigurationProblems.self) {
            try read("- name: a\n  apps: '*'\n  keys: []\n  \(field)")
        }
        guard let problem else { return }
        #expect(
            problems?.problems.map(\.description) == ["clients.yaml:5: \(problem)"], "\(problems?.description ?? "")")
    }

    private static let nine = (1...9).map { "{name: n\($0), quota: 1, window: 1s}" }.joined(separator: ", ")

    // MARK: - Charges

    @Test func `a request is charged to its client, its app and its address`() throws {
        let client = try client(subjects: [.client, .app, .address])
        var options = VerificationOptions()
        options.expectations.bundleID = "com.example.b"
        let charges = client.charges(for: options, from: NetworkAddress("192.0.2.1"))
        #expect(charges.map(\.bucket.subject) == ["", "com.example.b", "c0000201"])
        #expect(charges.allSatisfy { $0.bucket.client == "shop" } && charges.map(\.cost) == [1, 1, 1])
        options.mode = .apple
        #expect(client.charges(for: options, from: nil).map(\.cost) == [7, 7, 7])
    }

    @Test(
        arguments: [
            (PermittedApps.all, ""), (.only(["com.example.a"]), "com.example.a"),
            (.only(["com.example.a", "com.example.b"]), ""),
        ] as [(PermittedApps, String)])
    func `without a name the app is the only one, or all share a bucket`(apps: PermittedApps, subject: String) throws {
        let client = try client(subjects: [.app], apps: apps)
        let charges = client.charges(for: VerificationOptions(), from: nil)
        #expect(charges.map(\.bucket.subject) == [subject])
    }

    private func client(
        subjects: [ClientPolicy.Subject], apps: PermittedApps = .only(["com.example.a", "com.example.b"])
    ) throws -> Client {
        let policies = subjects.map { subject in
            ClientPolicy(
                subject: subject, rate: RatePolicy(name: subject.rawValue, quota: 10, window: .seconds(1)),
                costs: [.apple: 7])
        }
        return Client(name: "shop", apps: apps, keys: [], limits: ClientLimits(policies: policies))
    }

    private func read(_ clients: String) throws(ConfigurationProblems) -> [Client] {
        try ClientsFile("clients:\n\(clients)", path: "clients.yaml", now: Timestamp(millisecondsSince1970: 0)).clients
    }
}
