// SPDX-License-Identifier: Apache-2.0

import Foundation
import ReceiptForge
import Testing

@testable import Clients
@testable import HTTPServer
@testable import RedisStore
@testable import Server
@testable import ServerTestSupport
@testable import Settings

/// The messages that an operator reads after a mistake.
@Suite("Mistakes in the configuration")
struct ConfigurationMessagesTests {
    private static let key = "a:AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="
    private static let redis = ["GATEWAY_REDIS_URL": "redis://h:1", "GATEWAY_CACHE_KEYS": key]

    // MARK: - Names

    @Test(arguments: [
        ("GATEWAY_REDIS_HOST", "; GATEWAY_REDIS_URL has the host, the port, the database and TLS of Redis"),
        ("GATEWAY_REDIS_USERNAME", "; did you mean GATEWAY_REDIS_USER?"),
        ("GATEWAY_PEPPER", "; did you mean GATEWAY_API_KEY_PEPPER?"),
        ("GATEWAY_CLIENTS", "; did you mean GATEWAY_CLIENTS_FILE?"),
        ("GATEWAY_APPLE_ENABLED_FILE", "; did you mean GATEWAY_APPLE_ENABLED?"),
        (
            "GATEWAY_HOST",
            "; did you mean one of GATEWAY_HTTP_HOST, GATEWAY_HTTP_HOST_NAMES, GATEWAY_ADMIN_HOST, "
                + "GATEWAY_ADMIN_HOST_NAMES?"
        ),
        ("GATEWAY_TLS_CERT", ""), ("gateway_http_port", "; did you mean GATEWAY_HTTP_PORT?"),
    ])
    func `an unknown variable has a hint at what may be meant, or none`(name: String, hint: String) {
        #expect(configurationProblems([name: "1"]) == ["\(name): is not a setting of the gateway\(hint)"])
    }

    @Test func `an unknown name of a known group has the group's settings`() throws {
        let problem = try #require(configurationProblems(["GATEWAY_APPLE_PASSWORD": "x"]).first)
        #expect(problem.contains("; settings with this beginning: GATEWAY_APPLE_ENABLED, "), "\(problem)")
    }

    @Test func `a variable in lower case that is none of the gateway's is left alone`() {
        #expect(configurationProblems(["gateway_address": "10.0.0.1"]) == [])
    }

    // MARK: - The form of the file

    @Test(arguments: [
        ("gateway:\n", "gateway (gateway.yaml:1): is empty; indent its settings below it, or remove it"),
        (
            "http:\n  port: 1\n",
            "http.port (gateway.yaml:2): is not below `gateway:`; write `gateway:` in a line above, and indent what "
                + "belongs to it"
        ),
        (
            "http: {host: 127.0.0.1,\n  port: 1}\nclients_file: x\n",
            "http.host (gateway.yaml:1): and 2 more are not below `gateway:`; write `gateway:` in a line above, and "
                + "indent what belongs to it"
        ),
        (
            "receipt-gateway: {http: {port: 1}}",
            "receipt-gateway.http.port (gateway.yaml:1): is not a setting of the gateway; did you mean "
                + "gateway.http.port?"
        ),
        (
            "GATEWAY_HTTP_PORT: 1",
            "GATEWAY_HTTP_PORT (gateway.yaml:1): is a name for the environment; in a file it is gateway.http.port"
        ),
        (
            "gateway: {shutdown: 5s}",
            "gateway.shutdown (gateway.yaml:1): is a group of settings and no value; settings below it: "
                + "gateway.shutdown.drain_delay, gateway.shutdown.grace"
        ),
        (
            "gateway:\n  http:\n    port:\n",
            "gateway.http.port (gateway.yaml:3): has no value; remove the name, or write a value behind it; accepted: "
                + "an integer, from 0 to 65535"
        ),
        (
            "gateway: {http: {port: {value: 1}}}",
            "gateway.http.port.value (gateway.yaml:1): is below gateway.http.port, which is a setting and no group; "
                + "accepted: an integer, from 0 to 65535"
        ),
        (
            "gateway.http.port: 1\ngateway.http.port.value: 2",
            "gateway.http.port.value (gateway.yaml:2): is below gateway.http.port, which is a setting and no group; "
                + "accepted: an integer, from 0 to 65535"
        ),
    ])
    func `a file of the wrong form has one problem that says how to write it`(file: String, problem: String) {
        #expect(configurationProblems(file: file) == [problem])
    }

    @Test func `a name without a value is filled by the environment`() throws {
        let file = "gateway: {http: {port: }}"
        #expect(try loadConfiguration(["GATEWAY_HTTP_PORT": "1"], file: file).http.listener.port == 1)
    }

    @Test(arguments: ["{a: b}", "[{id: a, key: b}]", "[a: b]"])
    func `keys that are no texts are no missing keys`(keys: String) {
        let found = configurationProblems(
            ["GATEWAY_REDIS_URL": "redis://h:1"], file: "gateway:\n  cache:\n    keys: \(keys)\n")
        #expect(found.count == 1 && found.first?.contains("each with an ID as id:base64") == true, "\(found)")
    }

    @Test(arguments: [
        ("abc", "lacks an ID and a colon before key 1"), ("a:abc", "has a key that is not base64: key 1"),
        (key + ",", "has nothing in place of key 2"),
        (key + ";" + key, "has more than one key in place of key 1: put a comma between two keys"),
        (key + "\nb:" + key.dropFirst(2), "has more than one key in place of key 1: put a comma between two keys"),
    ])
    func `a wrong key says the form of keys, and how to make one`(keys: String, fault: String) {
        let found = configurationProblems(["GATEWAY_CACHE_KEYS": keys])
        #expect(found.first?.hasPrefix("GATEWAY_CACHE_KEYS: \(fault); accepted: up to 4 keys") == true, "\(found)")
        #expect(found.count == 1 && found.first?.contains(StoreKeys.recipe) == true)
    }

    @Test(arguments: [
        "YOUR_SHARED_SECRET", "your-shared-secret", "Your shared secret", "<the account's secret>", "CHANGE_ME",
        "replace-me", "Placeholder",
    ])
    func `a placeholder is no secret`(text: String) {
        for name in ["GATEWAY_APPLE_SHARED_SECRET", "GATEWAY_API_KEY_PEPPER"] {
            let found = configurationProblems([name: text])
            #expect(found.first?.hasPrefix("\(name): is a placeholder") == true, "\(found)")
            #expect(!found.joined().contains(text))
        }
        let redis = configurationProblems(Self.redis.merging(["GATEWAY_REDIS_PASSWORD": text]) { $1 })
        #expect(redis.first?.hasPrefix("GATEWAY_REDIS_PASSWORD: is a placeholder") == true, "\(redis)")
    }

    @Test func `what a generator makes is no placeholder`() {
        for text in ["yourselves0123456789abcdef", "0123456789your-secret", "<9a8b7c6d5e4f3a2b", "changemeister-0123"] {
            #expect(configurationProblems(["GATEWAY_APPLE_SHARED_SECRET": text]) == [])
        }
    }

    // MARK: - Settings that do not fit together

    @Test(arguments: [
        ("127.0.0.1", "127.0.0.1"), ("0.0.0.0", "127.0.0.1"), ("localhost", "127.0.0.1"), ("::", "10.0.0.1"),
    ])
    func `two planes cannot have one port`(admin: String, data: String) {
        let one = ListenerConfiguration(host: admin, port: 9090), other = ListenerConfiguration(host: data, port: 9090)
        #expect(one.conflicts(with: other) && other.conflicts(with: one))
    }

    @Test func `two addresses, two ports and two free choices do not conflict`() {
        let admin = ListenerConfiguration(host: "127.0.0.1", port: 9090)
        #expect(!admin.conflicts(with: ListenerConfiguration(host: "127.0.0.2", port: 9090)))
        #expect(!admin.conflicts(with: ListenerConfiguration(host: "127.0.0.1", port: 8080)))
        let named = ListenerConfiguration(host: "a.internal", port: 9090)
        #expect(!named.conflicts(with: ListenerConfiguration(host: "b.internal", port: 9090)))
        #expect(named.conflicts(with: named))
        let free = ListenerConfiguration(host: "127.0.0.1", port: 0)
        #expect(!free.conflicts(with: free))
    }

    @Test func `a contradiction is named where it is set`() {
        #expect(
            configurationProblems(["GATEWAY_ADMIN_PORT": "8080"]).first?.hasPrefix(
                "GATEWAY_ADMIN_PORT: is 8080, and so is ") == true
        )
        let file = "gateway:\n  admin:\n    port: 8080\n"
        #expect(
            configurationProblems(file: file).first?.hasPrefix("gateway.admin.port (gateway.yaml:3): is 8080") == true)
        #expect(
            configurationProblems(["GATEWAY_HTTP_PORT": "9090"]).first?.hasPrefix("gateway.admin.port: is 9090") == true
        )
    }

    @Test func `an answer may not end before Apple's`() throws {
        let short = ["GATEWAY_HTTP_DEADLINES_ANSWER": "9s"]
        #expect(
            configurationProblems(short).first?.hasPrefix(
                "GATEWAY_HTTP_DEADLINES_ANSWER: is 9s, less than gateway.apple.deadline")
                == true)
        #expect(try loadConfiguration(["GATEWAY_HTTP_DEADLINES_ANSWER": "10s"]).http.deadlines.answer == .seconds(10))
        #expect(configurationProblems(short.merging(["GATEWAY_APPLE_ENABLED": "false"]) { $1 }) == [])
    }

    @Test(arguments: [
        ["GATEWAY_REDIS_USER": "gateway"], ["GATEWAY_REDIS_URL": "redis://gateway@h:1"],
    ])
    func `a Redis user without a password is a warning`(settings: [String: String]) throws {
        let configuration = try loadConfiguration(Self.redis.merging(settings) { $1 })
        let fault = try #require(configuration.startFaults(AccessRules()).first)
        #expect(fault.seen.hasPrefix("A Redis user is set without a password"), "\(fault)")
        let all = try loadConfiguration(
            Self.redis.merging(settings.merging(["GATEWAY_REDIS_PASSWORD": "x"]) { $1 }) { $1 })
        #expect(all.startFaults(AccessRules()).isEmpty)
        #expect(try loadConfiguration(Self.redis).startFaults(AccessRules()).isEmpty)
    }

    // MARK: - Values

    @Test(arguments: [
        ("ftp://proxy:3128", "the scheme is neither http nor https"),
        ("socks5://proxy:1080", "the scheme is neither http nor https"),
        ("http://", "the host is missing"), ("http://pro xy:3128", "the host is missing"),
        ("http://[::1", "the host is missing"), ("http://::1:3128", "the host is missing"),
        ("http://proxy", "the port is missing"), ("http://proxy:0", "the port is missing"),
        ("http://proxy:65536", "the port is missing"), ("http://proxy:3128/path", "the port is missing"),
        ("http://user:hunter2@proxy:x", "the port is missing"),
        ("http://user:hunter2@hunter2@proxy:1", "there is more than one @"),
        ("http://user:hunter2/@proxy:1", "the user or password has characters"),
    ])
    func `an unusable proxy is refused, and its password not shown`(address: String, fault: String) {
        for name in ["GATEWAY_APPLE_PROXY", "GATEWAY_WEBHOOKS_PROXY"] {
            let found = configurationProblems([name: address])
            #expect(found.count == 1 && found.first?.hasPrefix("\(name): \(fault)") == true, "\(found)")
            #expect(!found.joined().contains("hunter2"))
        }
    }

    @Test(arguments: ["proxy:3128", "http://10.0.0.1:80/", "http://[::1]:3128", "HTTPS://u:p%40@proxy.internal:443"])
    func `a proxy is a host and a port`(address: String) throws {
        #expect(try loadConfiguration(["GATEWAY_APPLE_PROXY": address]).apple.proxy?.exposed == address)
    }

    @Test(arguments: [
        ("0.0.0.0", true), ("::", true), ("fe80::1%eth0", true), ("localhost", true), ("gateway-1.internal", true),
        ("0.0.0.0:8080", false), ("http://0.0.0.0", false), ("[::]", false), ("127.0.0.256", false), ("", false),
        ("a b", false), ("10.0.0.1%eth0", false),
    ])
    func `a listener has an address or a name, without a port`(host: String, isAccepted: Bool) {
        #expect(ListenerConfiguration.accepts(host: host) == isAccepted)
        let found = configurationProblems(["GATEWAY_ADMIN_HOST": host])
        let isRefused = found.first?.hasPrefix("GATEWAY_ADMIN_HOST: \"\(host)\" is not the host of a listener") == true
        // An empty variable counts as not set.
        #expect(isRefused == (!isAccepted && !host.isEmpty), "\(found)")
    }

    // MARK: - Files

    @Test(arguments: ["GATEWAY_APPLE_CA_FILE", "GATEWAY_WEBHOOKS_CA_FILE", "GATEWAY_REDIS_CA_FILE"])
    func `a file of authorities that is missing or has none is refused`(name: String) {
        var settings = Self.redis
        settings["GATEWAY_REDIS_URL"] = "rediss://h:1"
        settings[name] = "ca.pem"
        #expect(configurationProblems(settings) == ["\(name): ca.pem does not exist"])
        for text in ["", "no certificate\n"] {
            #expect(
                configurationProblems(settings, files: ["ca.pem": text]) == [
                    "\(name): ca.pem contains no PEM certificate (no line '-----BEGIN CERTIFICATE-----')"
                ])
        }
        let pem = ForgedPKI(seed: 1).rootPEM
        for label in ["CERTIFICATE", "TRUSTED CERTIFICATE", "X509 CERTIFICATE"] {
            #expect(configurationProblems(settings, files: ["ca.pem": pem.replacing("CERTIFICATE", with: label)]) == [])
        }
    }

    @Test func `a relative path in a file begins at the file's folder, in the environment at the working directory`()
        throws
    {
        let pem = ForgedPKI(seed: 1).rootPEM
        let file = """
            gateway:
              clients_file: clients.yaml
              api_key_pepper_file: secrets/pepper
              trust_roots: [roots/a.pem, /etc/b.pem=Xcode]
              apple: {ca_file: /etc/ca.pem}
            """
        let clients = "clients: []\napps: [{bundle_id: a, shared_secret_file: secrets/a}]\n"
        let files = [
            "etc/gateway.yaml": file, "etc/clients.yaml": clients, "etc/secrets/a": "0123456789abcdef",
            "etc/secrets/pepper": "0123456789abcdef", "etc/roots/a.pem": pem, "/etc/b.pem": pem, "/etc/ca.pem": pem,
            "ca.pem": pem,
        ]
        let configuration = try loadConfiguration(
            ["GATEWAY_WEBHOOKS_CA_FILE": "ca.pem"], files: files, path: "etc/gateway.yaml")
        #expect(configuration.clientsFile == "etc/clients.yaml" && configuration.apple.caFile == "/etc/ca.pem")
        #expect(configuration.trustRoots.map(\.path) == ["etc/roots/a.pem", "/etc/b.pem"])
        #expect(configuration.webhooks.caFile == "ca.pem")
    }

    @Test func `a missing clients file names its setting`() {
        let settings = ["GATEWAY_API_KEY_PEPPER": "0123456789abcdef", "GATEWAY_CLIENTS_FILE": "/clients.yaml"]
        #expect(configurationProblems(settings) == ["GATEWAY_CLIENTS_FILE: /clients.yaml does not exist"])
    }

    @Test(arguments: ["0123456789abcdef0123456789abcdef", "/0123456789abcdef0123456789abcde="])
    func `a secret in place of its file is not shown`(secret: String) {
        #expect(
            configurationProblems(["GATEWAY_API_KEY_PEPPER_FILE": secret]) == [
                "GATEWAY_API_KEY_PEPPER_FILE: the file does not exist"
            ])
        #expect(
            configurationProblems(["GATEWAY_API_KEY_PEPPER_FILE": "/run/pepper"])
                == ["GATEWAY_API_KEY_PEPPER_FILE: /run/pepper does not exist"])
    }

    @Test(arguments: [
        ("redis: {url_file: \"redis://:hunter2@h:1\"}", "redis.url_file"),
        ("api_key_pepper_file: hunter2hunter2hunter2", "api_key_pepper_file"),
    ])
    func `a secret in place of its file is not shown beside the folder of the configuration`(
        setting: String, name: String
    ) {
        let path = "/etc/gateway.yaml"
        let fault = #expect(throws: ConfigurationProblems.self) {
            try loadConfiguration(files: [path: "gateway:\n  \(setting)\n"], path: path)
        }
        #expect(
            fault?.problems.map(\.description) == [
                "gateway.\(name) (\(path):2): the file in the folder of \(path) does not exist"
            ])
    }

    @Test func `a private key in place of its file is not shown`() {
        let key = "-----BEGIN PRIVATE KEY-----\nhunter2\n-----END PRIVATE KEY-----\n"
        let settings = ["GATEWAY_REDIS_URL": "rediss://h:1", "GATEWAY_CACHE_KEYS": Self.key]
        let found = configurationProblems(settings.merging(["GATEWAY_REDIS_KEY_FILE": key]) { $1 }, files: ["a": "b"])
        #expect(found.contains("GATEWAY_REDIS_KEY_FILE: the file does not exist"), "\(found)")
        #expect(!found.joined().contains("hunter2"))
    }

    @Test func `a file without an end is refused`() throws {
        let fault = #expect(throws: FileFault.self) { try TextFile.read("/dev/zero") }
        #expect(fault?.description == "is larger than \(TextFile.maximumBytes) bytes")
    }

    @Test func `the mark at the beginning of a file is no part of a secret`() throws {
        let folder = try TemporaryFolder()
        let file = try folder.write("\u{FEFF}0123456789abcdef\r\n", to: "marked")
        #expect(try TextFile.read(file).withoutLineEnds == "0123456789abcdef")
    }

    @Test func `a folder is no file, and a relative path is named with the working directory`() throws {
        let folder = FileManager.default.temporaryDirectory.path
        let fault = #expect(throws: FileFault.self) { try TextFile.read(folder) }
        #expect(fault?.description == "is a directory; name a file in it")
        let relative = #expect(throws: FileFault.self) { try TextFile.read("no-such-file.yaml") }
        let current = FileManager.default.currentDirectoryPath
        #expect(relative?.description == "does not exist (working directory: \(current))")
    }

    @Test(.disabled(if: geteuid() == 0, "root may read every file"))
    func `a file without permission is told from a missing file`() throws {
        let folder = try TemporaryFolder(), file = try folder.write("", to: "unreadable")
        try FileManager.default.setAttributes([.posixPermissions: 0], ofItemAtPath: file)
        let fault = #expect(throws: FileFault.self) { try TextFile.read(file) }
        #expect(fault?.description.hasPrefix("may not be read by this process (user ID ") == true)
    }

    // MARK: - Commands

    @Test(arguments: [
        (["sevre"], "sevre is no command; did you mean `receipt-gateway serve`?"),
        (["help", "doctr"], "doctr is no command; did you mean `receipt-gateway doctor`?"),
        (["check-confg", "--config", "x"], "check-confg is no command; did you mean `receipt-gateway check-config`?"),
        (["events", "lst"], "lst is no command; did you mean `receipt-gateway events list`?"),
        (
            ["etc/gateway.yaml"],
            "etc/gateway.yaml is no command; to run the gateway with this file: receipt-gateway serve --config "
                + "etc/gateway.yaml"
        ),
    ])
    func `a misspelt command has a hint`(arguments: [String], fault: String) {
        #expect(ReceiptGateway.commandFault(in: arguments) == fault)
    }

    @Test func `an unknown command has the list of commands`() throws {
        let fault = try #require(ReceiptGateway.commandFault(in: ["start-everything"]))
        #expect(fault.hasPrefix("start-everything is no command; the commands are serve, init, check-config, doctor, "))
    }

    @Test(arguments: [
        [], ["serve"], ["--config", "x"], ["serve", "--config", "x"], ["help"], ["help", "events", "list"], ["--help"],
        ["events"], ["events", "--help"], ["hash-key", "--import"], ["---completion", "serve"],
    ])
    func `commands and options are left to the parser`(arguments: [String]) {
        #expect(ReceiptGateway.commandFault(in: arguments) == nil)
    }
}
