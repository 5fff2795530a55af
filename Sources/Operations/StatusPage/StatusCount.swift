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
    case limitsAdmitted, limitsAlone, limitsInShadow, refusedByRate, refusedByConcurrency, wrongCredentials
    case answers, serverErrors, refusedAtEdge, overloaded
    case storeDone, storeFailed, storeRejected, invalidations
}

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

    var counts: [UInt64] { counters.map { $0.reduce(0) { $0 &+ $1.value } } }

    var distributions: [[UInt64]] {
        timings.map { histograms in
            histograms.reduce(into: [UInt64]()) { sums, histogram in
                let counts = histogram.cumulativeCounts
                sums = sums.isEmpty ? counts : zip(sums, counts).map { $0 &+ $1 }
            }
        }
    }
}

private struct CountedSeries {
    let family: MetricFamily
    let labelSets: [[String]]

    init(_ family: MetricFamily, _ labelValues: [String] = []) {
        self.family = family
        labelSets = [labelValues]
    }

    init<Labels: SeriesLabels>(_ family: MetricFamily, where isMeant: (Labels) -> Bool) {
        self.family = family
        labelSets = Labels.allCases.filter(isMeant).map(\.labelValues)
    }

    static func verdicts(_ isMeant: (VerificationLabels) -> Bool) -> Self {
        .init(MetricCatalogue.verifications, where: isMeant)
    }

    static func requests(to environment: UpstreamEnvironment, _ isMeant: (UpstreamOutcome) -> Bool) -> Self {
        .init(MetricCatalogue.upstreamRequests) { (labels: EndpointLabels<UpstreamOutcome>) in
            labels.first == UpstreamEndpoint(.verifyReceipt, environment) && isMeant(labels.second)
        }
    }

    static func rejected(_ environment: UpstreamEnvironment) -> Self {
        .init(MetricCatalogue.upstreamRejected) { (labels: EndpointLabels<LocalRejection>) in
            labels.first == UpstreamEndpoint(.verifyReceipt, environment)
        }
    }

    static func lookups(_ result: Provenance.Cache) -> Self {
        .init(MetricCatalogue.cacheLookups) { (label: CacheLookupLabel) in label.cache == result }
    }

    static func decisions(_ isMeant: (LimitDecisionLabels) -> Bool) -> Self {
        .init(MetricCatalogue.limitDecisions, where: isMeant)
    }

    static func answers(_ isMeant: (AnswerLabels) -> Bool = { _ in true }) -> Self {
        .init(MetricCatalogue.requests) { (labels: AnswerLabels) in labels.route.isVerification && isMeant(labels) }
    }

    static func commands(_ isMeant: (StoreCommandOutcome) -> Bool) -> Self {
        .init(MetricCatalogue.storeCommands, where: isMeant)
    }
}

extension StatusCount {
    fileprivate func counters(_ registry: PrometheusRegistry) -> [PrometheusCounter] {
        let series = series
        return series.labelSets.map { registry.counter(series.family, $0) }
    }

    private var series: CountedSeries {
        switch self {
        case .genuine: .verdicts { $0.verdict == .genuine }
        case .rejected: .verdicts { $0.verdict == .rejected }
        case .undecided: .verdicts { $0.verdict == .undecided }
        case .fromNearCache: .verdicts { $0.cache == .near }
        case .fromSharedCache: .verdicts { $0.cache == .shared || $0.cache == .stale }
        case .fromReceipts: .verdicts { $0.cache == .miss && $0.source == .local }
        case .fromApple: .verdicts { $0.cache == .miss && $0.source == .apple }
        case .degraded:
            .init(MetricCatalogue.degraded) { $0 != DegradedReason.stopping && $0 != .sharedStoreUnreachable }
        case .secretRejected: .init(MetricCatalogue.degraded, DegradedReason.sharedSecretRejected.labelValues)
        case .contradicted: .init(MetricCatalogue.contradictions) { (_: Contradiction) in true }
        case .unreachableForCallers:
            .init(MetricCatalogue.undecided, UndecidedReason.upstreamDidNotAnswer.labelValues)
        case .productionAnswered: .requests(to: .production, \.isAnswer)
        case .productionFailed: .requests(to: .production, \.isFailure)
        case .productionThrottled: .requests(to: .production) { $0 == .throttled }
        case .productionRejected: .rejected(.production)
        case .sandboxAnswered: .requests(to: .sandbox, \.isAnswer)
        case .sandboxFailed: .requests(to: .sandbox, \.isFailure)
        case .sandboxThrottled: .requests(to: .sandbox) { $0 == .throttled }
        case .sandboxRejected: .rejected(.sandbox)
        case .cacheHits: .lookups(.shared)
        case .cacheStale: .lookups(.stale)
        case .cacheMisses: .lookups(.miss)
        case .coalescedRequests: .init(MetricCatalogue.coalescedRequests)
        case .leasesFound: .init(MetricCatalogue.flightLeases, LeaseOutcome.found.labelValues)
        case .cacheFaults: .init(MetricCatalogue.sharedCacheFaults) { (_: SharedCacheFault) in true }
        case .cacheForgeries: .init(MetricCatalogue.sharedCacheFaults, SharedCacheFault.sealInvalid.labelValues)
        case .limitsAdmitted: .decisions { $0.decision == .admitted }
        case .limitsAlone: .decisions { [.localShare, .open, .closed].contains($0.source) }
        case .limitsInShadow: .decisions { $0.decision == .refusedInShadow }
        case .refusedByRate: .init(MetricCatalogue.limitedRequests, LimitedRequestLabel.rate.labelValues)
        case .refusedByConcurrency: .init(MetricCatalogue.limitedRequests, LimitedRequestLabel.concurrency.labelValues)
        case .wrongCredentials: .init(MetricCatalogue.wrongFormCredentials) { (_: CredentialLabel) in true }
        case .answers: .answers()
        case .serverErrors: .answers { DurationLabels($0).codeClass == .serverError }
        case .refusedAtEdge: .init(MetricCatalogue.refusals) { (_: EdgeRefusal) in true }
        case .overloaded: .init(MetricCatalogue.refusals) { $0 == EdgeRefusal.overloaded || $0 == .answerLate }
        case .storeDone: .commands { $0 == .ok }
        case .storeFailed: .commands { $0 != .ok && $0 != .rejected }
        case .storeRejected: .commands { $0 == .rejected }
        case .invalidations: .init(MetricCatalogue.storeInvalidations)
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

extension UpstreamOutcome {
    fileprivate var isAnswer: Bool { !isFailure && self != .throttled }

    fileprivate var isFailure: Bool {
        if case .failed = self { true } else { false }
    }
}

extension RouteLabel {
    fileprivate var isVerification: Bool { self == .verify || self == .verifyReceipt }
}
