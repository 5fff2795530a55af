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

    @Test(arguments: [
        ("apps: [a], \(ClientsFile.unusedKeys), apple: [all]", "apple takes only: read, write, mass, commerce"),
        ("apps: [a], \(ClientsFile.unusedKeys), apple: [Read]", "apple takes only: read, write, mass, commerce"),
        ("apps: [a], \(ClientsFile.unusedKeys), apple: [[read]]", "apple takes only: read, write, mass, commerce"),
        (
            "apps: [a], \(ClientsFile.unusedKeys), apple: read",
            "apple must be a list of rights, or a mapping from apps to such lists"
        ),
        (
            "apps: [a], \(ClientsFile.unusedKeys), apple: {a: read}",
            "apple must be a list of rights, or a mapping from apps to such lists"
        ),
        ("apps: [a], \(ClientsFile.unusedKeys), apple: {a: [reed]}", "apple takes only: read, write, mass, commerce"),
        (
            "apps: [a], \(ClientsFile.unusedKeys), apple: {b: [read]}",
            "the client may not use the app b: add it to apps first"
        ),
        (
            "apps: '*', \(ClientsFile.unusedKeys), apple: {'*': [read]}",
            "\"*\" is no app: apple as a list gives rights for each app of the client"
        ),
        (
            "apps: [a], keys: [], apple: [read]",
            "apple is for API keys, and this client has none: remove it, or add keys"
        ),
        (
            "apple: [read], form: {keys: [], apps: []}",
            "apple is for API keys, and this client has none: remove it, or add keys"
        ),
        (
            "apps: [a], form: {keys: [], apps: []}",
            "apps is for API keys, and this client has none: move it below form, or add keys"
        ),
        ("apps: [a], \(ClientsFile.unusedKeys), aple: [read]", "aple is not a field here"),
    ])
    func `a fault is named with its line`(fields: String, problem: String) {
        let found = configurationProblems(reading: { try read("{name: shop, \(fields)}") })
        #expect(found.contains { $0.hasPrefix("clients.yaml:2: \(problem)") }, "\(found)")
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

    @Test(arguments: [
        ("keys: [], unknown_ids_per_minute: 0", "unknown_ids_per_minute takes an integer, from 1 to 1000000"),
        ("keys: [], unknown_ids_per_minute: 1000001", "unknown_ids_per_minute takes an integer, from 1 to 1000000"),
        ("keys: [], unknown_ids_per_minute: many", "unknown_ids_per_minute takes an integer, from 1 to 1000000"),
        ("keys: [], unknown_id_per_minute: 1", "unknown_id_per_minute is not a field here"),
        (
            "keys: [], limits: [{name: unknown_ids, quota: 1, window: 1s}]",
            "a limit must not be named unknown_ids"
        ),
        (
            "keys: [], form: {keys: [], apps: [], unknown_ids_per_minute: 1}",
            "unknown_ids_per_minute is not a field here (keys, apps, limits, concurrency, items_per_token)"
        ),
    ])
    func `a faulty limit of unknown transaction IDs is named`(fields: String, problem: String) {
        let found = configurationProblems(reading: { try read("{name: a, apps: '*', \(fields)}") })
        #expect(found.contains { $0.hasPrefix("clients.yaml:2: \(problem)") }, "\(found)")
    }

    private func read(_ client: String) throws(ConfigurationProblems) -> [Client] {
        try ClientsFile("clients:\n- \(client)").clients
    }
}
