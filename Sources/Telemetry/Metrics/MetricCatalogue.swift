// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import Gateway
package import PrometheusExport
internal import Receipts
internal import Resilience
internal import Settings

/// The metrics that no other target declares. docs/metrics.md has their meaning and thresholds.
///
/// A target declares the metrics about itself in an extension; the program joins all families.
package enum MetricCatalogue {
    package static let telemetry =
        limits + verification + upstream + lifecycleOfUpstream + gateway + configuration + process

    // MARK: - Limits of clients

    package static let limitDecisions = MetricFamily(
        "receipt_gateway_rate_limit_decisions_total", .counter, "Decisions of the clients' limits.",
        by: LimitDecisionLabels.self)
    package static let limitedRequests = MetricFamily(
        "receipt_gateway_limited_requests_total", .counter, "Requests refused because of a limit of their client.",
        by: LimitedRequestLabel.self)
    private static let limits = [limitDecisions, limitedRequests]

    // MARK: - Verification

    package static let verifications = MetricFamily(
        "receipt_gateway_verifications_total", .counter, "Verdicts given.", by: VerificationLabels.self)
    static let rejections = MetricFamily(
        "receipt_gateway_rejections_total", .counter, "Receipts rejected, by the rule they break.", by: Rejection.self)
    package static let undecided = MetricFamily(
        "receipt_gateway_undecided_total", .counter, "Verifications without a verdict.", by: UndecidedReason.self)
    private static let verification = [verifications, rejections, undecided, degraded]

    package static let degraded = MetricFamily(
        "receipt_gateway_degraded_total", .counter, "Answers for which Apple was wanted and did not help.",
        by: DegradedReason.self)

    // MARK: - Requests to Apple

    package static let upstreamRequests = MetricFamily(
        "receipt_gateway_upstream_requests_total", .counter, "Questions to Apple, by what came of them.",
        by: UpstreamRequestLabels.self)
    package static let upstreamDuration = MetricFamily(
        "receipt_gateway_upstream_request_duration_seconds",
        .histogram(buckets: [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10, 20, 30]),
        "From a question to the end of Apple's answer.", by: UpstreamEndpoint.self)
    package static let upstreamRejected = MetricFamily(
        "receipt_gateway_upstream_rejected_total", .counter, "Questions that did not leave the gateway.",
        by: UpstreamRejectionLabels.self)
    static let upstreamRetries = MetricFamily(
        "receipt_gateway_upstream_retries_total", .counter, "Questions asked again.", by: UpstreamEndpoint.self)
    static let upstreamInFlight = MetricFamily(
        "receipt_gateway_upstream_requests_in_flight", .gauge, "Questions under way.", by: UpstreamEndpoint.self)
    static let upstreamWaiting = MetricFamily(
        "receipt_gateway_upstream_requests_waiting", .gauge, "Questions that wait for a place.",
        by: UpstreamEndpoint.self)
    static let upstreamLimit = MetricFamily(
        "receipt_gateway_upstream_concurrency_limit", .gauge, "Questions that may be under way.",
        by: UpstreamEndpoint.self)
    static let upstreamPause = MetricFamily(
        "receipt_gateway_upstream_pause_until_timestamp_seconds", .gauge,
        "Until when Apple asked to be left alone; 0 if it did not.", by: UpstreamEndpoint.self)
    static let breakerState = MetricFamily(
        "receipt_gateway_circuit_breaker_state", .gauge, "1 for the state the breaker is in, 0 for the others.",
        by: BreakerStateLabels.self)
    static let breakerTransitions = MetricFamily(
        "receipt_gateway_circuit_breaker_transitions_total", .counter, "Changes of a breaker's state.",
        by: BreakerTransitionLabels.self)
    static let disagreements = MetricFamily(
        "receipt_gateway_upstream_disagreements_total", .counter,
        "Receipts with a valid signature that Apple called false (21002, 21003).", by: UpstreamEndpoint.self)
    package static let contradictions = MetricFamily(
        "receipt_gateway_upstream_contradictions_total", .counter,
        "Answers refused because they contradict what Apple signed.", by: Contradiction.self)
    static let unprovenAnswers = MetricFamily(
        "receipt_gateway_upstream_unproven_answers_total", .counter,
        "Answers about subscriptions without a latest_receipt that verifies.", by: UpstreamEndpoint.self)
    package static let coalescedRequests = MetricFamily(
        "receipt_gateway_coalesced_requests_total", .counter, "Requests that joined a question under way.")
    package static let cacheLookups = MetricFamily(
        "receipt_gateway_cache_lookups_total", .counter, "Searches for what Apple said of a receipt.",
        by: CacheLookupLabel.self)
    static let earlyRefreshes = MetricFamily(
        "receipt_gateway_cache_early_refreshes_total", .counter,
        "What Apple said of a receipt, fetched again before its time was over.")
    static let cachePurges = MetricFamily(
        "receipt_gateway_cache_purges_total", .counter,
        "Original transactions whose cached results this node purged for a client.")
    package static let flightLeases = MetricFamily(
        "receipt_gateway_flight_leases_total", .counter,
        "Questions to Apple, by what the other nodes had to do with them.", by: LeaseOutcome.self)
    private static let upstream = [
        upstreamRequests, upstreamDuration, upstreamRejected, upstreamRetries, upstreamInFlight, upstreamWaiting,
        upstreamLimit, upstreamPause, breakerState, breakerTransitions, disagreements, contradictions,
        unprovenAnswers, coalescedRequests, cacheLookups, earlyRefreshes, cachePurges, flightLeases,
    ]

    // MARK: - The end of Apple's endpoints

    static let deprecation = MetricFamily(
        "receipt_gateway_upstream_deprecation_timestamp_seconds", .gauge,
        "When the endpoint is deprecated; 0 if not announced.", by: UpstreamEndpoint.self)
    static let sunset = MetricFamily(
        "receipt_gateway_upstream_sunset_timestamp_seconds", .gauge, "When the endpoint ends; 0 if not announced.",
        by: UpstreamEndpoint.self)
    static let shareMoved = MetricFamily(
        "receipt_gateway_sunset_ramp_ratio", .gauge,
        "Share of the receipts that are answered without the endpoint where they can be, from 0 to 1.",
        by: UpstreamEndpoint.self)
    private static let lifecycleOfUpstream = [deprecation, sunset, shareMoved]

    // MARK: - The gateway itself

    package static let build = MetricFamily(
        "receipt_gateway_build_info", .gauge, "Always 1; the labels say what is running.", labelNames: ["version"],
        labelSets: [[Version.current]])
    static let logLinesSuppressed = MetricFamily(
        "receipt_gateway_log_lines_suppressed_total", .counter,
        "Lines about requests that failed or were slow, and that were more than are written.", by: NotableRequest.self)
    package static let logLinesDropped = MetricFamily(
        "receipt_gateway_log_lines_dropped_total", .counter,
        "Log lines dropped because the reader of the log was too slow.")
    private static let gateway = [build, logLinesSuppressed, logLinesDropped]

    // MARK: - Configuration and expiry

    static let configurationLoaded = MetricFamily(
        "receipt_gateway_configuration_load_timestamp_seconds", .gauge,
        "When the configuration was read last without a fault.")
    static let reloads = MetricFamily(
        "receipt_gateway_configuration_reloads_total", .counter, "Readings of the configuration after the first.",
        by: ReloadResult.self)
    static let lastReloadSuccessful = MetricFamily(
        "receipt_gateway_configuration_last_reload_successful", .gauge,
        "0 if the last reading of the configuration found a fault, otherwise 1.")
    static let lastReload = MetricFamily(
        "receipt_gateway_configuration_last_reload_timestamp_seconds", .gauge,
        "When the configuration was read again, whatever came of it; 0 if it was not.")
    static let keyExpiry = MetricFamily(
        "receipt_gateway_api_key_expiry_timestamp_seconds", .gauge,
        "When the first API key that is still good expires; 0 if none ever does.")
    static let certificateExpiry = MetricFamily(
        "receipt_gateway_certificate_expiry_timestamp_seconds", .gauge,
        "When a certificate that the gateway depends on ends; 0 if there is none, or none was seen.",
        by: DependedCertificate.self)
    static let unknownIntermediates = MetricFamily(
        "receipt_gateway_unknown_intermediates_total", .counter,
        "Genuine chains of Apple's with an intermediate certificate that this version does not know.")
    private static let configuration = [
        configurationLoaded, reloads, lastReloadSuccessful, lastReload, keyExpiry, certificateExpiry,
        unknownIntermediates,
    ]

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
