// SPDX-License-Identifier: Apache-2.0

import Receipts
import Testing

@testable import Gateway
@testable import Server
@testable import ServerTestSupport
@testable import Telemetry

/// The verdicts in the metrics.
struct VerificationMetricsTests {
    private let registry: PrometheusRegistry
    private let metrics: VerificationMetrics

    init() throws {
        registry = try PrometheusRegistry(MetricCatalogue.all)
        metrics = VerificationMetrics(registry)
    }

    /// Returns the counts of `receipt_gateway_receipt_answers_total`: local, Apple's, and the Server API's.
    private var receiptAnswers: [UInt64] {
        Provenance.Source.allCases.map { registry.counter(MetricCatalogue.receiptAnswers, $0.labelValues).value }
    }

    private func count(
        _ verdict: Verdict = .genuine, from source: Provenance.Source, _ cache: Provenance.Cache = .miss,
        to kind: RequestSubject.Kind, times: Int = 1
    ) {
        let now = StatusSample.now
        let provenance = Provenance(source: source, cache: cache, verifiedAt: now)
        let answer = Answer(verdict: verdict, provenance: provenance, freshUntil: now)
        let counters = metrics.counters(for: answer, to: kind)
        for _ in 0..<times { counters.increment() }
    }

    @Test func `answers about receipts are counted by source, from caches too`() {
        count(from: .serverAPI, to: .appReceipt)
        count(from: .serverAPI, .near, to: .appReceipt)
        count(from: .serverAPI, .stale, to: .transactionReceipt)
        count(from: .apple, .shared, to: .appReceipt)
        count(from: .local, to: .transactionReceipt)
        count(from: .notification, to: .appReceipt)
        #expect(receiptAnswers == [1, 1, 3, 1])
    }

    @Test(arguments: RequestSubject.Kind.allCases) func `other evidence is no receipt`(kind: RequestSubject.Kind) {
        count(from: .serverAPI, to: kind)
        #expect(receiptAnswers == [0, 0, [.appReceipt, .transactionReceipt].contains(kind) ? 1 : 0, 0])
    }

    @Test(arguments: [
        Verdict.rejected(.rule(.signatureInvalid)), .rejected(.accountNotFound), .undecided(.upstreamDidNotAnswer),
    ]) func `only genuine receipts count`(verdict: Verdict) {
        count(verdict, from: .apple, to: .appReceipt)
        #expect(receiptAnswers == [0, 0, 0, 0])
    }

    @Test func `an answer that is repeated counts each time`() {
        count(from: .apple, .near, to: .appReceipt, times: 3)
        #expect(receiptAnswers == [0, 3, 0, 0])
    }
}
