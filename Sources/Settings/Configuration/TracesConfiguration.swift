// SPDX-License-Identifier: Apache-2.0

package import Clients
internal import Cryptography
package import HTTPClient
package import Telemetry

/// The export of spans. The variables of OpenTelemetry set it as well: `StandardVariables`.
package struct TracesConfiguration: Hashable, Sendable {
    /// Nil to record and export no spans.
    package var endpoint: CollectorURL?
    var transferProtocol = ExportProtocol.httpJSON
    var headers: ExportHeaders?
    package var timeout: Duration = .seconds(10)
    package var caFile: String?
    var sampler = TraceSampler.Rule.parentOrOn
    var ratio = 1.0
    var serviceName = "receipt-gateway"
    var resourceAttributes = KeyValueList()

    var contradictions: [ConfigurationProblem] {
        guard headers != nil, let endpoint, endpoint.isPlain, !Loopback.contains(endpoint.host) else { return [] }
        return [
            ConfigurationProblem(
                location: "gateway.traces.headers",
                fault: """
                    would leave this machine without TLS, and headers are credentials; set an https URL in \
                    gateway.traces.endpoint, or remove the headers
                    """)
        ]
    }

    package var traceSampler: TraceSampler { TraceSampler(sampler, ratio: ratio) }
    package var transportHeaders: [TransportHeader] { headers?.fields ?? [] }

    /// The attributes of this process: its name, its version and an ID that no other process has, unless the operator
    /// names them.
    package var resource: [(name: String, value: String)] {
        let named = resourceAttributes.entries.map { (name: $0.name, value: $0.value) }
        // The setting of the name wins over an attribute, as the specification says of OTEL_SERVICE_NAME.
        let hasName = serviceName == TracesConfiguration().serviceName && named.contains { $0.name == "service.name" }
        let own = [
            ("service.name", serviceName), ("service.version", Version.current),
            ("service.instance.id", TraceContext(following: nil).traceID),
        ]
        return own.filter { own in
            own.0 == "service.name" ? !hasName : !named.contains { $0.name == own.0 }
        } + named.filter { $0.name != "service.name" || hasName }
    }
}

/// The URL that spans are posted to. It may be `http`, because spans contain no secret.
package struct CollectorURL: Hashable, ConfigurationValue {
    private let url: UpstreamURL

    package var text: String { url.text }
    package var host: String { url.host }
    package var isPlain: Bool { url.isPlain }

    package static var accepted: String {
        "an http or https URL such as http://collector:4318/v1/traces, in OTEL_EXPORTER_OTLP_ENDPOINT without /v1/traces"
    }

    package init(configuration text: String) throws(ConfigurationValueFault) {
        url = UpstreamURL(text)
        if let fault = Self.fault(of: url) { throw ConfigurationValueFault(description: fault) }
    }

    private static func fault(of url: UpstreamURL) -> String? {
        let parts = url.text.split(separator: "/", maxSplits: 3, omittingEmptySubsequences: false)
        guard ["http:", "https:"].contains(parts.first), parts.count > 2, parts[1].isEmpty, !url.host.isEmpty,
            url.text.utf8.allSatisfy({ (0x21...0x7E).contains($0) })
        else { return "this is not the URL of a collector" }
        if url.text.contains(where: { "@?#".contains($0) }) {
            return "the URL has a user or a query; credentials belong in gateway.traces.headers"
        }
        if parts[2].hasSuffix(":4317") {
            return "port 4317 is for gRPC, which the gateway does not have; use the port for HTTP, usually 4318"
        }
        return parts.count > 3 ? nil : "the path is missing, usually /v1/traces"
    }

    package var configurationText: String { text }
}

/// The protocol of the export: one of the three that OpenTelemetry has.
enum ExportProtocol: String, ConfigurationValue {
    case httpJSON = "http/json"

    static var accepted: String { Self.httpJSON.rawValue }

    init(configuration text: String) throws(ConfigurationValueFault) {
        guard text == Self.httpJSON.rawValue else {
            throw ConfigurationValueFault(
                description: """
                    the gateway exports spans as JSON over HTTP only, not as \"\(text)\"; every OpenTelemetry Collector \
                    takes JSON at its HTTP port, usually 4318
                    """)
        }
        self = .httpJSON
    }

    var configurationText: String { rawValue }
}

/// The header fields of the export, which are credentials.
struct ExportHeaders: Hashable, ConfigurationValue, Redacted {
    let fields: [TransportHeader]

    static var isSecret: Bool { true }
    static var accepted: String { "\(KeyValueList.accepted), whose names and values are header fields" }

    init(configuration text: String) throws(ConfigurationValueFault) {
        fields = try KeyValueList(configuration: text).entries.map { TransportHeader(name: $0.name, value: $0.value) }
        if let index = fields.firstIndex(where: { !$0.isSendable || $0.name.lowercased() == "content-type" }) {
            throw ConfigurationValueFault(description: "entry \(index + 1) of the list is no header field to set")
        }
    }

    var configurationText: String { Secret.redacted }
}

extension TransportConfiguration {
    package init(_ configuration: TracesConfiguration) {
        self.init()
        totalTimeout = configuration.timeout
        caFile = configuration.caFile
        // The collector is the operator's, as Redis is.
        (allowsPlainHTTP, allowsPrivateAddresses) = (true, true)
        // One batch at a time; a request that has ended, or was cancelled at the shutdown, counts a moment longer.
        (maximumRequests, maximumConnectionsPerHost) = (2, 2)
        maximumResponseBytes = 64 * 1024
        userAgent = "receipt-gateway/\(Version.current)"
    }
}
