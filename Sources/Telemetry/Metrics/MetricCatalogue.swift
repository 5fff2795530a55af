// SPDX-License-Identifier: Apache-2.0

internal import Gateway
internal import Receipts
internal import Resilience

/// The metrics that no other target declares; the program joins all. docs/metrics.md has their meaning and thresholds.
package enum MetricCatalogue {
    package static let telemetry =
        limits + verification + upstream + serverAPI + lifecycleOfUpstream + notifications + webhooks
        + deferredVerifications + customers + comparisonFamilies + [signatures] + gateway + configuration + process

    // MARK: - Limits of clients

    package static let limitDecisions = MetricFamily(
        "receipt_gateway_rate_limit_decisions_total", .counter, "Decisions of the limits in the clients file.",
        by: LimitDecisionLabels.self)
    package static let limitedRequests = MetricFamily(
        "receipt_gateway_limited_requests_total", .counter, "Requests answered 429, by the kind of limit.",
        by: LimitedRequestLabel.self)
    package static let wrongFormCredentials = MetricFamily(
        "receipt_gateway_form_wrong_credentials_total", .counter,
        "Requests of the form API with a wrong key, or a token that its account does not have.",
        by: CredentialLabel.self)
    private static let limits = [limitDecisions, limitedRequests, wrongFormCredentials]

    // MARK: - Verification

    package static let verifications = MetricFamily(
        "receipt_gateway_verifications_total", .counter, "Verdicts.", by: VerificationLabels.self
    ) { $0.verdict == .genuine || $0.cache == .miss }
    static let rejections = MetricFamily(
        "receipt_gateway_rejections_total", .counter, "Rejected receipts, by the first rule that they break.",
        by: Rejection.self)
    package static let undecided = MetricFamily(
        "receipt_gateway_undecided_total", .counter, "Verifications without a verdict.", by: UndecidedReason.self)
    package static let degraded = MetricFamily(
        "receipt_gateway_degraded_total", .counter, "Answers that lack the preferred source.", by: DegradedReason.self)
    static let evidence = MetricFamily(
        "receipt_gateway_evidence_total", .counter, "Answers by the kind of evidence in the request, or its ID.",
        by: RequestSubject.Kind.self)
    static let signedItems = MetricFamily(
        "receipt_gateway_signed_items_total", .counter,
        "Items of signed_transactions, by the cache of items verified lately.", by: SignedItemLookup.self)
    package static let receiptAnswers = MetricFamily(
        "receipt_gateway_receipt_answers_total", .counter, "Genuine verdicts about receipts, by source.",
        by: Provenance.Source.self)
    static let signedAnswers = MetricFamily(
        "receipt_gateway_signed_answers_total", .counter, "Signed answers, by their signature.",
        by: AnswerSignature.self)
    private static let verification = [
        verifications, rejections, undecided, degraded, evidence, signedItems, receiptAnswers, signedAnswers,
    ]

    // MARK: - Requests to Apple

    package static let upstreamRequests = MetricFamily(
        "receipt_gateway_upstream_requests_total", .counter, "Requests to Apple, by outcome.",
        by: EndpointLabels<UpstreamOutcome>.self)
    package static let upstreamDuration = MetricFamily(
        "receipt_gateway_upstream_request_duration_seconds",
        .histogram(buckets: [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10, 20, 30]),
        "The time from a request to the end of Apple's response, or of the attempt.", by: UpstreamEndpoint.self)
    package static let upstreamRejected = MetricFamily(
        "receipt_gateway_upstream_rejected_total", .counter,
        "Requests to Apple that the gateway rejected without sending them.", by: EndpointLabels<LocalRejection>.self)
    static let upstreamRetries = MetricFamily(
        "receipt_gateway_upstream_retries_total", .counter, "Retries of requests to Apple.", by: UpstreamEndpoint.self)
    static let upstreamInFlight = MetricFamily(
        "receipt_gateway_upstream_requests_in_flight", .gauge, "Requests to Apple in flight.",
        by: UpstreamEndpoint.self)
    static let upstreamWaiting = MetricFamily(
        "receipt_gateway_upstream_requests_waiting", .gauge, "Requests that wait for a concurrency slot.",
        by: UpstreamEndpoint.self)
    static let upstreamLimit = MetricFamily(
        "receipt_gateway_upstream_concurrency_limit", .gauge, "The concurrency limit.", by: UpstreamEndpoint.self)
    static let upstreamPause = MetricFamily(
        "receipt_gateway_upstream_pause_until_timestamp_seconds", .gauge,
        "The end of the pause that Apple requested; 0 if there was none.", by: UpstreamEndpoint.self)
    static let breakerState = MetricFamily(
        "receipt_gateway_circuit_breaker_state", .gauge,
        "1 for the current state of the breaker, 0 for all other states.",
        by: EndpointLabels<CircuitBreaker.State.Name>.self)
    static let breakerTransitions = MetricFamily(
        "receipt_gateway_circuit_breaker_transitions_total", .counter, "Changes of the state of a breaker.",
        by: EndpointLabels<CircuitBreaker.Transition>.self)
    static let disagreements = MetricFamily(
        "receipt_gateway_upstream_disagreements_total", .counter,
        "Genuine receipts that Apple called malformed or not authenticated (21002, 21003).", by: UpstreamEndpoint.self)
    package static let contradictions = MetricFamily(
        "receipt_gateway_upstream_contradictions_total", .counter,
        "Responses in Apple's name that were rejected because they contradict what Apple signed.",
        by: Contradiction.self)
    static let unreadableItems = MetricFamily(
        "receipt_gateway_upstream_unreadable_items_total", .counter,
        "Items of Apple's answers that were left out because they cannot be read.", by: UpstreamEndpoint.self)
    static let unprovenAnswers = MetricFamily(
        "receipt_gateway_upstream_unproven_answers_total", .counter,
        "Answers about subscriptions without a verifiable latest_receipt.", by: UpstreamEndpoint.self)
    package static let coalescedRequests = MetricFamily(
        "receipt_gateway_coalesced_requests_total", .counter,
        "Requests that shared the upstream request of another request.")
    package static let cacheLookups = MetricFamily(
        "receipt_gateway_cache_lookups_total", .counter, "Lookups of Apple's result for a receipt.",
        by: CacheLookupLabel.self)
    static let earlyRefreshes = MetricFamily(
        "receipt_gateway_cache_early_refreshes_total", .counter, "Cached results refreshed before they expired.")
    static let cachePurges = MetricFamily(
        "receipt_gateway_cache_purges_total", .counter,
        "Transactions whose cached results this node purged for a client.")
    package static let flightLeases = MetricFamily(
        "receipt_gateway_flight_leases_total", .counter, "Requests to Apple, by their lease across the fleet.",
        by: LeaseOutcome.self)
    private static let upstream = [
        upstreamRequests, upstreamDuration, upstreamRejected, upstreamRetries, upstreamInFlight, upstreamWaiting,
        upstreamLimit, upstreamPause, breakerState, breakerTransitions, disagreements, contradictions,
        unreadableItems, unprovenAnswers, coalescedRequests, cacheLookups, earlyRefreshes, cachePurges, flightLeases,
    ]

    // MARK: - The App Store Server API

    package static let serverAPICalls = MetricFamily(
        "receipt_gateway_server_api_calls_total", .counter,
        "Calls of the App Store Server API, by operation and outcome, also those that were not sent.",
        by: ServerAPICallLabels.self
    ) { [.answered, .throttled, .budget].contains($0.second) }
    // The two families with apps in their labels. An operator must learn which key of which app to replace, and which
    // app needs a key before `verifyReceipt` ends. Their labels stand in the clients file.

    /// The keys that Apple rejects. A series exists only meanwhile.
    package static let serverAPIKeyPaused = MetricFamily(
        readAtScrape: "receipt_gateway_server_api_key_paused",
        "1 for a key of the App Store Server API that Apple rejects for an app; no series otherwise.",
        labelNames: ["key_id", "bundle_id"])
    package static let appWithoutServerAPIKey = MetricFamily(
        readAtScrape: "receipt_gateway_app_without_server_api_key",
        "1 for an app whose receipts depend on verifyReceipt: it has no key of the App Store Server API.",
        labelNames: ["bundle_id"])
    package static let serverAPIClockSkew = MetricFamily(
        "receipt_gateway_server_api_clock_skew_seconds", .gauge,
        "Apple's clock minus this node's, as far as Apple's answers prove a difference.", by: UpstreamEnvironment.self)
    package static let unknownTransactionIDs = MetricFamily(
        "receipt_gateway_unknown_transaction_ids_total", .counter,
        "Transaction IDs without evidence that Apple does not know.")
    private static let serverAPI = [
        serverAPICalls, serverAPIKeyPaused, appWithoutServerAPIKey, serverAPIClockSkew, unknownTransactionIDs,
    ]

    // MARK: - The end of Apple's endpoints

    static let deprecation = MetricFamily(
        "receipt_gateway_upstream_deprecation_timestamp_seconds", .gauge,
        "The deprecation date of the endpoint; 0 if unknown.", by: UpstreamEndpoint.self)
    static let sunset = MetricFamily(
        "receipt_gateway_upstream_sunset_timestamp_seconds", .gauge, "The end of the endpoint; 0 if unknown.",
        by: UpstreamEndpoint.self)
    static let sunsetRampRatio = MetricFamily(
        "receipt_gateway_sunset_ramp_ratio", .gauge,
        "The share of receipts answered without the endpoint where possible, from 0 to 1.", by: UpstreamEndpoint.self)
    private static let lifecycleOfUpstream = [deprecation, sunset, sunsetRampRatio]

    // MARK: - The gateway itself

    package static let build = MetricFamily(
        "receipt_gateway_build_info", .gauge, "Always 1. The label is the version.", labelNames: ["version"],
        labelSets: [[Version.current]])
    static let logLinesSuppressed = MetricFamily(
        "receipt_gateway_log_lines_suppressed_total", .counter,
        "Log lines about failed or slow requests that were not written because of their number.",
        by: NotableRequest.self)
    package static let logLinesDropped = MetricFamily(
        "receipt_gateway_log_lines_dropped_total", .counter, "Log lines dropped because they were not read in time.")
    static let traceSpans = MetricFamily(
        "receipt_gateway_trace_spans_total", .counter, "Spans that ended, by what became of them.", by: SpanFate.self)
    private static let gateway = [build, logLinesSuppressed, logLinesDropped, traceSpans]

    // MARK: - Configuration and expiry

    static let configurationLoaded = MetricFamily(
        "receipt_gateway_configuration_load_timestamp_seconds", .gauge,
        "The time of the last successful load of the configuration.")
    static let reloads = MetricFamily(
        "receipt_gateway_configuration_reloads_total", .counter, "Reloads of the configuration.", by: ReloadResult.self)
    static let lastReloadSuccessful = MetricFamily(
        "receipt_gateway_configuration_last_reload_successful", .gauge, "0 if the last reload failed, otherwise 1.")
    static let lastReload = MetricFamily(
        "receipt_gateway_configuration_last_reload_timestamp_seconds", .gauge,
        "The time of the last reload, whatever its result; 0 if there was none.")
    static let keyExpiry = MetricFamily(
        "receipt_gateway_api_key_expiry_timestamp_seconds", .gauge,
        "The next expiry of an API key that is still valid; 0 if none expires.")
    static let certificateExpiry = MetricFamily(
        "receipt_gateway_certificate_expiry_timestamp_seconds", .gauge,
        "The expiry of a certificate that the gateway depends on; 0 if there is none.", by: DependedCertificate.self)
    static let unknownIntermediates = MetricFamily(
        "receipt_gateway_unknown_intermediates_total", .counter,
        "Genuine chains from Apple with an intermediate certificate unknown to this version.")
    static let ignoredClaims = MetricFamily(
        "receipt_gateway_ignored_claims_total", .counter,
        "Claims that Apple signed in a form that is not read; they decide nothing, and count as absent.",
        by: IgnorableClaim.self)
    private static let configuration = [
        configurationLoaded, reloads, lastReloadSuccessful, lastReload, keyExpiry, certificateExpiry,
        unknownIntermediates, ignoredClaims,
    ]

    // MARK: - The process: names that Prometheus' client libraries agree on

    static let processCPU = MetricFamily("process_cpu_seconds_total", .counter, "CPU time in user and system mode.")
    static let processResidentMemory = MetricFamily(
        "process_resident_memory_bytes", .gauge, "Memory of the process in RAM.")
    static let processVirtualMemory = MetricFamily(
        "process_virtual_memory_bytes", .gauge, "Address space of the process.")
    static let processOpenFiles = MetricFamily("process_open_fds", .gauge, "Open file descriptors.")
    static let processMaximumFiles = MetricFamily("process_max_fds", .gauge, "The limit of open file descriptors.")
    static let processStart = MetricFamily("process_start_time_seconds", .gauge, "The start of the process.")
    private static let process = [
        processCPU, processResidentMemory, processVirtualMemory, processOpenFiles, processMaximumFiles, processStart,
    ]
}
