// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import Customers
internal import Gateway
internal import HTTPServer
internal import RedisStore
internal import Resilience
internal import Telemetry

/// The counts of the status page: sums of existing metric series.
enum StatusCount: Hashable, Sendable {
    case genuine, rejected, undecided
    case fromNearCache, fromSharedCache, fromReceipts, fromApple
    /// Genuine verdicts about receipts.
    case receiptAnswered(Provenance.Source)
    case degraded, secretRejected, serverAPIKeyRejected, intercepted, contradicted, unreachableForCallers
    case answered(UpstreamEndpoint), failed(UpstreamEndpoint), unsent(UpstreamEndpoint)
    case overBudget, unknownTransactions
    case cacheHits, cacheStale, cacheMisses, coalescedRequests, leasesFound, cacheFaults, cacheForgeries
    case limitsAdmitted, limitsAlone, limitsInShadow, refusedByRate, refusedByConcurrency, wrongCredentials
    case answers, serverErrors, refusedAtEdge, overloaded
    case storeDone, storeFailed, storeRejected, invalidations
    case notifications(IntakeOutcome), notificationsApplied, deadLetters, recoveries, recoveriesFailed
    /// Deferred verifications: `jobsLost` are those that ended without a verdict.
    case jobsCreated, jobsDone, jobsRefused, jobsLost
}

enum StatusTiming: Hashable, Sendable {
    case answers, apple(UpstreamEndpoint), store
    /// From the intake of notifications to their effect.
    case notifications
    /// From the creation of deferred verifications to their verdict.
    case jobs
}

// The positions in a reading.
extension StatusCount: CaseIterable {
    static let allCases: [StatusCount] =
        [
            .genuine, .rejected, .undecided, .fromNearCache, .fromSharedCache, .fromReceipts, .fromApple, .degraded,
            .secretRejected, .serverAPIKeyRejected, .intercepted, .contradicted, .unreachableForCallers, .overBudget,
            .unknownTransactions, .cacheHits, .cacheStale, .cacheMisses, .coalescedRequests, .leasesFound,
            .cacheFaults, .cacheForgeries, .limitsAdmitted, .limitsAlone, .limitsInShadow, .refusedByRate,
            .refusedByConcurrency, .wrongCredentials, .answers, .serverErrors, .refusedAtEdge, .overloaded,
            .storeDone, .storeFailed, .storeRejected, .invalidations, .notificationsApplied, .deadLetters,
            .recoveries, .recoveriesFailed, .jobsCreated, .jobsDone, .jobsRefused, .jobsLost,
        ] + UpstreamEndpoint.allCases.flatMap { [.answered($0), .failed($0), .unsent($0)] } + .receiptAnswers
        + .receivedNotifications

    private static let positions = Dictionary(uniqueKeysWithValues: zip(allCases, allCases.indices))

    /// The index in `allCases`.
    var position: Int {
        guard let found = Self.positions[self] else { preconditionFailure("allCases lacks \(self)") }
        return found
    }
}

extension StatusTiming: CaseIterable {
    static let allCases: [StatusTiming] =
        [.answers, .store, .notifications, .jobs] + UpstreamEndpoint.allCases.map(apple)

    private static let positions = Dictionary(uniqueKeysWithValues: zip(allCases, allCases.indices))

    /// The index in `allCases`.
    var position: Int {
        guard let found = Self.positions[self] else { preconditionFailure("allCases lacks \(self)") }
        return found
    }
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

    static func requests(to endpoint: UpstreamEndpoint, _ isMeant: (UpstreamOutcome) -> Bool) -> Self {
        .init(MetricCatalogue.upstreamRequests) { (labels: EndpointLabels<UpstreamOutcome>) in
            labels.first == endpoint && isMeant(labels.second)
        }
    }

    static func unsent(_ endpoint: UpstreamEndpoint) -> Self {
        .init(MetricCatalogue.upstreamRejected) { (labels: EndpointLabels<LocalRejection>) in labels.first == endpoint }
    }

    static func calls(_ outcome: ServerAPICallOutcome) -> Self {
        .init(MetricCatalogue.serverAPICalls) { (labels: ServerAPICallLabels) in labels.second == outcome }
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

    static func jobs(_ isMeant: (JobCountLabel) -> Bool) -> Self { .init(MetricCatalogue.jobs, where: isMeant) }

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
        case .fromApple: .verdicts { $0.cache == .miss && $0.source != .local }
        case .receiptAnswered(let source): .init(MetricCatalogue.receiptAnswers, source.labelValues)
        case .degraded:
            .init(MetricCatalogue.degraded) { $0 != DegradedReason.stopping && $0 != .sharedStoreUnreachable }
        case .secretRejected: .init(MetricCatalogue.degraded, DegradedReason.sharedSecretRejected.labelValues)
        case .serverAPIKeyRejected:
            .init(MetricCatalogue.degraded, DegradedReason.serverAPIKeyRejected.labelValues)
        case .intercepted:
            .init(MetricCatalogue.contradictions) { (contradiction: Contradiction) in contradiction.showsInterception }
        case .contradicted:
            .init(MetricCatalogue.contradictions) { (contradiction: Contradiction) in !contradiction.showsInterception }
        case .unreachableForCallers:
            .init(MetricCatalogue.undecided, UndecidedReason.upstreamDidNotAnswer.labelValues)
        case .answered(let endpoint): .requests(to: endpoint) { !$0.isFailure }
        case .failed(let endpoint): .requests(to: endpoint, \.isFailure)
        case .unsent(let endpoint): .unsent(endpoint)
        case .overBudget: .calls(.budget)
        case .unknownTransactions: .init(MetricCatalogue.unknownTransactionIDs)
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
        case .notifications(let outcome):
            .init(MetricCatalogue.notificationsReceived) { (labels: ReceivedNotificationLabels) in
                labels.outcome == outcome
            }
        case .notificationsApplied: .init(MetricCatalogue.notificationsApplied) { (_: NotificationEffect) in true }
        case .deadLetters: .init(MetricCatalogue.notificationDeadLetters) { (_: DeadLetterReason) in true }
        case .recoveries: .init(MetricCatalogue.notificationRecoveries, RecoveryOutcome.succeeded.labelValues)
        case .recoveriesFailed: .init(MetricCatalogue.notificationRecoveries, RecoveryOutcome.failed.labelValues)
        case .jobsCreated: .jobs { $0 == .created }
        case .jobsDone: .jobs { $0 == .done }
        case .jobsRefused: .jobs { $0 == .refusedClientLimit || $0 == .refusedTotalLimit }
        case .jobsLost: .jobs { $0 == .expired || $0 == .failed }
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
        case .apple: MetricCatalogue.upstreamDuration
        case .store: MetricCatalogue.storeRoundTrips
        case .notifications: MetricCatalogue.notificationApplySeconds
        case .jobs: MetricCatalogue.jobSeconds
        }
    }

    fileprivate func histograms(_ registry: PrometheusRegistry) -> [PrometheusHistogram] {
        let labels: [[String]] =
            switch self {
            case .answers: DurationLabels.allCases.filter(\.route.isVerification).map(\.labelValues)
            case .apple(let endpoint): [endpoint.labelValues]
            case .store, .notifications, .jobs: [[]]
            }
        return labels.map { registry.histogram(family, $0) }
    }
}

extension UpstreamOutcome {
    /// True if Apple did not answer, or requested a pause.
    fileprivate var isFailure: Bool {
        switch self {
        case .failed, .throttled: true
        case .answered, .otherEnvironment, .refused: false
        }
    }
}

extension RouteLabel {
    fileprivate var isVerification: Bool { self == .verify || self == .verifyReceipt }
}
