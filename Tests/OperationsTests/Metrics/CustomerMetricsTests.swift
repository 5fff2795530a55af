// SPDX-License-Identifier: Apache-2.0

import Customers
import Testing

@testable import Server
@testable import ServerTestSupport
@testable import Telemetry

/// Ownership and erasures, in metrics.
struct CustomerMetricsTests {
    private let registry: PrometheusRegistry

    init() throws { registry = try PrometheusRegistry(MetricCatalogue.all) }

    @Test func `each check of an account is counted by its result`() {
        let metrics = OwnershipMetrics(registry)
        for event in [
            .checked(.firstSeen), .checked(.same), .checked(.same), .checked(.other), .checked(.unknown), .rejected,
            .fraudSuspected,
        ] as [OwnershipEvent] { metrics.observe(event) }
        for line in [
            #"ownership_total{result="first_seen"} 1"#, #"ownership_total{result="same"} 2"#,
            #"ownership_total{result="other"} 1"#, #"ownership_total{result="unknown"} 1"#,
            "ownership_rejections_total 1", "fraud_suspected_total 1",
        ] { #expect(registry.has(line), "\(line)") }
    }

    @Test func `erasures are counted with what they deleted`() {
        let metrics = ErasureMetrics(registry)
        metrics.observe(.done([.ownership: 2, .events: 7]))
        metrics.observe(.done([:]))
        metrics.observe(.failed)
        for line in [
            #"erasures_total{outcome="done"} 2"#, #"erasures_total{outcome="failed"} 1"#,
            #"erased_entries_total{kind="ownership"} 2"#, #"erased_entries_total{kind="events"} 7"#,
            #"erased_entries_total{kind="dead_letters"} 0"#,
        ] { #expect(registry.has(line), "\(line)") }
        #expect(registry.isDeclared)
    }
}
