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
    case fromNearCache, fromSharedCache, fromReceipts, fromNotifications, fromApple
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

extension StatusCount: CaseIterable {
    static let allCases = series.map(\.0)

    private static let positions = Dictionary(uniqueKeysWithValues: zip(allCases, allCases.indices))

    /// The index in `allCases`, and so in a reading.
    var position: Int {
        guard let found = Self.positions[self] else { preconditionFailure("there are no series of \(self)") }
        return found
    }

    fileprivate static let series = ofGateway + ofEndpoints + ofSources + ofIntake

    private static let ofGateway: [(StatusCount, SelectedSeries)] = [
        (.genuine, .verdicts { $0.verdict == .genuine }),
        (.rejected, .verdicts { $0.verdict == .rejected }),
        (.undecided, .verdicts { $0.verdict == .undecided }),
        (.fromNearCache, .verdicts { $0.cache == .near }),
        (.fromSharedCache, .verdicts { $0.cache == .shared || $0.cache == .stale }),
        (.fromReceipts, .verdicts { $0.cache == .miss && $0.source == .local }),
        (.fromNotifications, .verdicts { $0.cache == .miss && $0.source == .notification }),
        (.fromApple, .verdicts { $0.cache == .miss && ($0.source == .apple || $0.source == .serverAPI) }),
        (.degraded, .init(MetricCatalogue.degraded) { $0 != DegradedReason.stopping && $0 != .sharedStoreUnreachable }),
        (.secretRejected, .init(MetricCatalogue.degraded, DegradedReason.sharedSecretRejected)),
        (.serverAPIKeyRejected, .init(MetricCatalogue.degraded, DegradedReason.serverAPIKeyRejected)),
        (.intercepted, .init(MetricCatalogue.contradictions, where: \Contradiction.showsInterception)),
        (.contradicted, .init(MetricCatalogue.contradictions) { (found: Contradiction) in !found.showsInterception }),
        (.unreachableForCallers, .init(MetricCatalogue.undecided, UndecidedReason.upstreamDidNotAnswer)),
        (.overBudget, .init(MetricCatalogue.serverAPICalls) { (call: ServerAPICallLabels) in call.second == .budget }),
        (.unknownTransactions, .init(MetricCatalogue.unknownTransactionIDs)),
        (.cacheHits, .lookups(.shared)), (.cacheStale, .lookups(.stale)), (.cacheMisses, .lookups(.miss)),
        (.coalescedRequests, .init(MetricCatalogue.coalescedRequests)),
        (.leasesFound, .init(MetricCatalogue.flightLeases, LeaseOutcome.found)),
        (.cacheFaults, .init(MetricCatalogue.sharedCacheFaults)),
        (.cacheForgeries, .init(MetricCatalogue.sharedCacheFaults, SharedCacheFault.sealInvalid)),
        (.limitsAdmitted, .decisions { $0.decision == .admitted }),
        (.limitsAlone, .decisions { $0.source.isDegraded }),
        (.limitsInShadow, .decisions { $0.decision == .refusedInShadow }),
        (.refusedByRate, .init(MetricCatalogue.limitedRequests, LimitedRequestLabel.rate)),
        (.refusedByConcurrency, .init(MetricCatalogue.limitedRequests, LimitedRequestLabel.concurrency)),
        (.wrongCredentials, .init(MetricCatalogue.wrongFormCredentials)),
        (.answers, .answers { _ in true }),
        (.serverErrors, .answers { DurationLabels($0).codeClass == .serverError }),
        (.refusedAtEdge, .init(MetricCatalogue.refusals)),
        (.overloaded, .init(MetricCatalogue.refusals) { $0 == EdgeRefusal.overloaded || $0 == .answerLate }),
        (.storeDone, .commands { $0 == .ok }),
        (.storeFailed, .commands { $0 != .ok && $0 != .rejected }),
        (.storeRejected, .commands { $0 == .rejected }),
        (.invalidations, .init(MetricCatalogue.storeInvalidations)),
        (.notificationsApplied, .init(MetricCatalogue.notificationsApplied)),
        (.deadLetters, .init(MetricCatalogue.notificationDeadLetters)),
        (.recoveries, .init(MetricCatalogue.notificationRecoveries, RecoveryOutcome.succeeded)),
        (.recoveriesFailed, .init(MetricCatalogue.notificationRecoveries, RecoveryOutcome.failed)),
        (.jobsCreated, .jobs { $0 == .created }), (.jobsDone, .jobs { $0 == .done }),
        (.jobsRefused, .jobs { $0 == .refusedClientLimit || $0 == .refusedTotalLimit }),
        (.jobsLost, .jobs { $0 == .expired || $0 == .failed }),
    ]

    private static let ofEndpoints: [(StatusCount, SelectedSeries)] = UpstreamEndpoint.allCases.flatMap { endpoint in
        [
            (.answered(endpoint), .requests(to: endpoint) { !$0.isFailure }),
            (.failed(endpoint), .requests(to: endpoint, \.isFailure)),
            (
                .unsent(endpoint),
                .init(MetricCatalogue.upstreamRejected) { (labels: EndpointLabels<LocalRejection>) in
                    labels.first == endpoint
                }
            ),
        ]
    }

    private static let ofSources: [(StatusCount, SelectedSeries)] = Provenance.Source.allCases.map { source in
        (.receiptAnswered(source), .init(MetricCatalogue.receiptAnswers, source))
    }

    private static let ofIntake: [(StatusCount, SelectedSeries)] = IntakeOutcome.allCases.map { outcome in
        let series = SelectedSeries(MetricCatalogue.notificationsReceived) { (labels: ReceivedNotificationLabels) in
            labels.outcome == outcome
        }
        return (.notifications(outcome), series)
    }
}

extension StatusTiming: CaseIterable {
    static let allCases = series.map(\.0)

    private static let positions = Dictionary(uniqueKeysWithValues: zip(allCases, allCases.indices))

    /// The index in `allCases`, and so in a reading.
    var position: Int {
        guard let found = Self.positions[self] else { preconditionFailure("there are no series of \(self)") }
        return found
    }

    fileprivate static let series: [(StatusTiming, SelectedSeries)] =
        [
            (.answers, .init(MetricCatalogue.requestDuration, where: \DurationLabels.route.isObjective)),
            (.store, .init(MetricCatalogue.storeRoundTrips)),
            (.notifications, .init(MetricCatalogue.notificationApplySeconds)),
            (.jobs, .init(MetricCatalogue.jobSeconds)),
        ] + UpstreamEndpoint.allCases.map { (.apple($0), .init(MetricCatalogue.upstreamDuration, $0)) }

    var bounds: [Double] {
        if case .histogram(let bounds) = Self.series[position].1.family.kind { bounds } else { [] }
    }
}

/// The handles of the series. Reading them does not block counting.
struct StatusInstruments: Sendable {
    private let counters: [[PrometheusCounter]]
    private let timings: [[PrometheusHistogram]]

    init(_ registry: PrometheusRegistry) {
        counters = StatusCount.series.map { $0.1.instruments(registry.counter) }
        timings = StatusTiming.series.map { $0.1.instruments(registry.histogram) }
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

/// Series of one family.
private struct SelectedSeries {
    let family: MetricFamily
    let labelSets: [[String]]

    init(_ family: MetricFamily) { (self.family, labelSets) = (family, family.labelSets) }

    init(_ family: MetricFamily, _ labels: some SeriesLabels) {
        (self.family, labelSets) = (family, [labels.labelValues])
    }

    init<Labels: SeriesLabels>(_ family: MetricFamily, where isMeant: (Labels) -> Bool) {
        (self.family, labelSets) = (family, Labels.allCases.filter(isMeant).map(\.labelValues))
    }

    func instruments<Instrument>(_ instrument: (MetricFamily, [String]) -> Instrument) -> [Instrument] {
        labelSets.map { instrument(family, $0) }
    }

    static func verdicts(_ isMeant: (VerificationLabels) -> Bool) -> Self {
        .init(MetricCatalogue.verifications, where: isMeant)
    }

    static func requests(to endpoint: UpstreamEndpoint, _ isMeant: (UpstreamOutcome) -> Bool) -> Self {
        .init(MetricCatalogue.upstreamRequests) { (labels: EndpointLabels<UpstreamOutcome>) in
            labels.first == endpoint && isMeant(labels.second)
        }
    }

    static func lookups(_ result: Provenance.Cache) -> Self {
        .init(MetricCatalogue.cacheLookups) { (label: CacheLookupLabel) in label.cache == result }
    }

    static func decisions(_ isMeant: (LimitDecisionLabels) -> Bool) -> Self {
        .init(MetricCatalogue.limitDecisions, where: isMeant)
    }

    static func answers(_ isMeant: (AnswerLabels) -> Bool) -> Self {
        .init(MetricCatalogue.requests) { (labels: AnswerLabels) in labels.route.isObjective && isMeant(labels) }
    }

    static func jobs(_ isMeant: (JobCountLabel) -> Bool) -> Self { .init(MetricCatalogue.jobs, where: isMeant) }

    static func commands(_ isMeant: (StoreCommandOutcome) -> Bool) -> Self {
        .init(MetricCatalogue.storeCommands, where: isMeant)
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
