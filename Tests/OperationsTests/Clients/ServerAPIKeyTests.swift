// SPDX-License-Identifier: Apache-2.0

import AppStore
import Cryptography
import ReceiptForge
import Testing

@testable import Clients
@testable import ServerTestSupport
@testable import Settings

@Suite("The keys of the App Store Server API in the clients file")
struct ServerAPIKeyTests {
    private static let issuerID = ServerAPIKeyFixture.issuerID
    private static let key = "issuer_id: \(issuerID), key_id: 2X9R4HXF34, private_key_file: a.p8"
    private static let files = [
        "a.p8": ServerAPIKeyFixture.pem(1), "b.p8": ServerAPIKeyFixture.pem(2) + "\n\n",
        "p384.p8": ServerAPIKeyFixture.onP384, "passphrase.p8": ServerAPIKeyFixture.withPassphrase,
        "rsa.pem": Forged.pki.leafKeyPEM, "root.pem": Forged.pki.rootPEM, "empty": "", "text": "MIGHAgEAMBMGByqGSM49",
    ]

    @Test func `the account and the apps have keys, and apps have numbers`() throws {
        let keys = try read(
            """
            server_api: {\(Self.key)}
            apps:
            - bundle_id: com.example.a
              server_api: {issuer_id: \(Self.issuerID.uppercased()), key_id: 1234567890, private_key_file: b.p8}
            - {bundle_id: com.example.b, app_apple_id: 1234567890}
            - {bundle_id: com.example.c, shared_secret: 0123456789abcdef, app_apple_id: 9223372036854775807}
            """
        ).serverAPIKeys
        let account = try #require(keys.account), ofApp = try #require(keys.ofApps["com.example.a"])
        #expect(account.issuerID == Self.issuerID && account.keyID == "2X9R4HXF34")
        #expect(ofApp.issuerID == Self.issuerID && ofApp.keyID == "1234567890")
        #expect(account.privateKey == ECSigningKey(pem: Array(ServerAPIKeyFixture.pem(1).utf8)))
        #expect(ofApp.privateKey != account.privateKey && keys.ofApps.count == 1)
        #expect(keys.appAppleIDs == ["com.example.b": 1_234_567_890, "com.example.c": .max])
        #expect(keys.key(forApp: "com.example.a") == ofApp && keys.key(forApp: "com.example.b") == account)
    }

    @Test func `a file without keys has none, and an app may still have a secret only`() throws {
        let file = try read("apps: [{bundle_id: a, shared_secret: 0123456789abcdef}]")
        #expect(file.serverAPIKeys == ServerAPIKeys() && file.sharedSecrets.count == 1)
    }

    @Test(arguments: faults)
    func `a fault is named with its line, and nothing of a private key with it`(text: String, problem: String) {
        let problems = configurationProblems(reading: { try read(text) })
        #expect(problems.contains(problem), "\(problems)")
        for secret in ["BEGIN", "MIGH", "MEEC", "p8", "0123456789abcdef"] {
            let named = ["the .p8 file of App Store Connect", "keys/none.p8"]
            let shown = named.reduce(problems.joined()) { $0.replacing($1, with: "") }
            #expect(!shown.contains(secret), "\(shown)")
        }
    }

    private static let account = "issuer_id: \(issuerID), key_id: 2X9R4HXF34"
    private static let wrongFile = """
        clients.yaml:2: the file of private_key_file must hold a private key for P-256 in PEM, without a passphrase: \
        the .p8 file of App Store Connect
        """
    private static let wrongIssuer = """
        clients.yaml:2: issuer_id must be a UUID, as App Store Connect shows it (Users and Access, Integrations, \
        In-App Purchase)
        """
    private static let wrongNumber = """
        clients.yaml:3: app_apple_id takes a positive integer: the app's Apple ID in App Store Connect (App Information)
        """
    private static let wrongKeyID = "clients.yaml:2: key_id must be 8 to 16 letters and digits"
    private static let fields = "(issuer_id, key_id, private_key_file"

    private static let faults: [(String, String)] =
        ["p384.p8", "passphrase.p8", "rsa.pem", "root.pem", "empty", "text"].map { file in
            ("server_api: {\(account), private_key_file: \(file)}", wrongFile)
        }
        + [
            "57246542", "57246542-96fe-1a63-e053-0824d011072", "57246542-96fe-1a63-e053-0824d011072aa",
            "57246542-96fe-1a63-e053-0824d011072g", "57246542-96fe-1a63-e053-0824d011072-", "2X9R4HXF34",
            "57246542-96fe-1a63-e0530824-d011072a", "{57246542-96fe-1a63-e053-0824d011072a}",
        ].map { issuer in
            ("server_api: {issuer_id: \"\(issuer)\", key_id: 2X9R4HXF34, private_key_file: a.p8}", wrongIssuer)
        }
        + ["2X9R4HX", "2X9R4HXF342X9R4HX", "2X9R-HXF34", "2X9R4HXF3é", "2X9R4HXF34 "].map { keyID in
            ("server_api: {issuer_id: \(issuerID), key_id: \"\(keyID)\", private_key_file: a.p8}", wrongKeyID)
        }
        + ["0", "-1", "1.5", "9223372036854775808", "id1234", "[1]", "~"].map { number in
            ("apps:\n- {bundle_id: a, app_apple_id: \(number)}", wrongNumber)
        }
        + otherFaults

    private static let otherFaults = [
        ("server_api: yes", "clients.yaml:2: must have the fields issuer_id, key_id, private_key_file"),
        ("server_api: {}", "clients.yaml:2: issuer_id is missing"),
        ("server_api: {}", "clients.yaml:2: key_id is missing"),
        ("server_api: {}", "clients.yaml:2: private_key_file is missing"),
        (
            "server_api: {\(key), private_key_fil: 0123456789abcdef}",
            "clients.yaml:2: a name is not a field here \(fields); did you mean private_key_file?)"
        ),
        ("server_api: {\(key), MIGHAgEAMBMGByqGSM49: 1}", "clients.yaml:2: a name is not a field here \(fields))"),
        ("server_api: {\(account), private_key_file: 0123456789abcdef}", missing("the file")),
        ("server_api: {\(account), private_key_file: MIGHAgEAMBMGByqGSM49/A==}", missing("the file")),
        ("server_api: {\(account), private_key_file: keys/none.p8}", missing("the file keys/none.p8")),
        ("server_api: {\(account), private_key_file: /run/secrets/none}", missing("the file /run/secrets/none")),
        (
            "server_apy: {\(key)}",
            "clients.yaml:2: server_apy is not a field here (clients, apps, defaults, server_api; did you mean server_api?)"
        ),
        (
            "apps:\n- {bundle_id: '*', server_api: {\(key)}}",
            "clients.yaml:3: what any app uses is gateway.apple.shared_secret, gateway.apple.receipt_upstream, and server_api "
                + "outside of apps"
        ),
        (
            "apps:\n- {bundle_id: a}",
            "clients.yaml:3: an app needs shared_secret_file, shared_secret, server_api, app_apple_id or receipt_upstream"
        ),
        (
            "apps:\n- {bundle_id: a, app_apple_id: 1}\n- {bundle_id: a, server_api: {\(key)}}",
            "clients.yaml:4: the app a appears twice"
        ),
        ("apps:\n- {server_api: {\(key)}}", "clients.yaml:3: bundle_id is missing"),
    ]

    private static func missing(_ file: String) -> String {
        "clients.yaml:2: \(file) of private_key_file does not exist"
    }

    @Test func `no key appears in a description of the file or of the rules`() throws {
        let file = try read("server_api: {\(Self.key)}\napps: [{bundle_id: a, server_api: {\(Self.key)}}]")
        let rules = AccessRules(GatewayConfiguration(), file)
        #expect(rules.serverAPIKeys.account != nil && rules.serverAPIKeys.ofApps.count == 1)
        var shown = "\(file) \(String(reflecting: file)) \(rules) \(String(reflecting: rules)) \(rules.serverAPIKeys)"
        dump(file, to: &shown)
        dump(rules, to: &shown)
        let scalar = [UInt8](repeating: 1, count: 32)
        for secret in ["PRIVATE", "2X9R4HXF34", Self.issuerID, "0101010101", "\(scalar)", "1, 1, 1, 1"] {
            #expect(!shown.contains(secret), "\(secret)")
        }
    }

    // MARK: - Steps

    private func read(_ text: String) throws(ConfigurationProblems) -> ClientsFile {
        try ClientsFile("clients: []\n\(text)", files: Self.files)
    }
}
