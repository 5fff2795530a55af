// SPDX-License-Identifier: Apache-2.0

import AppStore
import Cryptography
import Customers
import HTTPClient
import ReceiptForge
import Receipts
import Testing
import TestSupport

@testable import Clients
@testable import HTTPServer
@testable import ServerTestSupport
@testable import Settings
@testable import Telemetry

@Suite("Reading the configuration")
struct ConfigurationLoaderTests {
    /// Empty variables, and variables that Kubernetes sets for a service, set nothing.
    @Test(arguments: [
        [:], ["GATEWAY_HTTP_PORT": "", "GATEWAY_HTPT": ""],
        [
            "GATEWAY_SERVICE_HOST": "10.0.0.1", "GATEWAY_SERVICE_PORT_HTTP": "80", "GATEWAY_PORT": "tcp://10.0.0.1:80",
            "GATEWAY_PORT_80_TCP_ADDR": "10.0.0.1",
        ],
    ])
    func `nothing set gives the defaults`(environment: [String: String]) throws {
        #expect(try loadConfiguration(environment) == GatewayConfiguration())
    }

    @Test func `the environment overrides the file, the file the default`() throws {
        let file = "gateway:\n  http:\n    port: 1\n    limits:\n      body: 1MiB\n  log: {requests: sampled}\n"
        let configuration = try loadConfiguration(["GATEWAY_HTTP_PORT": "2"], file: file)
        #expect(configuration.http.listener.port == 2)
        #expect(configuration.http.limits.body == .mebibytes(1))
        #expect(configuration.log.values.requests == .sampled)
        #expect(configuration.admin.port == 9090)
    }

    @Test func `a JSON file is read as well`() throws {
        let configuration = try loadConfiguration(
            file: #"{"gateway": {"http": {"port": 81}, "trust_roots": ["a.pem", "b.pem"]}}"#,
            files: ["a.pem": Self.pem, "b.pem": Self.pem])
        #expect(configuration.http.listener.port == 81)
        #expect(configuration.trustRoots.map(\.path) == ["a.pem", "b.pem"])
    }

    @Test(arguments: ConfigurationKeys.all.map(\.name))
    func `every default is a value its key accepts`(name: String) throws {
        let key = try #require(ConfigurationKeys.all.first { $0.name == name })
        var configuration = GatewayConfiguration()
        guard !key.defaultText.isEmpty, !key.isSecret else { return }
        try key.set(&configuration, key.defaultText)
        #expect(configuration == GatewayConfiguration())
    }

    @Test func `every key has a unique name`() {
        let names = ConfigurationKeys.all.map(\.environmentName)
        #expect(Set(names).count == names.count)
    }

    @Test(arguments: faults)
    func `a fault names its location and the accepted values`(name: String, text: String, fault: String) {
        let problems = configurationProblems([name: text])
        #expect(problems.first?.hasPrefix("\(name): \(fault)") == true, "\(problems)")
    }

    @Test func `a body may not be larger than all bodies together`() {
        let problems = configurationProblems(["GATEWAY_HTTP_LIMITS_BODIES_IN_FLIGHT": "1MiB"])
        let fault = "gateway.http.limits.body: is 12MiB, more than the limit for all bodies together"
        #expect(problems.first?.hasPrefix(fault) == true, "\(problems)")
    }

    @Test func `a fault in the file has its line`() {
        let file = "gateway:\n  http:\n    port: many\n    prot: 1\nother: 2\n"
        #expect(
            configurationProblems(file: file) == [
                "gateway.http.port (gateway.yaml:3): \"many\" is not an integer; accepted: an integer, from 0 to 65535",
                "gateway.http.prot (gateway.yaml:4): is not a setting of the gateway; did you mean gateway.http.port?",
                "other (gateway.yaml:5): is not a setting of the gateway",
            ])
    }

    @Test func `all problems are reported at once`() {
        let environment = [
            "GATEWAY_HTTP_PORT": "x", "GATEWAY_ADMIN_PORT": "70000", "GATEWAY_LOG_LEVLE": "info",
            "GATEWAY_CLIENTS_FILE": "clients.yaml", "GATEWAY_TRUST_ROOTS": "missing.pem",
        ]
        #expect(configurationProblems(environment).count == 6)
    }

    @Test func `a fault among the apps' secrets is found without starting`() {
        let clients = "clients: []\napps:\n- {bundle_id: a, shared_secret_file: gone}\n"
        let environment = ["GATEWAY_CLIENTS_FILE": "clients.yaml", "GATEWAY_API_KEY_PEPPER": "0123456789abcdef"]
        #expect(
            configurationProblems(environment, files: ["clients.yaml": clients])
                == ["clients.yaml:3: the file of shared_secret_file does not exist"])
        let elsewhere = environment.merging(["GATEWAY_CLIENTS_FILE": "etc/clients.yaml"]) { $1 }
        #expect(
            configurationProblems(elsewhere, files: ["etc/clients.yaml": clients]) == [
                "etc/clients.yaml:3: the file of shared_secret_file in the folder of etc/clients.yaml does not exist"
            ])
    }

    @Test func `the hosts and shares of the App Store Server API are read`() throws {
        let configuration = try loadConfiguration(
            ["GATEWAY_APPLE_SERVER_API_LOOKUP_SHARE": "1"],
            file: """
                gateway:
                  apple:
                    server_api:
                      production_url: https://proxy.internal:8443/storekit
                      sandbox_url: http://127.0.0.1:8081
                      budget_share: 0.25
                """)
        let api = configuration.apple.serverAPI
        #expect(api.productionURL.text == "https://proxy.internal:8443/storekit")
        #expect(api.productionURL.host == "proxy.internal" && api.sandboxURL.host == "127.0.0.1")
        #expect(api.budget.share == 0.25 && api.budget.lookupShare == 1)
        let defaults = GatewayConfiguration().apple.serverAPI
        #expect(defaults.productionURL.text == "https://api.storekit.apple.com")
        #expect(defaults.sandboxURL.text == "https://api.storekit-sandbox.apple.com")
        #expect(defaults.budget.share == 0.9 && defaults.budget.lookupShare == 0.3)
    }

    @Test(arguments: ["production", "sandbox"])
    func `a host of the App Store Server API on this machine allows plain HTTP and private addresses`(
        environment: String
    ) throws {
        let name = "GATEWAY_APPLE_SERVER_API_\(environment.uppercased())_URL"
        let transport = TransportConfiguration(try loadConfiguration([name: "http://127.0.0.1:8081"]).apple)
        #expect(transport.allowsPlainHTTP && transport.allowsPrivateAddresses)
        let ordinary = TransportConfiguration(GatewayConfiguration().apple)
        #expect(!ordinary.allowsPlainHTTP && !ordinary.allowsPrivateAddresses)
        #expect(ordinary.maximumRequests == 4 * GatewayConfiguration().apple.concurrency)
    }

    @Test func `the settings of notifications are read, and the token is not shown`() throws {
        let token = "a-Token_of-sixteen-characters"
        let configuration = try loadConfiguration(
            ["GATEWAY_NOTIFICATIONS_TOKEN_FILE": "token"],
            file: "gateway: {notifications: {backlog: 1GiB, replicas: 2, allow_volatile: true, recovery_interval: 5m}}",
            files: ["token": "\(token)\n"])
        let notifications = configuration.notifications
        #expect(notifications.token?.matches(token) == true && notifications.token?.matches("\(token)\n") == false)
        #expect(notifications.backlog == .mebibytes(1024) && notifications.replicas == 2)
        #expect(notifications.allowsVolatile && notifications.recoveryInterval == .seconds(300))
        var shown = configuration.effectiveText + "\(configuration) \(String(reflecting: configuration))"
        dump(configuration, to: &shown)
        #expect(!shown.contains(token) && shown.contains("gateway.notifications.token: \(Secret.redacted)"))
    }

    @Test func `the settings of events and webhooks are read`() throws {
        let configuration = try loadConfiguration(
            ["GATEWAY_WEBHOOKS_CONCURRENCY": "4"],
            file: """
                gateway:
                  events: {max_count: 5000, max_age: 30d, max_relay_bytes: 2GiB, keep_signed_data: true, expiry_delay: 30m}
                  webhooks:
                    allow_private_addresses: true
                    allow_http: true
                    ca_file: authorities.pem
                    proxy: http://user:hunter2@proxy:3128
                    timeout: 20s
                """, files: ["authorities.pem": Self.pem])
        let events = configuration.events, webhooks = configuration.webhooks
        #expect(events.retention.maximumCount == 5000 && events.retention.maximumAge == .seconds(30 * 86_400))
        #expect(events.retention.maximumRelayBytes == 2 << 30)
        #expect(events.rules.keepsSignedData && events.rules.expiryDelay == .seconds(1800))
        #expect(webhooks.timeout == .seconds(20) && webhooks.concurrency == 4)
        let transport = TransportConfiguration(webhooks)
        #expect(transport.allowsPlainHTTP && transport.allowsPrivateAddresses)
        #expect(transport.caFile == "authorities.pem" && transport.proxy == "http://user:hunter2@proxy:3128")
        #expect(configuration.effectiveText.contains("gateway.webhooks.proxy: http://<redacted>@proxy:3128\n"))
        let defaults = TransportConfiguration(WebhooksConfiguration())
        #expect(!defaults.allowsPlainHTTP && !defaults.allowsPrivateAddresses && defaults.proxy == nil)
    }

    @Test(arguments: [
        ("HTTP_PORT", ["65536"]), ("HTTP_DEADLINES_IDLE", ["2h"]), ("APPLE_SERVER_API_BUDGET_SHARE", ["1.01"]),
        ("APPLE_SERVER_API_LOOKUP_SHARE", ["-0.3", "nan"]), ("NOTIFICATIONS_BACKLOG", ["1023KiB"]),
        ("NOTIFICATIONS_REPLICAS", ["9"]), ("NOTIFICATIONS_RECOVERY_INTERVAL", ["59s"]),
        ("EVENTS_MAX_COUNT", ["999", "10000001"]), ("EVENTS_MAX_RELAY_BYTES", ["63MiB"]),
        ("EVENTS_MAX_AGE", ["59m", "366d"]), ("EVENTS_EXPIRY_DELAY", ["59s", "8d"]),
        ("WEBHOOKS_TIMEOUT", ["999ms", "61s"]), ("WEBHOOKS_CONCURRENCY", ["0", "257"]),
        ("JOBS_MAX_AGE", ["59s", "31d"]), ("JOBS_RETENTION", ["401d"]), ("JOBS_MAX_COUNT", ["0"]),
        ("JOBS_MAX_BYTES", ["1KiB"]), ("JOBS_MAX_TOTAL_BYTES", ["1KiB"]),
    ])
    func `a setting has bounds`(setting: String, beyond: [String]) {
        for text in beyond {
            let name = "GATEWAY_\(setting)", problems = configurationProblems([name: text])
            #expect(problems.count == 1, "\(problems)")
            #expect(problems.first?.hasPrefix("\(name): \"\(text)\" is out of range") == true, "\(problems)")
        }
    }

    @Test(arguments: [
        (String(repeating: "x", count: 15), "the token is too short or too long"),
        (String(repeating: "x", count: 129), "the token is too short or too long"),
        ("sixteen characters?", "the token has other characters"), ("sixteen/characters", "the token has other char"),
        ("sechzehn-Zeichen-ä", "the token has other characters"),
    ])
    func `a token that does not suit a path is refused, and not shown`(token: String, fault: String) {
        let problems = configurationProblems(["GATEWAY_NOTIFICATIONS_TOKEN": token])
        #expect(problems.count == 1 && problems[0].hasPrefix("GATEWAY_NOTIFICATIONS_TOKEN: \(fault)"), "\(problems)")
        #expect(!problems.joined().contains(token))
    }

    @Test func `a host the network reaches needs clients, and the problem says what to do`() throws {
        let problem = try #require(configurationProblems(["GATEWAY_HTTP_HOST": "0.0.0.0"]).first)
        for word in ["0.0.0.0", "hash-key", "GATEWAY_CLIENTS_FILE", "127.0.0.1"] { #expect(problem.contains(word)) }
    }

    @Test(arguments: [
        ("127.0.0.1", true), ("127.1.2.3", true), ("::1", true), ("localhost", true), ("0.0.0.0", false),
        ("::", false), ("10.0.0.1", false), ("127.0.0.1.example.com", false), ("localhost.example.com", false),
        ("127.0.0.256", false), ("", false), ("::ffff:127.0.0.1", true), ("0:0:0:0:0:0:0:1", true),
        ("127.0.0.01", false), ("127.000.0.1", false), ("128.0.0.1", false), ("::2", false),
        ("::ffff:10.0.0.1", false), ("2001:db8::1", false),
    ])
    func `loopback is what only this machine reaches`(host: String, isLoopback: Bool) {
        #expect(Loopback.contains(host) == isLoopback)
    }

    @Test func `a secret may come from a file with a line end`() throws {
        let configuration = try loadConfiguration(
            ["GATEWAY_API_KEY_PEPPER_FILE": "pepper"], files: ["pepper": "0123456789abcdef\n"])
        #expect(configuration.apiKeyPepper?.exposed == "0123456789abcdef")
    }

    @Test(arguments: [
        ("http://proxy:3128", "http://proxy:3128"), ("http://user:hunter2@proxy:3128", "http://<redacted>@proxy:3128"),
        ("user:p%40ss@proxy:3128", "<redacted>@proxy:3128"),
    ])
    func `the password of a proxy is never shown`(_ address: String, _ shown: String) throws {
        let configuration = try loadConfiguration(["GATEWAY_APPLE_PROXY": address])
        #expect(configuration.effectiveText.contains("gateway.apple.proxy: \(shown)\n"))
        #expect(!String(reflecting: configuration).contains("hunter2"))
        #expect(configuration.apple.proxy?.exposed == address)
    }

    @Test func `a secret is never shown`() throws {
        let configuration = try loadConfiguration(["GATEWAY_API_KEY_PEPPER": "0123456789abcdef"])
        #expect(configuration.effectiveText.contains("gateway.api_key_pepper: <redacted>\n"))
        #expect(!configuration.effectiveText.contains("0123456789abcdef"))
        #expect(!"\(configuration)".contains("0123456789abcdef"))
        #expect(!String(reflecting: configuration).contains("0123456789abcdef"))
        #expect(!configurationProblems(["GATEWAY_API_KEY_PEPPER": "tooshort"]).joined().contains("tooshort"))
    }

    @Test func `a missing pepper may be in the file that was not named`() {
        let fault = #expect(throws: ConfigurationProblems.self) {
            try ConfigurationSource(environment: [:], filePath: nil).keySettings()
        }
        #expect(fault?.description.contains("--config") == true)
    }

    @Test func `both a secret and its file are a contradiction`() {
        let both = ["GATEWAY_API_KEY_PEPPER": "0123456789abcdef", "GATEWAY_API_KEY_PEPPER_FILE": "pepper"]
        #expect(
            configurationProblems(both) == ["GATEWAY_API_KEY_PEPPER: is set, and so is its _file variant; set only one"]
        )
    }

    @Test func `a secret in the environment wins over the file, whichever form each has`() throws {
        let pepper = "0123456789abcdef0123456789abcdef", files = ["pepper": "\(pepper)\n", "other": "ignored"]
        let inFile = try loadConfiguration(
            ["GATEWAY_API_KEY_PEPPER": pepper], file: "gateway: {api_key_pepper_file: other}", files: files)
        #expect(inFile.apiKeyPepper?.exposed == pepper)
        let asText = try loadConfiguration(
            ["GATEWAY_API_KEY_PEPPER_FILE": "pepper"], file: "gateway: {api_key_pepper: ignored}", files: files)
        #expect(asText.apiKeyPepper?.exposed == pepper)
        let traces = try loadConfiguration(
            ["OTEL_EXPORTER_OTLP_HEADERS": "a=b"],
            file: "gateway: {traces: {endpoint: 'http://127.0.0.1:4318/v1/traces', headers_file: other}}", files: files)
        #expect(traces.traces.headers != nil)
    }

    @Test func `a variable names the file, and the command line wins`() throws {
        let files = ["a.yaml": "gateway: {http: {port: 8081}}", "b.yaml": "gateway: {http: {port: 8082}}"]
        let environment = ["GATEWAY_CONFIG_FILE": "a.yaml"]
        #expect(try loadConfiguration(environment, files: files).http.listener.port == 8081)
        #expect(try loadConfiguration(environment, files: files, path: "b.yaml").http.listener.port == 8082)
        #expect(try loadConfiguration(["GATEWAY_CONFIG_FILE": ""], files: files).http.listener.port == 8080)
    }

    @Test func `a file that is missing or broken is reported where it is named`() {
        let environment = ["GATEWAY_CONFIG_FILE": "a.yaml"]
        #expect(configurationProblems(environment) == ["GATEWAY_CONFIG_FILE: a.yaml does not exist"])
        #expect(configurationProblems(environment, path: "b.yaml") == ["b.yaml: does not exist"])
        #expect(configurationProblems(file: "gateway: {").first?.hasPrefix("gateway.yaml: is not valid YAML") == true)
        #expect(
            configurationProblems(file: "- 1") == [
                "gateway.yaml: must be a group named gateway, with the settings indented below it"
            ])
    }

    @Test(.timeLimit(.patient), arguments: [bomb, "gateway:\n" + bomb, bomb + "? *i\n: 1\n", manyAsterisks])
    func `a text that expands to a huge tree is rejected`(text: String) {
        #expect(configurationProblems(file: text).count == 1)
        #expect(configurationProblems(file: text).first?.contains("aliases are not read") == true)
    }

    @Test func `an anchor is named with its line, an asterisk in a text is none`() {
        #expect(
            configurationProblems(file: "gateway:\n  log:\n    level: &level info\n") == [
                "gateway.yaml: has an anchor on line 3; anchors and aliases are not read"
            ])
        #expect(
            configurationProblems(file: "gateway: # *note\n  http:\n    host: '*name'\n").first?.contains("*name")
                == true)
    }

    /// Seventeen aliases, one more than the parser may see.
    private static let manyAsterisks = "a: &a 1\nb: [\(Array(repeating: "*a", count: 17).joined(separator: ", "))]\n"
    /// Nine lines that expand to 9^9 settings.
    private static let bomb =
        "a: &a 1\n"
        + zip("abcdefgh", "bcdefghi").map { inner, outer in
            "\(outer): &\(outer) {\((1...9).map { "k\($0): *\(inner)" }.joined(separator: ", "))}\n"
        }.joined()

    @Test(arguments: [
        "gateway.http.port: 1\ngateway: {http: {port: 2}}", "gateway: {http.port: 1,\n  http: {port: 2}}",
        "gateway.http: {port: 1}\ngateway: {http.port: 1}",
    ])
    func `a setting in two spellings is a contradiction`(text: String) {
        #expect(configurationProblems(file: text) == ["gateway.http.port (gateway.yaml:2): is already set on line 1"])
    }

    @Test func `a name is shown truncated and escaped`() {
        let long = String(repeating: "n", count: 1000)
        let found = configurationProblems(
            ["GATEWAY_\u{1B}[2J": "1"], file: "\"a\\e[31m\\n\\u202e\": 1\n\(long): 2\n? [x]\n: 3\n")
        #expect(
            found == [
                "gateway.yaml:3: has a name that is not a text",
                "GATEWAY_\\u{1B}[2J: is not a setting of the gateway",
                "a\\u{1B}[31m\\u{A}\\u{202E} (gateway.yaml:1): is not a setting of the gateway",
                long.prefix(100) + "… (gateway.yaml:2): is not a setting of the gateway",
            ])
    }

    @Test func `a wrong file is not printed whole`() {
        let lines = (0...ConfigurationFile.maximumEntries).map { "name\($0): 1\n" }.joined()
        let found = configurationProblems(file: lines)
        #expect(found.count == ConfigurationFile.maximumEntries + 1)
        #expect(found.first == "gateway.yaml: has more than 1000 settings")
        let shown = ConfigurationProblems(problems: found.map { ConfigurationProblem(location: $0, fault: "") })
        #expect(shown.description.hasSuffix("  and 901 more\n"))
    }

    // MARK: - Steps

    /// A variable, its value, and what is wrong with it.
    private static let faults = [
        ("GATEWAY_HTTP_PORT", "80x", "\"80x\" is not an integer; accepted: an integer, from 0 to 65535"),
        ("GATEWAY_HTTP_LIMITS_BODY", "12MB", "\"12MB\" is not a size; accepted: a size such as"),
        ("GATEWAY_HTTP_LIMITS_BODY", "99999999999GiB", "\"99999999999GiB\" is not a size"),
        ("GATEWAY_HTTP_DEADLINES_IDLE", "30", "\"30\" is not a duration: its unit is missing"),
        ("GATEWAY_HTTP_DEADLINES_IDLE", "-1s", "\"-1s\" is not a duration"),
        ("GATEWAY_LOG_REQUESTS", "yes", "\"yes\" is not accepted; accepted: none, sampled, all"),
        ("GATEWAY_LOG_LEVEL", "loud", "\"loud\" is not a log level; accepted: trace, debug, info"),
        (
            "GATEWAY_APPLE_RECEIPT_UPSTREAM", "serverapi",
            "\"serverapi\" is not accepted; accepted: verify_receipt, server_api, both"
        ),
        ("GATEWAY_TRUST_ROOTS", "a.pem=Prod", "\"Prod\" in \"a.pem=Prod\" is not an environment"),
        ("GATEWAY_TRUST_ROOTS", "missing.pem", "missing.pem does not exist"),
        (
            "GATEWAY_APPLE_SERVER_API_PRODUCTION_URL", "https://api.storekit.apple.com/",
            "paths are appended to this URL, which does not allow its end"
        ),
        ("GATEWAY_APPLE_SERVER_API_SANDBOX_URL", "https://api.storekit.apple.com?a=b", "paths are appended"),
        ("GATEWAY_APPLE_SERVER_API_SANDBOX_URL", "http://10.0.0.1", "tokens must not leave this machine without TLS"),
        ("GATEWAY_APPLE_SERVER_API_BUDGET_SHARE", "0", "\"0\" is out of range; accepted: a number, from 0.01 to 1.0"),
        ("GATEWAY_APPLE_SERVER_API_LOOKUP_SHARE", "30%", "\"30%\" is not a number"),
        ("GATEWAY_HTPT_PORT", "1", "is not a setting of the gateway; did you mean GATEWAY_HTTP_PORT?"),
        (
            "GATEWAY_PORT", "8081",
            "is not a setting of the gateway; did you mean one of GATEWAY_HTTP_PORT, GATEWAY_ADMIN_PORT?"
        ),
        ("GATEWAY_UNHEARD_OF_THINGS", "1", "is not a setting of the gateway"),
    ]

    private static let pem = ForgedPKI(seed: 1).rootPEM
}

@Suite("Configuration values")
struct ConfigurationValueTests {
    @Test(arguments: [("0", 0), ("512", 512), ("8KiB", 8192), ("12 MiB", 12 << 20), ("1GiB", 1 << 30), ("7B", 7)])
    func `sizes`(text: String, bytes: Int) throws {
        #expect(try ByteCount(configuration: text).bytes == bytes)
    }

    @Test(arguments: [(0, "0"), (512, "512"), (8192, "8KiB"), (12 << 20, "12MiB"), (1 << 30, "1GiB"), (1025, "1025")])
    func `sizes are printed with the largest unit that fits`(bytes: Int, text: String) {
        #expect(ByteCount(bytes: bytes).configurationText == text)
    }

    @Test(arguments: ["0s", "500ms", "15s", "5m", "24h", "7d", "1500ms"])
    func `durations are printed as they were written`(text: String) throws {
        #expect(try Duration(configuration: text).configurationText == (text == "24h" ? "1d" : text))
    }

    @Test func `trust roots are Sandbox unless more is written`() throws {
        let roots = try [TrustRoot](configuration: "a.pem, b.pem=Xcode+Sandbox,c.pem=Production")
        #expect(roots.map(\.path) == ["a.pem", "b.pem", "c.pem"])
        #expect(roots.map(\.environments) == [[.sandbox], [.xcode, .sandbox], [.production]])
        #expect(roots.configurationText == "a.pem=Sandbox,b.pem=Sandbox+Xcode,c.pem=Production")
    }

    @Test(arguments: [("", "abc", 3), ("kitten", "sitting", 3), ("port", "prot", 2), ("same", "same", 0)])
    func `distances between names`(source: String, target: String, edits: Int) {
        #expect(NearestName.edits(from: source.utf8, to: target.utf8) == edits)
    }
}
