// SPDX-License-Identifier: Apache-2.0

import Gateway
import Resilience
import Testing

@testable import Clients
@testable import ServerTestSupport

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

    @Test func `the items that a token pays for are read, or those of the defaults`() throws {
        let clients = try read(
            """
            - {name: a, apps: '*', keys: []}
            - {name: b, apps: '*', keys: [], items_per_token: 1}
            - {name: c, apps: '*', keys: [], items_per_token: 200, limits: []}
            defaults:
              items_per_token: 25
            """)
        #expect(clients.map(\.limits.itemsPerToken) == [25, 1, 200])
        #expect(try read("- {name: a, apps: '*', keys: []}").map(\.limits.itemsPerToken) == [10])
    }

    @Test func `a client without limits has none`() throws {
        #expect(try read("- {name: a, apps: '*', keys: []}").first?.limits == ClientLimits())
    }

    private static let quota = "quota takes an integer, from 1 to 10000000"
    private static let window = "window takes a duration such as 500ms, 15s, 5m, 24h or 7d, from 1s to 31d"
    private static let name = "name must be up to 32 letters, digits and any of .-_"

    @Test(arguments: [
        ("quota: 1, window: 1s", "name is missing"), ("name: a, window: 1s", "quota is missing"),
        ("name: a, quota: 1", "window is missing"), ("name: a, quota: 0, window: 1s", quota),
        ("name: a, quota: 10000001, window: 1s", quota), ("name: a, quota: many, window: 1s", quota),
        ("name: a, quota: 1, window: 60", window), ("name: a, quota: 1, window: 32d", window),
        ("name: a, quota: 1, window: 1500ms", "window must be whole seconds"),
        ("name: 'a\"b', quota: 1, window: 1s", name), ("name: 'ä', quota: 1, window: 1s", name),
        ("name: \(String(repeating: "a", count: 33)), quota: 1, window: 1s", name),
        ("name: concurrency, quota: 1, window: 1s", "a limit must not be named concurrency"),
        ("name: a, quota: 1, window: 1s}, {name: a, quota: 2, window: 1s", "the limit a appears twice"),
    ])
    func `a fault of a limit is named with its line`(limit: String, problem: String) {
        #expect(problems("limits: [{\(limit)}]") == ["clients.yaml:5: \(problem)"])
    }

    @Test(arguments: [
        ("burst: 0", "burst takes an integer, from 1 to 10000000"), ("per: user", "per takes client, app, address"),
        ("when_store_fails: pass", "when_store_fails takes local, open, closed"),
        ("shadow: yes", "shadow takes true or false"), ("lease: 5", "lease takes auto, never"),
        ("cost: 0", "cost takes an integer, from 1 to 10000"),
        ("cost: {apple: x}", "apple takes an integer, from 1 to 10000"),
        ("cost: {aple: 1}", "aple is not a field here (auto, local, apple, apple_first; did you mean apple?)"),
        ("burst: 4, cost: 5", "cost is more than the burst of 4: such a request would always be rejected"),
        (
            "burts: 1",
            """
            burts is not a field here (name, quota, window, burst, per, cost, when_store_fails, shadow, lease; did \
            you mean burst?)
            """
        ),
    ])
    func `a fault of what a limit may have is named with its line`(field: String, problem: String) {
        #expect(problems("limits: [{name: a, quota: 9, window: 1s, \(field)}]") == ["clients.yaml:5: \(problem)"])
    }

    @Test(arguments: [
        ("limits: 5", "limits must be a list"), ("limits: [\(nine)]", "a client has 8 limits at most"),
        ("concurrency: 0", "concurrency takes an integer, from 1 to 1000000"),
        ("concurrency: 1000001", "concurrency takes an integer, from 1 to 1000000"),
        ("items_per_token: 0", "items_per_token takes an integer, from 1 to 200"),
        ("items_per_token: 201", "items_per_token takes an integer, from 1 to 200"),
        ("items_per_token: all", "items_per_token takes an integer, from 1 to 200"),
    ])
    func `a fault is named with its line`(field: String, problem: String) {
        #expect(problems(field) == ["clients.yaml:5: \(problem)"])
    }

    @Test func `a text is no limit`() {
        #expect(problems("limits: [x]") != [])
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

    /// 1 + ⌈(n−1)/10⌉, and never more than the burst, which no bucket holds more of.
    @Test(arguments: [
        (1, 10, 100, 1), (2, 10, 100, 2), (11, 10, 100, 2), (12, 10, 100, 3), (200, 10, 100, 21),
        (401, 10, 100, 41), (200, 1, 100, 100), (200, 1, 1000, 200), (200, 200, 100, 2), (200, 10, 5, 5), (2, 10, 1, 1),
    ])
    func `a request with many items takes more tokens`(items: Int, divisor: Int, burst: Int, cost: Int) throws {
        #expect(try Self.cost(of: items, mode: .auto, divisor: divisor, burst: burst) == cost)
    }

    @Test(arguments: [(1, 100, 7), (2, 100, 8), (11, 100, 8), (200, 100, 27), (200, 10, 10), (200, 7, 7)])
    func `items cost more in an expensive mode too, within the burst`(items: Int, burst: Int, cost: Int) throws {
        #expect(try Self.cost(of: items, mode: .apple, divisor: 10, burst: burst) == cost)
    }

    @Test(arguments: [(Mode.auto, 7), (.apple, 7), (.local, 1)])
    func `a request without evidence or for a history costs as much as a call to Apple, unless only the cache is asked`(
        mode: Mode, cost: Int
    ) throws {
        #expect(try Self.cost(of: 0, mode: mode, divisor: 10, burst: 100, isLookup: true) == cost)
        #expect(try Self.cost(of: 0, mode: mode, divisor: 10, burst: 100, wantsHistory: true) == cost)
        // Not the number of items decides.
        #expect(try Self.cost(of: 0, mode: .auto, divisor: 10, burst: 100) == 1)
    }

    @Test func `unknown IDs of a client have a bucket of their own, never taken in advance`() {
        let charge = Client(name: "shop", apps: .all, keys: [], limits: ClientLimits(unknownIDsPerMinute: 3))
            .chargeForUnknownID
        #expect(charge.bucket.client == "shop" && charge.bucket.subject == "" && charge.cost == 1)
        let policy = RatePolicy(name: "unknown_ids", quota: 3, window: .seconds(60), isLeased: false)
        #expect(charge.bucket.policy == policy)
        #expect(ClientLimits().unknownIDsPerMinute == 20)
    }

    @Test(arguments: [
        (0, Mode.auto, 100, 2), (1, .auto, 100, 2), (12, .auto, 100, 4), (1, .apple, 100, 8), (1, .auto, 1, 1),
        (12, .auto, 3, 3), (1, .apple, 7, 7),
    ])
    func `a nonce costs a token more, within the burst`(items: Int, mode: Mode, burst: Int, cost: Int) throws {
        #expect(try Self.cost(of: items, mode: mode, divisor: 10, burst: burst, hasNonce: true) == cost)
    }

    private static func cost(
        of items: Int, mode: Mode, divisor: Int, burst: Int, isLookup: Bool = false, hasNonce: Bool = false,
        wantsHistory: Bool = false
    ) throws -> Int {
        let policy = ClientPolicy(
            subject: .client, rate: RatePolicy(name: "a", quota: 10, window: .seconds(1), burst: burst),
            costs: [.apple: 7])
        let limits = ClientLimits(policies: [policy], itemsPerToken: divisor)
        let client = Client(name: "shop", apps: .all, keys: [], limits: limits)
        var options = VerificationOptions()
        (options.mode, options.itemCount, options.isLookup) = (mode, items, isLookup)
        (options.hasNonce, options.wantsHistory) = (hasNonce, wantsHistory)
        return try #require(client.charges(for: options, from: nil).first).cost
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

    private func problems(_ field: String) -> [String] {
        configurationProblems(reading: { try read("- name: a\n  apps: '*'\n  keys: []\n  \(field)") })
    }

    private func read(_ clients: String) throws(ConfigurationProblems) -> [Client] {
        try ClientsFile("clients:\n\(clients)").clients
    }
}
