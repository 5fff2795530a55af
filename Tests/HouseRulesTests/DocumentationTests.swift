// SPDX-License-Identifier: Apache-2.0

import AppStore
import Customers
import Gateway
import HTTPTypes
import Logging
import Receipts
import Testing
import Yams

@testable import HTTPServer
@testable import Operations
@testable import Server
@testable import Settings
@testable import Telemetry

/// The documentation matches the code, in both directions.
struct DocumentationTests {
    @Test func `every setting is in docs/configuration.md with its default, and nothing else is`() throws {
        let rows = try Repository.text("docs/configuration.md")
            .matches(of: /(?m)^\| `(gateway\.[a-z0-9_.]+)` \| `(GATEWAY_[A-Z0-9_]+)` \| (.*?) \|/)
        let documented = rows.map { "\($0.output.1) \($0.output.2) \($0.output.3)" }
        let declared = ConfigurationKeys.all.map { key in
            let text = key.defaultText
            return "\(key.fileName) \(key.environmentName) \(text.isEmpty ? "–" : "`\(text)`")"
        }
        #expect(documented.sorted() == declared.sorted())
    }

    /// The vocabularies of the API, with their places in docs/api.yaml.
    private static let vocabularies: [(schema: String, property: String, words: [String])] = [
        ("ReceiptRequest", "mode", Mode.allCases.filter { $0 != .appleFirst }.map(\.rawValue)),
        ("VerifyAnswer", "reason", Rejection.allCases.map(\.name) + UndecidedReason.allCases.map(\.rawValue)),
        ("VerifyAnswer", "environment", Environment.allCases.map(\.rawValue)),
        ("RejectedItem", "field", RejectedItem.List.allCases.map(\.rawValue)),
        ("Provenance", "source", Provenance.Source.allCases.map(\.rawValue)),
        ("Provenance", "cache", Provenance.Cache.allCases.map(\.rawValue)),
        ("Provenance", "degraded_reasons", DegradedReason.allCases.map(\.rawValue)),
        ("Subscription", "state", SubscriptionState.allCases.map(\.rawValue)),
        ("Subscription", "change", SubscriptionChange.allCases.map(\.rawValue)),
        ("InAppPurchase", "in_app_ownership_type", Transaction.Ownership.allCases.map(\.rawValue)),
        ("InAppPurchase", "transaction_reason", Transaction.Reason.allCases.map(\.rawValue)),
        ("InAppPurchase", "revocation", Transaction.Revocation.allCases.map(\.rawValue)),
        ("Problem", "code", Problem.Code.allCases.map(\.rawValue)),
    ]

    @Test(arguments: vocabularies)
    func `every word of an answer is in docs/api.yaml, and nothing else is`(
        schema: String, property: String, words: [String]
    ) throws {
        #expect(try Self.values(of: property, in: schema, Self.api()).sorted() == words.sorted())
    }

    /// Applies to every kind of Redis. Sentinels are other servers with other users. Only the doctor uses `INFO`, and
    /// works without it.
    @Test func `every command for Redis is in the ACL line of docs/redis.md`() throws {
        let text = try Repository.text("docs/redis.md")
        let line = try #require(text.split(separator: "\n").first { $0.hasPrefix("user gateway ") })
        let allowed = line.split(separator: " ")
        let sources = try Repository.swiftFiles(in: [
            "Sources/Redis", "Sources/RedisStore", "Sources/Operations",
        ]).map(\.text)
        let commands = sources.flatMap { $0.matches(of: #/RedisCommand\(\[?"([A-Z]+)"/#).map(\.output.1) }
        let calls = sources.flatMap { $0.matches(of: #/redis\.p?call\('([A-Z]+)'/#).map(\.output.1) }
        #expect(commands.count > 15 && calls.count > 5)
        for name in Set(commands + calls).subtracting(["SENTINEL", "INFO"]).map({ $0.lowercased() }) {
            #expect(allowed.contains { $0 == "+\(name)" || $0.hasPrefix("+\(name)|") }, "\(name)")
        }
    }

    /// Returns the description of the API.
    private static func api() throws -> [String: Any] {
        try #require(try Yams.load(yaml: Repository.text("docs/api.yaml")) as? [String: Any])
    }

    /// Returns the operations of each path, by their methods.
    private static func paths(of api: [String: Any]) throws -> [String: [String: Any]] {
        try #require(api["paths"] as? [String: [String: Any]])
    }

    private static func values(of property: String, in schema: String, _ api: [String: Any]) throws -> [String] {
        let components = try #require(api["components"] as? [String: Any])
        let schemas = try #require(components["schemas"] as? [String: Any])
        let object = try #require(schemas[schema] as? [String: Any])
        let properties = try #require(object["properties"] as? [String: Any])
        let values = try #require(properties[property] as? [String: Any])
        // The words of a list are in its elements, those that several schemas share in a schema of their own.
        let words = values["items"] as? [String: Any] ?? values
        let shared = (words["$ref"] as? String)?.split(separator: "/").last.flatMap { schemas[String($0)] }
        return try #require((shared as? [String: Any] ?? words)["enum"] as? [String])
    }

    // MARK: - Metrics

    @Test func `every metric is in docs/metrics.md with its type and labels, and nothing else is`() throws {
        let rows = try Repository.text("docs/metrics.md")
            .matches(of: /(?m)^\| `([a-z_]+)` \| (counter|gauge|histogram) \| (.*?) \| .+ \| .+ \|$/)
        let documented = rows.map { "\($0.output.1) \($0.output.2) \($0.output.3)" }
        let declared = (MetricCatalogue.all + [PrometheusRegistry.undeclared]).map { family in
            let labels = family.labelNames.map { "`\($0)`" }.joined(separator: ", ")
            return "\(family.name) \(Self.typeName(of: family.kind)) \(labels.isEmpty ? "–" : labels)"
        }
        #expect(documented.sorted() == declared.sorted())
    }

    @Test func `every reason of a failed delivery is in docs/metrics.md`() throws {
        let text = try Repository.text("docs/metrics.md")
        let row = try #require(
            text.split(separator: "\n").first { $0.hasPrefix("| `receipt_gateway_webhook_failures") })
        for fault in DeliveryFault.allCases { #expect(row.contains("`\(fault.rawValue)`"), "\(fault)") }
    }

    @Test func `every label is in docs/metric-labels.md with its values, and nothing else is`() throws {
        let rows = try Repository.text("docs/metric-labels.md").matches(of: /(?m)^\| `([a-z_]+)` \| ([^|]+) \|$/)
        let documented = rows.map { "\($0.output.1) \($0.output.2)" }
        var declared = Set(MetricCatalogue.all.flatMap(Self.labels))
        // Their values are documented elsewhere.
        declared = declared.filter { !$0.hasPrefix("rule ") && $0 != "version `\(Version.current)`" }
        declared.formUnion([
            "rule every `reason` of a rejection in [api.yaml](api.yaml)", "version the version of the gateway",
            "key_id every `key_id` in the clients file", "bundle_id the apps in the clients file",
            "endpoint the webhooks in the clients file, as `CLIENT/NAME`",
        ])
        #expect(documented.sorted() == declared.sorted())
    }

    private static func labels(of family: MetricFamily) -> [String] {
        // Their values are the operator's.
        guard !family.isReadAtScrape else { return [] }
        return family.labelNames.indices.map { index in
            var values: [String] = []
            for value in family.labelSets.map({ $0[index] }) where !values.contains(value) { values.append(value) }
            return "\(family.labelNames[index]) \(values.map { "`\($0)`" }.joined(separator: ", "))"
        }
    }

    private static func typeName(of kind: MetricFamily.Kind) -> String {
        switch kind {
        case .counter: "counter"
        case .gauge: "gauge"
        case .histogram: "histogram"
        }
    }

    @Test func `the paths of the data plane are the paths in docs/api.yaml, each with its label in the metrics`() throws
    {
        let paths = try Self.paths(of: Self.api())
        let served = paths.filter { path in
            let servers = path.value["servers"] as? [[String: String]]
            return servers?.contains { $0["description"] == "data plane" } ?? true
        }.keys
        let proxy = "/v1/apple/{bundle_id}/{environment}/"
        // The operations of the proxy share one route.
        let dataPlane = Set(served.map { $0.hasPrefix(proxy) ? RouteLabel.appleProxy.rawValue : $0 })
        var configuration = GatewayConfiguration()
        configuration.apple.isEnabled = false
        let dependencies = Dependencies(
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }, shutdownRequests: AsyncStream { nil })
        let routes = try buildGatewayServer(configuration, in: dependencies).routes
        #expect(dataPlane.sorted() == routes.templates.sorted())
        // Health checks are not counted.
        let counted = dataPlane.filter { !routes.match(.get, Array($0.utf8).span).isProbe }
        #expect(counted.sorted() + ["other"] == RouteLabel.allCases.map(\.rawValue).sorted())
    }

    @Test func `docs/api.yaml and the code have equal operations of the proxy`() throws {
        let paths = try Self.paths(of: Self.api())
        let base = "/v1/apple/{bundle_id}/{environment}"
        let documented = paths.filter { $0.key.hasPrefix(base) }.flatMap { path, operations in
            operations.keys.map { "\($0.uppercased()) \(path.dropFirst(base.utf8.count))" }
        }
        #expect(documented.sorted() == ServerAPITemplate.all.map { "\($0.methodName) \($0.path)" }.sorted())
    }

    @Test func `every operation in docs/api.yaml has a tag that is described`() throws {
        let api = try Self.api()
        let tags = try #require(api["tags"] as? [[String: String]]).compactMap { $0["name"] }
        let operations = try Self.paths(of: api).values.flatMap(\.values).compactMap { $0 as? [String: Any] }
        #expect(operations.count > 50)
        #expect(Set(operations.map { $0["tags"] as? [String] }) == Set(tags.map { [$0] }))
    }

    @Test func `every runbook that the status page names exists`() throws {
        for runbook in StatusIssue.Runbook.allCases {
            #expect(try Repository.text("docs/runbooks/\(runbook.name).md").hasPrefix("# \(runbook.name)"))
        }
        let alerts = try Repository.text("helm/receipt-gateway/files/alerts.yaml")
        #expect(alerts.contains("runbook_url: \(StatusIssue.Runbook.errorsBurnFast.address)\n"))
    }

    @Test func `the alert about Apple's errors counts every failure but those that this gateway causes`() throws {
        let alerts = try Repository.text("helm/receipt-gateway/files/alerts.yaml")
        let outcomes = try #require(alerts.firstMatch(of: /upstream_requests_total\{outcome=~"([a-z_|]+)"/)).1
        let ours: [UpstreamFailure] = [.answerTooLarge, .requestRefused, .stopping]
        let apples = UpstreamFailure.allCases.filter { !ours.contains($0) }.map(\.rawValue)
        #expect(outcomes.split(separator: "|").map(String.init).sorted() == apples.sorted())
    }

    @Test func `each series whose first event can raise an alert is exported from the start`() throws {
        let alerts = try Repository.text("helm/receipt-gateway/files/alerts.yaml")
        // A quotient's divisor and the verdicts of a day ago count many requests: one event more or less does not matter.
        let selections = alerts.replacing(
            /- record: receipt_gateway:not_rejected:.+?- alert:/.dotMatchesNewlines(), with: ""
        )
        .matches(of: /(\/ sum by \([a-z_, ]+\) \()?(?:rate|increase)\(([a-z_]+)(?:\{(.*?)\})?\[/)
        .filter { $0.output.1 == nil }
        #expect(selections.count > 40)
        for (_, _, name, matchers) in selections.map(\.output) {
            let found = MetricCatalogue.all.first { family in
                ["", "_bucket", "_count"].contains { family.name + $0 == name }
            }
            let family = try #require(found, "\(name)")
            let chosen = try family.labelSets.filter { try Self.select($0, of: family, matchers ?? "") }
            let missing = chosen.filter { !family.isPreset($0) }
            #expect(missing.isEmpty, "\(name){\(matchers ?? "")}")
        }
    }

    /// Returns true if all matchers of a selector select a series. Labels that the family does not have are of Prometheus.
    private static func select(_ values: [String], of family: MetricFamily, _ matchers: Substring) throws -> Bool {
        try matchers.matches(of: /([a-z_]+)(=~|!~|!=|=)"(.*?)"/).allSatisfy { matcher in
            let (_, label, comparison, pattern) = matcher.output
            guard let index = family.labelNames.firstIndex(of: String(label)) else { return true }
            let isRegex = comparison.hasSuffix("~")
            let matches =
                try isRegex
                ? Regex(String(pattern)).wholeMatch(in: values[index]) != nil : values[index] == String(pattern)
            return matches != comparison.hasPrefix("!")
        }
    }

    @Test func `only the metrics about single apps and endpoints have labels that are not declared`() {
        let families = [
            MetricCatalogue.serverAPIKeyPaused, MetricCatalogue.appWithoutServerAPIKey,
            MetricCatalogue.notificationLastAge, MetricCatalogue.webhookDeliveries, MetricCatalogue.webhookFailures,
            MetricCatalogue.webhookMissedEvents, MetricCatalogue.webhookLag, MetricCatalogue.webhookHeldEvents,
            MetricCatalogue.webhookDeadEvents, MetricCatalogue.webhookEndpointDisabled,
        ]
        #expect(MetricCatalogue.all.filter(\.isReadAtScrape) == families)
    }

    // MARK: - Rules

    @Test func `the version is one, in both programs and in the description`() throws {
        let loadTest = try Repository.text("loadtest/LoadTest/ReceiptLoadtest.swift")
        #expect(loadTest.matches(of: /version: "(.+?)"/).map { String($0.output.1) } == [Version.current])
        let api = try Self.api()
        #expect((api["info"] as? [String: Any])?["version"] as? String == Version.current)
    }

    @Test func `every rule has an explanation of its own`() {
        #expect(Set(Rule.allCases.map(\.explanation)).count == Rule.allCases.count)
        #expect(Rule.allCases.allSatisfy { $0.explanation.hasSuffix(".") })
    }
}
