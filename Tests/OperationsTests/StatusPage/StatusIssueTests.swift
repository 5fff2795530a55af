// SPDX-License-Identifier: Apache-2.0

import Receipts
import Redis
import Resilience
import Testing

@testable import Gateway
@testable import HTTPServer
@testable import Operations
@testable import RedisStore
@testable import ServerTestSupport
@testable import Settings
@testable import Telemetry

/// The issues on the page, and their conditions.
@Suite("Issues on the status page")
struct StatusIssueTests {
    private static let wrongPassword = RedisRefusal(line: "WRONGPASS invalid username-password pair")

    @Test func `a healthy node has no issues`() throws {
        let sample = try StatusSample()
        #expect(sample.issues() == [])
        #expect(sample.issues { sample.count(.genuine, times: 1000) } == [])
    }

    @Test func `a draining node is an issue`() throws {
        let sample = try StatusSample()
        sample.lifecycle.advance(to: .draining)
        #expect(sample.issues().map(\.severity) == [.warning])
        #expect(sample.issues().first?.text.contains("draining") == true)
    }

    @Test func `a connecting Redis is an info, a silent one a warning with its runbook`() throws {
        let sample = try StatusSample(isEmbedded: false)
        #expect(sample.issues().map(\.severity) == [.info])
        sample.store.settle()
        #expect(sample.issues().map(\.runbook) == [.redisUnavailable])
        sample.store.recordLogin(.commands, failed: .refused(Self.wrongPassword))
        #expect(sample.issues().map(\.runbook) == [.redisMisconfigured])
        #expect(sample.issues().first?.severity == .critical)
    }

    @Test func `a rejected configuration is a warning until one is accepted`() throws {
        let sample = try StatusSample()
        sample.reloads.record(LastReload(time: StatusSample.now, result: .refused))
        #expect(sample.issues().map(\.runbook) == [.configurationReloadFailed])
        sample.reloads.record(LastReload(time: StatusSample.now, result: .success))
        #expect(sample.issues() == [])
    }

    @Test func `a breaker forced open is named with its setting`() throws {
        let sample = try StatusSample { $0.apple.breaker = .forcedOpen }
        #expect(sample.issues().map(\.runbook) == [.circuitBreakerOpen, .circuitBreakerOpen])
        #expect(sample.issues().first?.text.contains("forced_open") == true)
        let alone = try StatusSample { ($0.apple.breaker, $0.apple.isEnabled) = (.forcedOpen, false) }
        #expect(alone.issues() == [], "Apple is not asked")
    }

    @Test(arguments: [CircuitBreaker.State.Name.open, .halfOpen, .closed])
    func `a breaker that suspends nothing is an info`(breaker: CircuitBreaker.State.Name) throws {
        let health = UpstreamHealth(
            breaker: breaker, breakerMode: .metricsOnly, breakerOpensFor: nil, pausedFor: nil, inFlight: 0,
            concurrencyLimit: 1, waiting: 0, budgetRemaining: nil)
        let sample = try StatusSample()
        var history = StatusHistory(first: sample.sources.reading)
        let issue = sample.sources.appleIssue(Self.serverAPI, health, StatusWindows(history).minute)
        #expect(issue?.severity == (breaker == .closed ? nil : .info))
        #expect(issue?.text.contains("gets no requests") != true)
        let failed = EndpointLabels(Self.serverAPI, UpstreamOutcome.failed(.timeout))
        sample.count(MetricCatalogue.upstreamRequests, failed, times: 100)
        history.append(sample.sources.reading)
        let failing = sample.sources.appleIssue(Self.serverAPI, health, StatusWindows(history).minute)
        #expect(failing?.severity == .warning && failing?.runbook == .appleErrorRateHigh)
    }

    @Test func `verdicts of any form count, and notifications are a source of their own`() throws {
        let sample = try StatusSample()
        var history = StatusHistory(first: sample.sources.reading)
        #expect(StatusReport(sample.sources, history).summary == "No verdicts in the last minute.")
        let labels = VerificationLabels(
            verdict: .genuine, source: .notification, cache: .miss, environment: .production)
        sample.count(MetricCatalogue.verifications, labels, times: 6)
        history.append(sample.sources.reading)
        let minute = StatusWindows(history).minute
        #expect(StatusReport(sample.sources, history).summary.hasPrefix("Verdicts in the last minute: "))
        #expect(minute.count(.fromNotifications) == 6 && minute.count(.fromApple) == 0)
    }

    @Test func `a pause is named with its duration`() throws {
        let sample = try StatusSample()
        sample.upstreams.guards.pause(.sandbox, for: .seconds(3600))
        #expect(sample.issues().map(\.runbook) == [.appleThrottling])
        #expect(sample.issues().first?.text.contains("sandbox") == true)
    }

    @Test func `an interface is named if it has an issue`() throws {
        let sample = try StatusSample(hasServerAPIKey: true)
        sample.upstreams.guards.pause(Self.serverAPI, for: .seconds(60))
        let issue = try #require(sample.issues().first)
        #expect(issue.text.contains("Server API (production)") && issue.runbook == .appleThrottling)
        #expect(issue.advice.contains("gateway.apple.server_api.budget_share"))
    }

    @Test func `an interface without a key or requests has no issue`() throws {
        let sample = try StatusSample()
        sample.upstreams.guards.pause(Self.serverAPI, for: .seconds(60))
        #expect(sample.issues() == [])
        let labels = EndpointLabels(Self.serverAPI, UpstreamOutcome.answered)
        let results = sample.issues { sample.count(MetricCatalogue.upstreamRequests, labels) }
        #expect(results.map(\.runbook) == [.appleThrottling], "a reload may have removed the key")
    }

    @Test func `failures of one interface do not count for the other`() throws {
        let sample = try StatusSample(hasServerAPIKey: true)
        func count(_ api: UpstreamAPI, _ outcome: UpstreamOutcome, times: Int64) {
            let labels = EndpointLabels(UpstreamEndpoint(api, .production), outcome)
            sample.count(MetricCatalogue.upstreamRequests, labels, times: times)
        }
        let results = sample.issues {
            count(.verifyReceipt, .answered, times: 1000)
            count(.serverAPI, .answered, times: 20)
            count(.serverAPI, .failed(.serverError), times: 5)
            count(.serverAPI, .throttled, times: 5)
        }
        #expect(
            results.map(\.text) == ["10 of 30 requests to Apple's Server API (production) failed in the last minute."])
    }

    @Test func `a rejected key and a budget that is used up have their runbooks`() throws {
        let sample = try StatusSample(hasServerAPIKey: true)
        let results = sample.issues {
            sample.count(MetricCatalogue.degraded, DegradedReason.serverAPIKeyRejected)
            let call = ServerAPICallLabels(LabelPair(.transactionHistory, .production), .budget)
            sample.count(MetricCatalogue.serverAPICalls, call)
        }
        #expect(results.map(\.runbook) == [.serverAPIKeyRejected, .serverAPIBudgetExhausted])
    }

    private static let serverAPI = UpstreamEndpoint(.serverAPI, .production)

    @Test(arguments: [(19, 19, []), (100, 5, []), (100, 6, [StatusIssue.Runbook.degradedAnswers])])
    func `degraded answers count above a minimum number and share`(
        _ verdicts: Int, _ degraded: Int, _ expected: [StatusIssue.Runbook]
    ) throws {
        let sample = try StatusSample()
        let results = sample.issues {
            sample.count(.genuine, .miss, times: verdicts)
            sample.count(MetricCatalogue.degraded, DegradedReason.circuitOpen, times: Int64(degraded))
        }
        #expect(results.compactMap(\.runbook) == expected)
    }

    @Test func `one forged value or contradiction is enough`() throws {
        let sample = try StatusSample()
        let results = sample.issues {
            sample.count(MetricCatalogue.sharedCacheFaults, SharedCacheFault.sealInvalid)
            sample.count(MetricCatalogue.contradictions, Contradiction.allCases[0])
        }
        #expect(results.map(\.runbook) == [.upstreamTLSInterception, .redisDataTampered])
        #expect(results.allSatisfy { $0.severity == .critical })
    }

    @Test(arguments: [
        (91, [nil]), (90, [StatusIssue.Severity.info]), (31, [.info]), (30, [.warning]), (7, [.critical]),
        (-1, [.critical]),
    ])
    func `the end of verifyReceipt becomes more severe as it approaches`(
        _ days: Int, _ expected: [StatusIssue.Severity?]
    ) throws {
        let sample = try StatusSample { $0.apple.sunset = StatusSample.now.advanced(by: .seconds(days * 86_400)) }
        let results = sample.issues()
        #expect(results.map(\.severity) == expected.compactMap(\.self))
        #expect(results.allSatisfy { $0.runbook == .sunsetApproaching })
    }

    @Test(arguments: [(nil, false), (91, false), (90, true), (30, true), (-1, true)])
    func `apps without a key are an issue once an end is announced within 90 days`(
        days: Int?, _ isIssue: Bool
    ) throws {
        let sample = try StatusSample(appsWithoutKey: ["com.example.a", "com.example.b"])
        if let days {
            let sunset = StatusSample.now.advanced(by: .seconds(days * 86_400))
            sample.upstreams.lifecycle.record(LifecycleDates(sunset: sunset), links: [], of: .production)
        }
        let issue = sample.issues().first { $0.runbook == .sunsetAppWithoutKey }
        #expect((issue != nil) == isIssue)
        #expect(
            issue.map { $0.severity == .warning && $0.text.hasSuffix(" for com.example.a, com.example.b.") } != false)
    }

    @Test func `an end without apps that lack a key is no issue about keys`() throws {
        let sample = try StatusSample { $0.apple.sunset = StatusSample.now }
        #expect(sample.issues().map(\.runbook) == [.sunsetApproaching])
    }

    @Test func `the most severe issue comes first, and determines the summary`() throws {
        let sample = try StatusSample(isEmbedded: false) { $0.apple.breaker = .forcedOpen }
        sample.store.recordLogin(.commands, failed: .refused(Self.wrongPassword))
        #expect(sample.issues().map(\.severity) == [.critical, .warning, .warning])
        let report = StatusReport(sample.sources, StatusHistory(first: sample.sources.reading))
        #expect(report.verdict == .failing)
        #expect(
            StatusReport(try StatusSample().sources, StatusHistory(first: sample.sources.reading)).verdict == .healthy)
    }
}
