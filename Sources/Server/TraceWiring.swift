// SPDX-License-Identifier: Apache-2.0

internal import Clients
internal import HTTPClient
internal import Logging
internal import ServiceLifecycle
internal import Settings
internal import Telemetry

/// Exports spans until the shutdown, and at last the spans that wait.
struct TraceExportService: Service {
    private let recorder: SpanRecorder
    private let exporter: SpanExporter

    /// Creates the service; nil if no spans are exported.
    /// - Throws: the fault of the file that the configuration names.
    init?(
        _ configuration: TracesConfiguration, count registry: PrometheusRegistry, logger: Logger
    ) throws(ConfigurationProblems) {
        guard let endpoint = configuration.endpoint else { return nil }
        recorder = SpanRecorder(configuration.traceSampler, registry)
        do throws(TransportError) {
            exporter = SpanExporter(
                recorder, over: try HTTPTransport(TransportConfiguration(configuration)), to: endpoint.text,
                headers: configuration.transportHeaders, format: OTLPTraces(resource: configuration.resource),
                timeout: configuration.timeout, logger: logger)
        } catch {
            throw ConfigurationProblems(
                error, configuration.caFile ?? "gateway.traces", to: "the collector", note: " (gateway.traces.ca_file)")
        }
    }

    var tracing: RequestTracing { RequestTracing(recorder) }

    func run() async throws {
        await cancelWhenGracefulShutdown { await exporter.run() }
        await exporter.finish()
    }
}
