// SPDX-License-Identifier: Apache-2.0

package import Gateway
package import Logging
package import Receipts

package final class VerificationMetrics: Sendable {
    private let verifications: [VerificationLabels: PrometheusCounter]
    private let rejections: [Rejection: PrometheusCounter]
    private let undecided: [UndecidedReason: PrometheusCounter]
    private let evidence: [RequestSubject.Kind: PrometheusCounter]
    private let signedItems: [SignedItemLookup: PrometheusCounter]
    private let receiptAnswers: [Provenance.Source: PrometheusCounter]
    private let signedAnswers: [AnswerSignature: PrometheusCounter]

    package init(_ registry: PrometheusRegistry) {
        verifications = registry.counters(MetricCatalogue.verifications)
        rejections = registry.counters(MetricCatalogue.rejections)
        undecided = registry.counters(MetricCatalogue.undecided)
        evidence = registry.counters(MetricCatalogue.evidence)
        signedItems = registry.counters(MetricCatalogue.signedItems)
        receiptAnswers = registry.counters(MetricCatalogue.receiptAnswers)
        signedAnswers = registry.counters(MetricCatalogue.signedAnswers)
    }

    /// Returns the counters for an answer, incremented each time a client gets it.
    package func counters(for answer: Answer, to kind: RequestSubject.Kind) -> VerdictCounters {
        let reason: PrometheusCounter? =
            switch answer.verdict {
            case .genuine: nil
            case .rejected(let rejection): rejections[rejection]
            case .undecided(let reason): undecided[reason]
            }
        let isReceiptAnswer = kind.isReceipt && answer.verdict == .genuine
        return VerdictCounters(
            verdict: verifications[VerificationLabels(answer)], reason: reason, evidence: evidence[kind],
            receiptAnswer: isReceiptAnswer ? receiptAnswers[answer.provenance.source] : nil)
    }

    /// Counts a look-up of a signed item among the items verified lately.
    package func countSignedItem(isKnown: Bool) { signedItems[isKnown ? .hit : .miss]?.increment() }

    package func count(_ signature: AnswerSignature) { signedAnswers[signature]?.increment() }
}

package struct VerdictCounters: Sendable {
    fileprivate let verdict: PrometheusCounter?
    fileprivate let reason: PrometheusCounter?
    fileprivate let evidence: PrometheusCounter?
    /// Nil unless a receipt is genuine.
    fileprivate let receiptAnswer: PrometheusCounter?

    package func increment() {
        verdict?.increment()
        reason?.increment()
        evidence?.increment()
        receiptAnswer?.increment()
    }
}

package struct VerificationLabels: SeriesLabels {
    /// The verdict without its reason.
    package enum VerdictLabel: String, CaseIterable, Sendable {
        case genuine, rejected, undecided

        init(_ verdict: Verdict) {
            switch verdict {
            case .genuine: self = .genuine
            case .rejected: self = .rejected
            case .undecided: self = .undecided
            }
        }
    }

    package let verdict: VerdictLabel
    package let source: Provenance.Source
    package let cache: Provenance.Cache
    /// The environment; nil if the receipt's claim cannot be trusted.
    let environment: Environment?

    /// Hashes the numbers of the cases: the standard library would hash their texts.
    package func hash(into hasher: inout Hasher) {
        assert(MemoryLayout<Self>.size == 4)
        // SAFETY: four enumerations of one byte each, without padding.
        unsafe withUnsafeBytes(of: self) { unsafe hasher.combine(bytes: $0) }
    }

    package static let labelNames = ["verdict", "source", "cache", "environment"]
    package var labelValues: [String] {
        [verdict.rawValue, source.rawValue, cache.rawValue, environment?.rawValue ?? "unknown"]
    }

    package static let allCases = VerdictLabel.allCases.flatMap { verdict in
        Provenance.Source.allCases.flatMap { source in
            Provenance.Cache.allCases.flatMap { cache in
                (Environment.allCases + [nil]).map { environment in
                    VerificationLabels(verdict: verdict, source: source, cache: cache, environment: environment)
                }
            }
        }
    }
}

extension VerificationLabels {
    init(_ answer: Answer) {
        self.init(
            verdict: VerdictLabel(answer.verdict), source: answer.provenance.source, cache: answer.provenance.cache,
            environment: answer.environment)
    }
}

/// The outcome of a look-up among the signed items verified lately.
package enum SignedItemLookup: String, SeriesLabels {
    case hit, miss

    package static let labelNames = ["result"]
}

/// The signature of an answer.
package enum AnswerSignature: String, SeriesLabels {
    /// Made for this answer.
    case made
    /// Made for this request alone, which has a nonce.
    case nonce
    /// The signature of an earlier answer to the same request.
    case repeated

    package static let labelNames = ["signature"]
}

extension RequestSubject.Kind: SeriesLabels {
    package static let labelNames = ["kind"]

    /// True for the evidence that `verifyReceipt` takes.
    fileprivate var isReceipt: Bool { self == .appReceipt || self == .transactionReceipt }
}

extension Rejection: SeriesLabels {
    package static let labelNames = ["rule"]
    package var labelValues: [String] { [name] }
}

/// Counts and reports the signed claims that have a form that is not read.
package final class IgnoredClaims: Sendable {
    private let registry: PrometheusRegistry
    private let log: OperatorLog

    package init(_ registry: PrometheusRegistry, logger: Logger, clock: @escaping @Sendable () -> Timestamp) {
        self.registry = registry
        log = OperatorLog(logger, clock: clock)
    }

    /// Counts a claim, and logs it once an hour.
    /// - Parameter claim: the name of an `IgnorableClaim`.
    package func saw(_ claim: String) {
        if let claim = IgnorableClaim(rawValue: claim) { registry.count(MetricCatalogue.ignoredClaims, claim) }
        log.log(
            about: claim, "A signed claim has a form that is not read, and is left out of answers",
            metadata: ["claim": "\(claim)"])
    }
}
