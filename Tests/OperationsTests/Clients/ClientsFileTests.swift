// SPDX-License-Identifier: Apache-2.0

import Customers
import Gateway
import Receipts
import Testing

@testable import Clients
@testable import ServerTestSupport

@Suite("The clients file")
struct ClientsFileTests {
    private static let hash = String(repeating: "ab", count: 32)
    private static let now = Timestamp(millisecondsSince1970: 1_767_225_600_000)  // 2026-01-01

    @Test func `clients, their keys and their apps are read`() throws {
        let clients = try read(
            """
            clients:
              - name: shop
                apps: [com.example.a, com.example.b]
                keys:
                  - {id: one, hash: "hmac-sha256:\(Self.hash)"}
                  - {id: two, hash: "hmac-sha256:\(Self.hash)", expires: 2026-02-28}
              - {name: all, apps: "*", keys: []}
            """)
        let expiry = Timestamp(millisecondsSince1970: 1_772_236_800_000)
        let hash = [UInt8](repeating: 0xAB, count: 32)
        #expect(
            clients == [
                Client(
                    name: "shop", apps: .only(["com.example.a", "com.example.b"]),
                    keys: [
                        StoredKey(id: "one", hash: hash, expires: nil),
                        StoredKey(id: "two", hash: hash, expires: expiry),
                    ]),
                Client(name: "all", apps: .all, keys: []),
            ])
    }

    @Test(arguments: faults)
    func `a fault is named with its line`(text: String, problem: String) {
        let found = configurationProblems(reading: { try read(text) })
        #expect(found.contains(problem), "\(found)")
    }

    @Test func `a client's permissions are read`() throws {
        let client = "clients:\n- {name: a, apps: '*', keys: [], may: "
        #expect(try read(client + "[purge]}").first?.may == [.purge])
        #expect(try read(client + "[]}").first?.may == [])
        for fault in ["[everything]", "purge", "[[purge]]", "[Purge]"] {
            #expect(throws: ConfigurationProblems.self) { try read(client + fault + "}") }
        }
    }

    @Test func `each permission has its name`() throws {
        let client = """
            clients:
            - {name: a, apps: '*', \(ClientsFile.unusedKeys), signatures: {},
               may: [purge, ownership, erase, sign, trace]}
            """
        #expect(try read(client).first?.may == Set(Client.Permission.allCases))
    }

    @Test func `purchases of other accounts are reported, or rejected if the client wants that`() throws {
        let client = "clients:\n- {name: a, apps: '*', keys: []"
        for (field, policy) in [("", .report), (", ownership: report", .report), (", ownership: reject", .reject)]
            as [(String, OwnershipPolicy)]
        {
            #expect(try read(client + field + "}").first?.ownership == policy)
        }
        let clients = try ["report", "reject"].flatMap { try read(client + ", ownership: \($0)}") }
        #expect(Set(clients).count == 2)
        for fault in ["Reject", "[reject]", "block", "''"] {
            let problems = #expect(throws: ConfigurationProblems.self) { try read(client + ", ownership: \(fault)}") }
            #expect(problems?.description.contains("ownership takes report, reject") == true)
        }
    }

    @Test func `a third key is accepted while one of them has expired`() throws {
        let expired = key("c", ", expires: 2025-12-31")
        #expect(try read(client(keys: [key("a"), key("b"), expired])).first?.keys.count == 3)
        #expect(throws: ConfigurationProblems.self) { try read(client(keys: [key("a"), key("b"), key("c")])) }
    }

    private static let faults = [
        ("", "clients.yaml: is empty"),
        ("clients: {", "clients.yaml: is not valid YAML: did not find expected node content on line 2"),
        (
            "client: []",
            "clients.yaml:1: client is not a field here (clients, apps, defaults, server_api; did you mean clients?)"
        ),
        ("clients: &a []", "clients.yaml: has an anchor on line 1; anchors and aliases are not read"),
        (
            "\"cli\\ents\": []",
            "clients.yaml:1: cli\\u{1B}nts is not a field here (clients, apps, defaults, server_api; did you mean clients?)"
        ),
        ("clients: yes", "clients.yaml:1: clients must be a list"),
        ("clients:", "clients.yaml:1: clients must be a list, and has no value"),
        ("clients:\n- name: ~\n  apps: '*'\n  keys: []", "clients.yaml:2: name has no value"),
        ("clients:\n- {name: a, apps: '*', keys: [rgk_1]}", "clients.yaml:2: must have the fields id, hash, expires"),
        (
            "clients:\n- {name: a, apps: *, keys: []}",
            "clients.yaml: is not valid YAML: did not find expected alphabetic or numeric character on line 2; "
                + "write an asterisk in quotes: \"*\""
        ),
        ("clients:\n- apps: '*'\n  keys: []", "clients.yaml:2: name is missing"),
        (
            "clients:\n- name: a\n  keys: []",
            "clients.yaml:2: a client needs apps: a list of bundle IDs, or \"*\" for any app"
        ),
        (
            "clients:\n- name: a\n  apps: []\n  keys: []",
            "clients.yaml:3: apps is empty: list bundle IDs, or \"*\" for any app"
        ),
        ("clients:\n- name: a\n  apps: '*'", "clients.yaml:2: a client needs keys or certificates"),
        ("clients:\n- {name: a, apps: ['*', b], keys: []}", "clients.yaml:2: \"*\" must be the only entry"),
        (
            "clients:\n- {name: a, apps: '*', keys: []}\n- {name: a, apps: '*', keys: []}",
            "clients.yaml:3: the client a appears twice"
        ),
        (
            "clients:\n- name: a\n  apps: '*'\n  keys:\n  - {id: k, hash: plain}",
            "clients.yaml:5: hash must be hmac-sha256: and 64 hexadecimal digits, as `receipt-gateway hash-key` prints it"
        ),
        (
            "clients:\n- name: a\n  apps: '*'\n  keys:\n  - {id: k, hash: plain, expiress: 2026-01-01}",
            "clients.yaml:5: expiress is not a field here (id, hash, expires; did you mean expires?)"
        ),
        (
            "clients:\n- name: a\n  apps: '*'\n  keys:\n  - {id: k, expires: 2026-02-30}",
            "clients.yaml:5: expires must be a day such as 2027-01-31"
        ),
    ]

    private func key(_ id: String, _ more: String = "") -> String {
        "{id: \(id), hash: \"hmac-sha256:\(Self.hash)\"\(more)}"
    }

    private func client(keys: [String]) -> String {
        "clients:\n- {name: a, apps: '*', keys: [\(keys.joined(separator: ", "))]}"
    }

    private func read(_ text: String) throws(ConfigurationProblems) -> [Client] {
        try ClientsFile(text, at: Self.now).clients
    }
}
