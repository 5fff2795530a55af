// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import Gateway
internal import HTTPServer
internal import PrometheusExport
internal import RateLimits
internal import RedisStore
internal import Telemetry

/// The counts of the status page: sums of existing metric series.
enum StatusCount: Int, CaseIterable, Sendable {
    case genuine, rejected, undecided
    case fromNearCache, fromSharedCache, fromReceipts, fromApple
    case degraded, secretRejected, contradicted, unreachableForCallers
    case productionAnswered, productionFailed, productionThrottled, productionRejected
    case sandboxAnswered, sandboxFailed, sandboxThrottled, sandboxRejected
    case cacheHits, cacheStale, cacheMisses, coalescedRequests, leasesFound, cacheFaults, cacheForgeries
    case limitsAdmitted, limitsAlone, limitsInShadow, refusedByRate, refusedByConcurrency
    case answers, serverErrors, refusedAtEdge, overloaded
    case storeDone, storeFailed, storeRejected, invalidations
}

/// The durations on the status page.
enum StatusTiming: Int, CaseIterable, Sendable {
    case answers, production, sandbox, store
}

/// The handles of the series. Reading them does not block counting.
struct StatusInstruments: Sendable {
    private let counters: [[PrometheusCounter]]
    private let timings: [[PrometheusHistogram]]

    init(_ registry: PrometheusRegistry) {
        counters = StatusCount.allCases.map { $0.counters(registry) }
        timings = StatusTiming.allCases.map { $0.histograms(registry) }
    }

    /// The current counts, in the order of the cases.
    var counts: [UInt64] { counters.map { $0.reduce(0) { $0 &+ $1.value } } }

    /// The current cumulative bucket counts, in the order of the cases.
    var distributions: [[UInt64]] {
        timings.map { histograms in
            histograms.reduce(into: [UInt64]()) { sums, histogram in
                let counts = histogram.cumulativeCounts
                sums = sums.isEmpty ? counts : zip(sums, counts).map { $0 &+ $1 }
            }
        }
    }
}

// MARK: - Which series

extension StatusCount {
    fileprivate func counters(_ registry: PrometheusRegistry) -> [PrometheusCounter] {
        verdictCounters(registry) ?? upstreamCounters(registry) ?? cacheCounters(registry)
            ?? limitCounters(registry) ?? storeCounters(registry) ?? []
    }

    private func verdictCounters(_ registry: PrometheusRegistry) -> [PrometheusCounter]? {
        let verifications = { (isMeant: (VerificationLabels) -> Bool) in
            registry.counters(MetricCatalogue.verifications, where: isMeant)
        }
        return switch self {
        case .genuine: verifications { $0.verdict == .genuine }
        case .rejected: verifications { $0.verdict == .rejected }
        case .undecided: verifications { $0.verdict == .undecided }
        case .fromNearCache: verifications { $0.cache == .near }
        case .fromSharedCache: verifications { $0.cache == .shared || $0.cache == .stale }
        case .fromReceipts: verifications { $0.cache == .miss && $0.source == .local }
        case .fromApple: verifications { $0.cache == .miss && $0.source == .apple }
        case .degraded:
            registry.counters(MetricCatalogue.degraded) { (why: DegradedReason) in
                why != .stopping && why != .sharedStoreUnreachable
            }
        case .secretRejected:
            registry.counters(MetricCatalogue.degraded) { (why: DegradedReason) in why == .sharedSecretRejected }
        case .contradicted: registry.counters(MetricCatalogue.contradictions) { (_: Contradiction) in true }
        case .unreachableForCallers:
            registry.counters(MetricCatalogue.undecided) { (why: UndecidedReason) in why == .upstreamDidNotAnswer }
        default: nil
        }
    }

    private func upstreamCounters(_ registry: PrometheusRegistry) -> [PrometheusCounter]? {
        let questions = { (environment: UpstreamEnvironment, isMeant: (UpstreamOutcome) -> Bool) in
            registry.counters(MetricCatalogue.upstreamRequests) { (labels: UpstreamRequestLabels) in
                labels.endpoint == UpstreamEndpoint(.verifyReceipt, environment) && isMeant(labels.outcome)
            }
        }
        return switch self {
        case .productionAnswered: questions(.production, \.isAnswer)
        case .productionFailed: questions(.production, \.isFailure)
        case .productionThrottled: questions(.production) { $0 == .throttled }
        case .productionRejected: Self.rejected(.production, registry)
        case .sandboxAnswered: questions(.sandbox, \.isAnswer)
        case .sandboxFailed: questions(.sandbox, \.isFailure)
        case .sandboxThrottled: questions(.sandbox) { $0 == .throttled }
        case .sandboxRejected: Self.rejected(.sandbox, registry)
        default: nil
        }
    }

    private static func rejected(
        _ environment: UpstreamEnvironment, _ registry: PrometheusRegistry
    ) -> [PrometheusCounter] {
        registry.counters(MetricCatalogue.upstreamRejected) { (labels: UpstreamRejectionLabels) in
            labels.endpoint == UpstreamEndpoint(.verifyReceipt, environment)
        }
    }

    private func cacheCounters(_ registry: PrometheusRegistry) -> [PrometheusCounter]? {
        let lookups = { (result: Provenance.Cache) in
            registry.counters(MetricCatalogue.cacheLookups) { (label: CacheLookupLabel) in label.cache == result }
        }
        return switch self {
        case .cacheHits: lookups(.shared)
        case .cacheStale: lookups(.stale)
        case .cacheMisses: lookups(.miss)
        case .coalescedRequests: [registry.counter(MetricCatalogue.coalescedRequests)]
        case .leasesFound: registry.counters(MetricCatalogue.flightLeases) { (what: LeaseOutcome) in what == .found }
        case .cacheFaults: registry.counters(MetricCatalogue.sharedCacheFaults) { (_: SharedCacheFault) in true }
        case .cacheForgeries:
            registry.counters(MetricCatalogue.sharedCacheFaults) { (fault: SharedCacheFault) in fault == .sealInvalid }
        default: nil
        }
    }

    private func limitCounters(_ registry: PrometheusRegistry) -> [PrometheusCounter]? {
        let decisions = { (isMeant: (LimitDecisionLabels) -> Bool) in
            registry.counters(MetricCatalogue.limitDecisions, where: isMeant)
        }
        let refusals = { (isMeant: (EdgeRefusal) -> Bool) in
            registry.counters(MetricCatalogue.refusals, where: isMeant)
        }
        return switch self {
        case .limitsAdmitted: decisions { $0.decision == .admitted }
        case .limitsAlone: decisions { [.localShare, .open, .closed].contains($0.source) }
        case .limitsInShadow: decisions { $0.decision == .refusedInShadow }
        case .refusedByRate: [registry.counter(MetricCatalogue.limitedRequests, LimitedRequestLabel.rate.labelValues)]
        case .refusedByConcurrency:
            [registry.counter(MetricCatalogue.limitedRequests, LimitedRequestLabel.concurrency.labelValues)]
        case .answers: registry.counters(MetricCatalogue.requests, where: \AnswerLabels.isVerification)
        case .serverErrors:
            registry.counters(MetricCatalogue.requests) { (labels: AnswerLabels) in
                labels.isVerification && DurationLabels(labels).codeClass == .serverError
            }
        case .refusedAtEdge: refusals { _ in true }
        case .overloaded: refusals { $0 == .overloaded || $0 == .answerLate }
        default: nil
        }
    }

    private func storeCounters(_ registry: PrometheusRegistry) -> [PrometheusCounter]? {
        let commands = { (isMeant: (StoreCommandOutcome) -> Bool) in
            registry.counters(MetricCatalogue.storeCommands, where: isMeant)
        }
        return switch self {
        case .storeDone: commands { $0 == .ok }
        case .storeFailed: commands { $0 != .ok && $0 != .rejected }
        case .storeRejected: commands { $0 == .rejected }
        case .invalidations: [registry.counter(MetricCatalogue.storeInvalidations)]
        default: nil
        }
    }
}

extension StatusTiming {
    var bounds: [Double] {
        guard case .histogram(let bounds) = family.kind else { return [] }
        return bounds
    }

    private var family: MetricFamily {
        switch self {
        case .answers: MetricCatalogue.requestDuration
        case .production, .sandbox: MetricCatalogue.upstreamDuration
        case .store: MetricCatalogue.storeRoundTrips
        }
    }

    fileprivate func histograms(_ registry: PrometheusRegistry) -> [PrometheusHistogram] {
        let labels: [[String]] =
            switch self {
            case .answers: DurationLabels.allCases.filter(\.route.isVerification).map(\.labelValues)
            case .production: [UpstreamEndpoint(.verifyReceipt, .production).labelValues]
            case .sandbox: [UpstreamEndpoint(.verifyReceipt, .sandbox).labelValues]
            case .store: [[]]
            }
        return labels.map { registry.histogram(family, $0) }
    }
}

extension PrometheusRegistry {
    fileprivate func counters<Labels: SeriesLabels>(
        _ family: MetricFamily, where isMeant: (Labels) -> Bool
    ) -> [PrometheusCounter] {
        Labels.allCases.filter(isMeant).map { counter(family, $0.labelValues) }
    }
}

extension UpstreamOutcome {
    /// True if Apple answered, whatever the answer.
    fileprivate var isAnswer: Bool { !isFailure && self != .throttled }

    fileprivate var isFailure: Bool {
        if case .failed = self { true } else { false }
    }
}

extension AnswerLabels {
    fileprivate var isVerification: Bool { route.isVerification }
}

extension RouteLabel {
    /// True for the routes that verify receipts.
    fileprivate var isVerification: Bool { self == .verify || self == .verifyReceipt }
}
