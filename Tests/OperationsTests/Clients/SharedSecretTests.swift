// SPDX-License-Identifier: Apache-2.0

import Cryptography
import Testing

@testable import Clients
@testable import ServerTestSupport

@Suite("The apps' shared secrets in the clients file")
struct SharedSecretTests {
    private static let secret = "0123456789abcdef0123456789abcdef"

    @Test func `a secret is in the file, or in its own file with a line end`() throws {
        let secrets = try read(
            """
            - {bundle_id: com.example.a, shared_secret: \(Self.secret)}
            - bundle_id: com.example.b
              shared_secret_file: b.secret
            """, files: ["b.secret": "\(Self.secret)-b\n"])
        #expect(secrets == ["com.example.a": Secret(Self.secret), "com.example.b": Secret(Self.secret + "-b")])
    }

    @Test func `an app's own secret overrides the account's`() {
        let secrets = SharedSecrets(primary: Secret("the account's"), ofApps: ["a": Secret("the app's")])
        #expect(secrets.secret(forApp: "a") == Secret("the app's"))
        #expect(secrets.secret(forApp: "b") == Secret("the account's"))
        #expect(SharedSecrets().secret(forApp: "a") == nil)
    }

    @Test func `the password of a notification is the app's secret or the account's`() {
        let secrets = SharedSecrets(primary: Secret("the account's"), ofApps: ["a": Secret("the app's")])
        #expect(secrets.isSecret(Secret("the app's"), ofApp: "a"))
        #expect(secrets.isSecret(Secret("the account's"), ofApp: "a"))
        #expect(secrets.isSecret(Secret("the account's"), ofApp: "b"))
        #expect(!secrets.isSecret(Secret("the app's"), ofApp: "b"))
        for wrong in ["", "the app'", "the app's ", "The app's"] {
            #expect(!secrets.isSecret(Secret(wrong), ofApp: "a"))
        }
        #expect(!SharedSecrets().isSecret(Secret(""), ofApp: "a"))
    }

    @Test(arguments: faults)
    func `a fault is named with its line, and no secret with it`(apps: String, problem: String) {
        let problems = problems(apps, files: ["short": "tooshort", "empty": "\n"])
        #expect(problems.contains(problem), "\(problems)")
        #expect(!problems.joined().contains("0123") && !problems.joined().contains("tooshort"))
    }

    private static let range = "must hold 16 to 64 visible ASCII characters"
    private static let fields =
        "bundle_id, shared_secret, shared_secret_file, server_api, app_apple_id, receipt_upstream"
    private static let faults = [
        (
            "- {bundle_id: a, shared_secret: \(secret), shared_secret_file: short}",
            "clients.yaml:3: shared_secret and shared_secret_file are both set; set only one"
        ),
        ("- bundle_id: a\n  shared_secret: tooshort", "clients.yaml:4: shared_secret \(range)"),
        ("- {bundle_id: a, shared_secret: '0123456789 abcdef'}", "clients.yaml:3: shared_secret \(range)"),
        ("- {bundle_id: a, shared_secret: 0123456789abcdeé}", "clients.yaml:3: shared_secret \(range)"),
        ("- {bundle_id: a, shared_secret: [\(secret)]}", "clients.yaml:3: shared_secret must be a text"),
        ("- bundle_id: a\n  shared_secret_file: short", "clients.yaml:4: the file of shared_secret_file \(range)"),
        (
            "- {bundle_id: a, shared_secret: YOUR_SHARED_SECRET}",
            "clients.yaml:3: shared_secret is a placeholder as documentation prints it, and no secret"
        ),
        ("- {bundle_id: a, shared_secret_file: empty}", "clients.yaml:3: the file of shared_secret_file \(range)"),
        (
            "- {bundle_id: a, shared_secret_file: \(secret)}",
            "clients.yaml:3: the file of shared_secret_file does not exist"
        ),
        (
            "- {bundle_id: a, shared_secret: \(secret), shared_secrt \(secret)}",
            "clients.yaml:3: a name is not a field here (\(fields))"
        ),
        (
            "- {bundle_id: a, shared_secret: \(secret), bundle_idd: b}",
            "clients.yaml:3: a name is not a field here (\(fields); did you mean bundle_id?)"
        ),
        ("  a: \(secret)", "clients.yaml:3: apps must be a list"),
        ("- \(secret)", "clients.yaml:3: must have the fields \(fields)"),
    ]

    @Test(arguments: [(15, false), (16, true), (64, true), (65, false)])
    func `a secret has 16 to 64 characters`(count: Int, isAccepted: Bool) {
        let apps = "- {bundle_id: a, shared_secret: \(String(repeating: "x", count: count))}"
        #expect(problems(apps).isEmpty == isAccepted)
    }

    @Test func `no secret appears in a description of the file`() throws {
        let file = try file("- {bundle_id: a, shared_secret: \(Self.secret)}", files: [:])
        var shown = "\(file) \(String(reflecting: file)) \(SharedSecrets(ofApps: file.sharedSecrets))"
        dump(file, to: &shown)
        #expect(!shown.contains(Self.secret) && shown.contains(Secret.redacted))
    }

    // MARK: - Steps

    private func problems(_ apps: String, files: [String: String] = [:]) -> [String] {
        configurationProblems(reading: { try file(apps, files: files) })
    }

    private func read(_ apps: String, files: [String: String]) throws -> [String: Secret] {
        try file(apps, files: files).sharedSecrets
    }

    private func file(_ apps: String, files: [String: String]) throws(ConfigurationProblems) -> ClientsFile {
        try ClientsFile("clients: []\napps:\n\(apps)", files: files)
    }
}
