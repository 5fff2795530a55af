// SPDX-License-Identifier: Apache-2.0

internal import HTTPClient
internal import JSON
internal import Settings
internal import Telemetry

extension AreaCheck {
    private enum TracesLimits {
        static let timeout: Duration = .seconds(8)
    }

    /// Checks the collector with an export without spans, sent as `serve` sends spans.
    func checkTraces() async {
        let traces = configuration.traces
        guard let endpoint = traces.endpoint else {
            return report.ok("collector", "gateway.traces.endpoint is not set: no spans are exported")
        }
        let timeout = min(traces.timeout, TracesLimits.timeout)
        let request = TransportRequest(
            .post, url: endpoint.text,
            headers: [TransportHeader(name: "Content-Type", value: "application/json")] + traces.transportHeaders,
            body: OTLPTraces(resource: traces.resource).request(for: []))
        do throws(TransportError) {
            let transport = try HTTPTransport(TransportConfiguration(traces))
            record(try await transport.send(request, deadline: .now + timeout), of: endpoint)
        } catch {
            report.fail("collector", "\(endpoint.text): \(error)", do: error.collectorAdvice)
        }
    }

    private func record(_ response: TransportResponse, of endpoint: CollectorURL) {
        let answer = "\(endpoint.text): HTTP \(response.status)"
        switch response.status {
        case 200...299 where response.isCollectors:
            let way = endpoint.isPlain ? "" : ", trusted certificate"
            report.ok("collector", "\(answer) to an export without spans within \(response.took.rounded)\(way)")
        case 200...299:
            report.warn(
                "collector", "\(answer) to an export without spans, but not in JSON, as collectors answer",
                do: "Check what answers there: gateway.traces.endpoint is a collector's port for HTTP, usually 4318.")
        case 401, 403:
            report.fail(
                "collector", "\(answer): the collector refuses the credentials",
                do: "Correct gateway.traces.headers (OTEL_EXPORTER_OTLP_HEADERS).")
        case 404, 405:
            report.fail(
                "collector", "\(answer): nothing takes spans at this path",
                do: "Correct the path in gateway.traces.endpoint, usually /v1/traces.")
        case 429, 502, 503, 504:
            report.warn(
                "collector", "\(answer): the collector is overloaded, or what it sends spans to is away",
                do: "See its log. The gateway tries up to five times, and then drops spans; no request waits.")
        default:
            report.fail(
                "collector", "\(answer): spans are not accepted",
                do: "Check that a collector answers there, and takes OTLP in JSON over HTTP; its log says more.")
        }
    }
}

extension TransportResponse {
    /// True for the answer of a collector: `ExportTraceServiceResponse` in JSON, or nothing.
    fileprivate var isCollectors: Bool {
        body.isEmpty || (try? JSONValue(parsing: body))?.members != nil
    }
}

extension TransportError {
    fileprivate var collectorAdvice: String {
        switch self {
        case .resolve: "Correct the host in gateway.traces.endpoint, or fix DNS (/etc/resolv.conf)."
        case .connect, .timeout(.connecting):
            "Start the collector, and let this machine reach its port (firewall, egress policy)."
        case .tlsHandshake:
            "Check that the port has TLS. If it has not, gateway.traces.endpoint begins with http:."
        case .tlsVerification: "Name the authority of the collector in gateway.traces.ca_file; check host and clock."
        case .trustStore: "Correct gateway.traces.ca_file, or install ca-certificates."
        case .timeout, .reset, .tooLarge, .protocolViolation:
            "Check that gateway.traces.endpoint is a collector's port for HTTP, usually 4318, and see the collector's log."
        case .forbiddenAddress, .proxy, .invalidURL, .insecureURL, .invalidHeader, .tooManyRequests, .cancelled,
            .shuttingDown, .internal:
            "Run the doctor again; if it persists, report it as a bug."
        }
    }
}
