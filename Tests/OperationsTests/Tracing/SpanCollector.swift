// SPDX-License-Identifier: Apache-2.0

import JSON

@testable import ServerTestSupport
@testable import Settings

/// A collector of spans: a real server that reads the JSON of OTLP/HTTP.
struct SpanCollector: Sendable {
    /// A span as it arrived.
    struct Span: Sendable {
        let json: JSONValue

        var name: String { text("name") }
        var traceID: String { text("traceId") }
        var spanID: String { text("spanId") }
        /// Empty for the first span of a trace.
        var parent: String { text("parentSpanId") }
        var kind: String { json["kind"]?.number?.text ?? "" }
        var start: Int { Int(text("startTimeUnixNano")) ?? 0 }
        var end: Int { Int(text("endTimeUnixNano")) ?? 0 }
        var isError: Bool { json["status"]?["code"]?.number?.text == "2" }
        /// Texts, and numbers as texts.
        var attributes: [String: String] { SpanCollector.attributes(of: json) }

        private func text(_ name: String) -> String { json[name]?.string ?? "" }
    }

    var server = WebhookReceiver()

    /// The bodies of all requests.
    var requests: [JSONValue] { server.received.compactMap { try? JSONValue(parsing: $0.body) } }

    var spans: [Span] {
        requests.flatMap { $0.elements("resourceSpans") }.flatMap { $0.elements("scopeSpans") }
            .flatMap { $0.elements("spans") }.map(Span.init)
    }

    func spans(named name: String) -> [Span] { spans.filter { $0.name == name } }

    static func attributes(of json: JSONValue) -> [String: String] {
        Dictionary(
            json.elements("attributes").map { attribute in
                let value = attribute["value"]
                return (
                    attribute["key"]?.string ?? "",
                    (value?["stringValue"] ?? value?["intValue"])?.string ?? ""
                )
            }
        ) { first, _ in first }
    }

    /// Runs the collector during `body`, which gets its URL.
    func run(isolation: isolated (any Actor)? = #isolation, _ body: (CollectorURL) async throws -> Void) async throws {
        try await server.run { port in
            try await body(try CollectorURL(configuration: "http://127.0.0.1:\(port)/v1/traces"))
        }
    }
}

extension JSONValue {
    /// The elements of the array with this name.
    func elements(_ name: String) -> [JSONValue] { self[name]?.elements ?? [] }
}
