// SPDX-License-Identifier: Apache-2.0

import Customers
import Redis
import Testing

@testable import Clients
@testable import RedisStore
@testable import ServerTestSupport
@testable import Settings

@Suite("The webhooks in the clients file")
struct WebhooksFileTests {
    private static let key = WebhookSamples.key
    private static let otherKey = WebhookSamples.otherKey
    private static let signingKey = WebhookSamples.signingKey
    private static let url = "url: https://shop.example.com/hooks"
    private static let webhook = "{name: a, \(url), secrets: [\(key)]}"
    private static let files = ["/run/key": key + "\n", "/run/empty": "", "/run/public": "whpk_" + key.dropFirst(6)]

    // MARK: - Endpoints

    @Test func `an endpoint has all that its client has, unless it says less`() throws {
        let endpoint = try #require(try endpoints("- {name: billing, \(Self.url), secrets: [\(Self.key)]}").first)
        let key = try WebhookKey(Self.key)
        #expect(
            endpoint
                == WebhookEndpoint(
                    name: "shop/billing", apps: ["com.example.a", "com.example.b"],
                    url: "https://shop.example.com/hooks",
                    keys: [key]))
        #expect(endpoint.types == nil && endpoint.stream == .events && !endpoint.includesSignedData)
    }

    @Test func `an endpoint may take less`() throws {
        let endpoint = try #require(
            try endpoints(
                """
                - name: billing
                  \(Self.url)
                  key_files: [/run/key]
                  apps: [com.example.b]
                  types: [subscription.renewed, purchase.*, unknown]
                  signed_data: true
                """
            ).first)
        #expect(endpoint.apps == ["com.example.b"] && endpoint.includesSignedData)
        #expect(
            endpoint.types == [
                .subscriptionRenewed, .purchaseCompleted, .purchaseRefunded, .purchaseRefundReversed, .unknown,
            ])
        #expect(endpoint.keys == [try WebhookKey(Self.key)])
    }

    @Test func `a wildcard stands for all types that begin so, and for no others`() throws {
        let types = try endpoints("- {\(Self.named), \(Self.signed), types: [subscription.*]}").map(\.types)
        #expect(types == [Set(EventType.allCases.filter { $0.rawValue.hasPrefix("subscription.") })])
    }

    @Test func `a relay needs no key, and may have one`() throws {
        let found = try endpoints(
            """
            - {name: plain, \(Self.url), stream: relay}
            - {name: signed, \(Self.url), stream: relay, secrets: [\(Self.key)]}
            """)
        #expect(found.map(\.stream) == [.relay, .relay] && found.map(\.keys.count) == [0, 1])
    }

    @Test func `two keys of each kind sign, and the first is the newest`() throws {
        let keys = [Self.otherKey, Self.signingKey, Self.key]
        let endpoints = try endpoints("- {\(Self.named), secrets: [\(keys.joined(separator: ", "))]}")
        let expected = try keys.map { try WebhookKey($0) }
        #expect(endpoints.map(\.keys) == [expected])
    }

    @Test func `a client for any app names the apps of its webhooks, and notifications of them are accepted`() throws {
        let file = try read("- {\(Self.named), \(Self.signed), apps: [com.example.z]}", apps: #""*""#)
        #expect(file.webhooks.map(\.apps) == [["com.example.z"]])
        let access = Access(AccessRules(clients: file.clients, webhooks: file.webhooks))
        #expect(access.servesApp("com.example.z") && !access.servesApp("com.example.y"))
    }

    @Test func `the same name at two clients is two endpoints`() throws {
        let text = ["one", "two"].map { "- {name: \($0), apps: [x], keys: [], webhooks: [\(Self.webhook)]}\n" }.joined()
        let file = try ClientsFile("clients:\n" + text)
        #expect(file.webhooks.map(\.name) == ["one/a", "two/a"])
    }

    @Test func `plain HTTP is a setting`() throws {
        let webhooks = "- {name: a, url: http://10.0.0.1:8080/, secrets: [\(Self.key)]}"
        #expect(try read(webhooks, allowsPlainWebhooks: true).webhooks.map(\.url) == ["http://10.0.0.1:8080/"])
        let fault = "url must begin with https://, unless gateway.webhooks.allow_http is true"
        #expect(problems(webhooks) == ["clients.yaml:6: \(fault)"])
    }

    // MARK: - Faults

    @Test(arguments: faults)
    func `a fault is named with its line`(_ webhook: String, _ fault: String) {
        let problems = problems("- {\(webhook)}")
        #expect(problems.count == 1 && problems.first?.hasPrefix("clients.yaml:6: \(fault)") == true, "\(problems)")
    }

    private static let signed = "secrets: [\(key)]"
    private static let named = "name: a, \(url)"
    private static let faults = [
        ("\(url), \(signed)", "name is missing"),
        ("name: a b, \(url), \(signed)", "name must be up to 40 letters, digits and any of .-_"),
        ("name: a/b, \(url), \(signed)", "name must be up to 40"),
        ("name: \(String(repeating: "n", count: 41)), \(url), \(signed)", "name must be up to 40"),
        ("name: a, \(signed)", "url is missing"),
        ("\(named), \(signed), colour: red", "a name is not a field here"),
        (named, "a webhook for events needs secrets or key_files"),
        ("\(named), secrets: []", "a list of keys must not be empty"),
        ("\(named), secrets: [\(key)], key_files: [/run/key]", "secrets and key_files are both set; set only one"),
        ("\(named), secrets: [\(key), \(key)]", "the same key is there twice"),
        ("\(named), secrets: [0123456789abcdef]", "a key of secrets begins with neither"),
        ("\(named), key_files: [/run/none]", "the file /run/none of key_files does not exist"),
        ("\(named), key_files: [none]", "the file of key_files does not exist"),
        ("\(named), key_files: [/run/empty]", "the key in a file of key_files begins with neither"),
        ("\(named), key_files: [/run/public]", "the key in a file of key_files is a public key"),
        ("\(named), \(signed), stream: both", "stream takes events, relay"),
        ("\(named), \(signed), apps: []", "apps of a webhook must be a list of bundle IDs"),
        ("\(named), \(signed), apps: ['*']", "\"*\" is no app: list the bundle IDs of a webhook"),
        ("\(named), \(signed), apps: [com.example.c]", "the client may not use the app com.example.c: add it to apps"),
        ("\(named), \(signed), types: []", "types must not be empty"),
        (
            "\(named), \(signed), types: [subscription.renewd]",
            "subscription.renewd is no type of events; did you mean subscription.renewed?"
        ),
        ("\(named), \(signed), types: ['*']", "* is no type of events"),
        ("\(named), \(signed), types: [refund.*]", "refund.* is no type of events"),
        ("\(named), \(signed), types: ['.*']", ".* is no type of events"),
        ("\(named), \(signed), signed_data: yes please", "signed_data takes true or false"),
        ("\(named), stream: relay, types: [unknown]", "types is for events"),
        ("\(named), stream: relay, signed_data: true", "signed_data is for events"),
    ]

    @Test(arguments: [
        ("shop.example.com/hooks", "must begin with https://"), ("ftp://shop.example.com/", "must begin with https://"),
        ("https:/shop", "must begin with https://"), ("https://", "must have a host"),
        ("https:///path", "must have a host"), ("https://:443/", "must have a host"),
        ("https://user@shop.example.com/", "must not have a user name or password"),
        ("https://user:key@shop.example.com/", "must not have a user name or password"),
        ("https://shop.example.com/#top", "must not have a fragment"),
        ("https://shop.example.com/a b", "must hold up to 2048 visible ASCII characters"),
        ("https://shöp.example.com/", "must hold up to 2048 visible ASCII characters"),
        ("https://shop.example.com/\(String(repeating: "x", count: 2048))", "must hold up to 2048 visible"),
    ])
    func `a URL that cannot be used is a fault, and not shown`(_ url: String, _ fault: String) {
        let problems = problems("- {name: a, url: '\(url)', secrets: [\(Self.key)]}")
        #expect(problems.count == 1 && problems.first?.hasPrefix("clients.yaml:6: url \(fault)") == true, "\(problems)")
        #expect(!problems.joined().contains("example"))
    }

    @Test(arguments: [
        "https://shop.example.com", "HTTPS://shop.example.com:8443/a?b=c", "https://[2001:db8::1]/",
        "https://shop.example.com/me@home",
    ])
    func `a URL that can be used stays as it is`(_ url: String) throws {
        #expect(try endpoints("- {name: a, url: '\(url)', secrets: [\(Self.key)]}").map(\.url) == [url])
    }

    @Test func `a third key of a kind is one too many`() {
        let keys = [Self.key, Self.otherKey, WebhookSamples.thirdKey].joined(separator: ", ")
        #expect(
            problems("- {\(Self.named), secrets: [\(keys)]}") == [
                "clients.yaml:6: a webhook has 2 keys of each kind (whsec_, whsk_) at most"
            ])
    }

    @Test func `no part of a key is shown`() {
        for key in ["whsec_c2hvcnQ=", "whsk_\(Self.key.dropFirst(6))", String(Self.key.dropFirst(3))] {
            let problems = problems("- {name: a, \(Self.url), secrets: [\(key)]}")
            #expect(problems.count == 1 && !problems.joined().contains(key.suffix(5)), "\(problems)")
        }
        let misplaced = problems("- {name: a, \(Self.url), \(Self.key): 1}")
        #expect(!misplaced.joined().contains(Self.key))
        let file = try? read("- \(Self.webhook)")
        var shown = "\(String(describing: file?.webhooks))"
        dump(file?.webhooks, to: &shown)
        #expect(shown.contains("shop/a") && !shown.contains(Self.key.suffix(10)))
    }

    @Test func `a name is used once by a client`() {
        let problems = problems("- \(Self.webhook)\n- \(Self.webhook)")
        #expect(problems == ["clients.yaml:7: the webhook shop/a appears twice"])
    }

    @Test func `all clients together have a bounded number of webhooks`() throws {
        let maximum = ClientsFile.WebhookBounds.endpoints
        func list(_ count: Int) -> String {
            (0..<count).map { "- {name: a\($0), \(Self.url), secrets: [\(Self.key)]}\n" }.joined()
        }
        #expect(try endpoints(list(maximum)).count == maximum)
        #expect(problems(list(maximum + 1)).map { $0.hasSuffix("have \(maximum) webhooks at most") } == [true])
    }

    @Test func `a client for any app needs to name them, and one of the form API to be a client with keys`() {
        #expect(
            problems("- \(Self.webhook)", apps: #""*""#)
                == ["clients.yaml:6: a webhook of a client for any app needs apps: a list of bundle IDs"])
        let form = "clients: [{name: a, form: {keys: [], apps: []}, webhooks: []}]"
        let found = configurationProblems(reading: { try ClientsFile(form) })
        #expect(found.first?.contains("webhooks needs apps and keys") == true)
    }

    // MARK: - Without Redis

    @Test func `webhooks without Redis are a fault, unless everything may end with the process`() throws {
        let rules = AccessRules(webhooks: try endpoints("- \(Self.webhook)"))
        var configuration = GatewayConfiguration()
        #expect(configuration.webhookFault(rules)?.advice.contains("gateway.redis.url") == true)
        #expect(configuration.webhookFault(AccessRules()) == nil)
        configuration.notifications.allowsVolatile = true
        #expect(configuration.webhookFault(rules) == nil)
        configuration.notifications.allowsVolatile = false
        configuration.redis.url = try RedisURL("redis://127.0.0.1")
        #expect(configuration.webhookFault(rules) == nil)
    }

    // MARK: - Support

    private func endpoints(_ webhooks: String) throws(ConfigurationProblems) -> [WebhookEndpoint] {
        try read(webhooks).webhooks
    }

    /// Reads a file with one client, whose webhooks begin on line 6.
    private func read(
        _ webhooks: String, apps: String = "[com.example.a, com.example.b]", allowsPlainWebhooks: Bool = false
    ) throws(ConfigurationProblems) -> ClientsFile {
        let lines = webhooks.split(separator: "\n").map { "  \($0)\n" }.joined()
        return try ClientsFile(
            "clients:\n- name: shop\n  apps: \(apps)\n  keys: []\n  webhooks:\n\(lines)", files: Self.files,
            allowsPlainWebhooks: allowsPlainWebhooks)
    }

    private func problems(_ webhooks: String, apps: String = "[com.example.a, com.example.b]") -> [String] {
        configurationProblems(reading: { try read(webhooks, apps: apps) })
    }
}
