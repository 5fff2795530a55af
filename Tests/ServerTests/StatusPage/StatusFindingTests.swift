// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

import Gateway
import PrometheusExport
import Receipts
import Redis
import Resilience
import Testing

@testable import HTTPServer
@testable import Operations
@testable import RedisStore
@testable import Settings
@testable import Telemetry

/// What the page says is wrong, and when.
@Suite("Findings of the status page")
struct StatusFindingTests {
    private static let wrongPassword = RedisRefusal(line: "WRONGPASS invalid username-password pair")

    @Test func `a node that is well has nothing to say`() throws {
        let sample = try StatusSample()
        #expect(sample.findings() == [])
        #expect(sample.findings { sample.count(.genuine, times: 1000) } == [])
    }

    @Test func `a node that drains says so`() throws {
        let sample = try StatusSample()
        sample.lifecycle.advance(to: .draining)
        #expect(sample.findings().map(\.severity) == [.warning])
        #expect(sample.findings().first?.text.contains("draining") == true)
    }

    @Test func `a Redis that is not asked yet is a note, and one that is silent a warning with its runbook`() throws {
        let sample = try StatusSample(isEmbedded: false)
        #expect(sample.findings().map(\.severity) == [.info])
        sample.store.settle()
        #expect(sample.findings().map(\.runbook) == [.redisAway])
        sample.store.noteLogin(.commands, refused: Self.wrongPassword)
        #expect(sample.findings().map(\.runbook) == [.redisMisconfigured])
        #expect(sample.findings().first?.severity == .critical)
    }

    @Test func `a configuration that was refused is a warning until one is taken`() throws {
        let sample = try StatusSample()
        sample.reloads.record(LastReload(time: StatusSample.now, result: .refused))
        #expect(sample.findings().map(\.runbook) == [.reloadFailed])
        sample.reloads.record(LastReload(time: StatusSample.now, result: .success))
        #expect(sample.findings() == [])
    }

    @Test func `a breaker that is open by order is named with its setting`() throws {
        let sample = try StatusSample { $0.apple.breaker = .forcedOpen }
        #expect(sample.findings().map(\.runbook) == [.breakerOpen, .breakerOpen])
        #expect(sample.findings().first?.text.contains("forced_open") == true)
        let alone = try StatusSample { ($0.apple.breaker, $0.apple.isEnabled) = (.forcedOpen, false) }
        #expect(alone.findings() == [], "Apple is not asked")
    }

    @Test func `a pause says how long it lasts`() throws {
        let sample = try StatusSample()
        sample.upstreams.guards.pause(.sandbox, for: .seconds(3600))
        #expect(sample.findings().map(\.runbook) == [.appleThrottles])
        #expect(sample.findings().first?.text.contains("sandbox") == true)
    }

    @Test(arguments: [(19, 19, []), (100, 5, []), (100, 6, [StatusFinding.Runbook.degraded])])
    func `degraded answers count where there are enough of both`(
        _ verdicts: Int, _ degraded: Int, _ expected: [StatusFinding.Runbook]
    ) throws {
        let sample = try StatusSample()
        let findings = sample.findings {
            sample.count(.genuine, .miss, times: verdicts)
            sample.registry.counter(MetricCatalogue.degraded, DegradedReason.circuitOpen.labelValues)
                .increment(by: Int64(degraded))
        }
        #expect(findings.compactMap(\.runbook) == expected)
    }

    @Test func `one forged value or contradiction is enough`() throws {
        let sample = try StatusSample()
        let findings = sample.findings {
            sample.registry.counter(MetricCatalogue.sharedCacheFaults, SharedCacheFault.sealInvalid.labelValues)
                .increment()
            sample.registry.counter(MetricCatalogue.contradictions, Contradiction.allCases[0].labelValues).increment()
        }
        #expect(findings.map(\.runbook) == [.somebodyBetween, .tampered])
        #expect(findings.allSatisfy { $0.severity == .critical })
    }

    @Test(arguments: [
        (91, [nil]), (90, [StatusFinding.Severity.info]), (31, [.info]), (30, [.warning]), (7, [.critical]),
        (-1, [.critical]),
    ])
    func `the end of verifyReceipt matters more the nearer it is`(
        _ days: Int, _ expected: [StatusFinding.Severity?]
    ) throws {
        let sample = try StatusSample { $0.apple.sunset = StatusSample.now.advanced(by: .seconds(days * 86_400)) }
        let findings = sample.findings()
        #expect(findings.map(\.severity) == expected.compactMap(\.self))
        #expect(findings.allSatisfy { $0.runbook == .sunset })
    }

    @Test func `what matters most comes first, and makes the verdict`() throws {
        let sample = try StatusSample(isEmbedded: false) { $0.apple.breaker = .forcedOpen }
        sample.store.noteLogin(.commands, refused: Self.wrongPassword)
        #expect(sample.findings().map(\.severity) == [.critical, .warning, .warning])
        let report = StatusReport(sample.sources, StatusHistory(first: sample.sources.reading))
        #expect(report.verdict == .failing)
        #expect(StatusReport(try StatusSample().sources, StatusHistory(first: sample.sources.reading)).verdict == .well)
    }
}
