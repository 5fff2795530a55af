// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import PrometheusExport
internal import Receipts
internal import Gateway

/// Every metric of the gateway. docs/metrics.md says what they mean and when to worry.
enum MetricCatalogue {
    /// All families.
    static let all = http + verification + gateway + process

    // MARK: - HTTP: the data plane only

    static let requests = MetricFamily(
        "receipt_gateway_http_requests_total", .counter, "Requests answered.", by: AnswerLabels.self)
    static let requestDuration = MetricFamily(
        "receipt_gateway_http_request_duration_seconds", .histogram(buckets: durationBuckets),
        "From the end of a request to the beginning of its answer.", by: DurationLabels.self)
    static let requestsInFlight = MetricFamily(
        "receipt_gateway_http_requests_in_flight", .gauge, "Requests being answered.")
    static let connections = MetricFamily("receipt_gateway_http_connections", .gauge, "Connections open.")
    static let bodiesInFlight = MetricFamily(
        "receipt_gateway_http_bodies_in_flight_bytes", .gauge, "Memory taken by request bodies.")
    static let bodiesInFlightLimit = MetricFamily(
        "receipt_gateway_http_bodies_in_flight_limit_bytes", .gauge, "Memory that request bodies may take.")
    static let refusals = MetricFamily(
        "receipt_gateway_http_refusals_total", .counter,
        "Requests refused because of a limit of the edge, before a route saw them.", by: RefusalCause.self)
    private static let http = [
        requests, requestDuration, requestsInFlight, connections, bodiesInFlight, bodiesInFlightLimit, refusals,
    ]

    /// In seconds: finer where answers come from memory, up to where clients have given up.
    private static let durationBuckets = [
        0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5,
        10,
    ]

    // MARK: - Verification

    static let verifications = MetricFamily(
        "receipt_gateway_verifications_total", .counter, "Verdicts given.", by: VerificationLabels.self)
    static let rejections = MetricFamily(
        "receipt_gateway_rejections_total", .counter, "Receipts rejected, by the rule they break.", by: Rule.self)
    static let undecided = MetricFamily(
        "receipt_gateway_undecided_total", .counter, "Verifications without a verdict.", by: UndecidedReason.self)
    private static let verification = [verifications, rejections, undecided]

    // MARK: - The gateway itself

    static let build = MetricFamily(
        "receipt_gateway_build_info", .gauge, "Always 1; the labels say what is running.", labelNames: ["version"],
        labelSets: [[Version.current]])
    static let configurationLoaded = MetricFamily(
        "receipt_gateway_configuration_load_timestamp_seconds", .gauge, "When the configuration was read.")
    static let lifecycle = MetricFamily(
        "receipt_gateway_lifecycle_stage", .gauge, "1 for the stage the process is in, 0 for the others.",
        by: ServerLifecycle.Stage.self)
    private static let gateway = [build, configurationLoaded, lifecycle]

    // MARK: - The process: names that Prometheus' client libraries agree on

    static let processCPU = MetricFamily(
        "process_cpu_seconds_total", .counter, "CPU time spent in user and system mode.")
    static let processResidentMemory = MetricFamily(
        "process_resident_memory_bytes", .gauge, "Memory of the process that is in RAM.")
    static let processVirtualMemory = MetricFamily(
        "process_virtual_memory_bytes", .gauge, "Address space of the process.")
    static let processOpenFiles = MetricFamily("process_open_fds", .gauge, "File descriptors open.")
    static let processMaximumFiles = MetricFamily("process_max_fds", .gauge, "File descriptors that may be open.")
    static let processStart = MetricFamily("process_start_time_seconds", .gauge, "When the process started.")
    private static let process = [
        processCPU, processResidentMemory, processVirtualMemory, processOpenFiles, processMaximumFiles, processStart,
    ]
}

extension ServerLifecycle.Stage: SeriesLabels {
    static let labelNames = ["stage"]
    var labelValues: [String] { ["\(self)"] }
}
