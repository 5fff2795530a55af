// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import Clients
@testable import ServerTestSupport

@Suite("The rights of clients at the App Store Server API")
struct AppleRightsTests {
    @Test(
        arguments: [
            ("", [], []),
            (", apple: []", [], []),
            (", apple: [read]", [.read], [.read]),
            (", apple: [mass, write, read, read]", [.read, .write, .mass], [.read, .write, .mass]),
            (", apple: {a: [read, write]}", [.read, .write], []),
            (", apple: {a: [mass], b: []}", [.mass], []),
            (", apple: {a: [commerce]}", [.commerce], []), (", apple: {}", [], []),
        ] as [(String, Set<Client.AppleRight>, Set<Client.AppleRight>)])
    func `rights are for each app, or for the named ones`(
        field: String, ofA: Set<Client.AppleRight>, ofB: Set<Client.AppleRight>
    ) throws {
        let client = try #require(try read("{name: shop, apps: [a, b], \(ClientsFile.unusedKeys)\(field)}").first)
        #expect(client.appleRights(forApp: "a") == ofA && client.appleRights(forApp: "b") == ofB)
        #expect(client.appleRights(forApp: "c") == [])
    }

    @Test func `a client of any app may have rights for single ones`() throws {
        let all = try #require(try read("{name: shop, apps: '*', \(ClientsFile.unusedKeys), apple: [read]}").first)
        #expect(all.appleRights(forApp: "any") == [.read])
        let single = try #require(
            try read("{name: shop, apps: '*', \(ClientsFile.unusedKeys), apple: {a: [write]}}").first)
        #expect(single.appleRights(forApp: "a") == [.write] && single.appleRights(forApp: "b") == [])
    }

    @Test func `the loopback client has all rights, and one before authentication none`() {
        #expect(Client.loopback.appleRights(forApp: "any") == Set(Client.AppleRight.allCases))
        #expect(Client.unidentified.appleRights(forApp: "any") == [])
    }

    @Test func `clients differ by their rights`() throws {
        let clients = try [", apple: [read]", ", apple: [write]", ", apple: {a: [read]}"].flatMap {
            try read("{name: shop, apps: [a, b], \(ClientsFile.unusedKeys)\($0)}")
        }
        #expect(Set(clients).count == 3)
        #expect(try read("{name: shop, apps: [a, b], \(ClientsFile.unusedKeys), apple: [read]}") == [clients[0]])
    }

    private static let ofA = "apps: [a], \(ClientsFile.unusedKeys)"
    private static let takesOnly = "apple takes only: read, write, mass, commerce"
    private static let isNoList = "apple must be a list of rights, or a mapping from apps to such lists"
    private static let needsKeys = "is for API keys, and this client has none"

    @Test(arguments: [
        ("\(ofA), apple: [all]", takesOnly), ("\(ofA), apple: [Read]", takesOnly),
        ("\(ofA), apple: [[read]]", takesOnly), ("\(ofA), apple: {a: [reed]}", takesOnly),
        ("\(ofA), apple: read", isNoList), ("\(ofA), apple: {a: read}", isNoList),
        ("\(ofA), apple: {b: [read]}", "the client may not use the app b: add it to apps first"),
        ("\(ofA), aple: [read]", "aple is not a field here"),
        (
            "apps: '*', \(ClientsFile.unusedKeys), apple: {'*': [read]}",
            "\"*\" is no app: apple as a list gives rights for each app of the client"
        ),
        ("apps: [a], keys: [], apple: [read]", "apple \(needsKeys): remove it, or add keys"),
        ("apple: [read], form: {keys: [], apps: []}", "apple \(needsKeys): remove it, or add keys"),
        ("apps: [a], form: {keys: [], apps: []}", "apps \(needsKeys): move it below form, or add keys"),
    ])
    func `a fault is named with its line`(fields: String, problem: String) {
        expect(problem, of: "{name: shop, \(fields)}")
    }

    // MARK: - Unknown transaction IDs

    @Test func `the limit of unknown transaction IDs is read, or the limit of the defaults`() throws {
        let clients = try read(
            """
            {name: a, apps: '*', keys: []}
            - {name: b, apps: '*', keys: [], unknown_ids_per_minute: 1}
            - {name: c, apps: '*', keys: [], unknown_ids_per_minute: 1000000}
            defaults: {unknown_ids_per_minute: 5}
            """)
        #expect(clients.map(\.limits.unknownIDsPerMinute) == [5, 1, 1_000_000])
        #expect(try read("{name: a, apps: '*', keys: []}").map(\.limits.unknownIDsPerMinute) == [20])
    }

    private static let bounds = "unknown_ids_per_minute takes an integer, from 1 to 1000000"

    @Test(arguments: [
        ("unknown_ids_per_minute: 0", bounds), ("unknown_ids_per_minute: 1000001", bounds),
        ("unknown_ids_per_minute: many", bounds),
        ("unknown_id_per_minute: 1", "unknown_id_per_minute is not a field here"),
        ("limits: [{name: unknown_ids, quota: 1, window: 1s}]", "a limit must not be named unknown_ids"),
        (
            "form: {keys: [], apps: [], unknown_ids_per_minute: 1}",
            "unknown_ids_per_minute is not a field here (keys, apps, limits, concurrency, items_per_token)"
        ),
    ])
    func `a faulty limit of unknown transaction IDs is named`(field: String, problem: String) {
        expect(problem, of: "{name: a, apps: '*', keys: [], \(field)}")
    }

    private func expect(_ problem: String, of client: String) {
        let found = configurationProblems(reading: { try read(client) })
        #expect(found.contains { $0.hasPrefix("clients.yaml:2: \(problem)") }, "\(found)")
    }

    private func read(_ client: String) throws(ConfigurationProblems) -> [Client] {
        try ClientsFile("clients:\n- \(client)").clients
    }
}
