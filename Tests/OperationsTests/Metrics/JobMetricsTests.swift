// SPDX-License-Identifier: Apache-2.0

import Customers
import Testing

@testable import Server
@testable import ServerTestSupport
@testable import Telemetry

/// Deferred verifications, in metrics and log.
struct JobMetricsTests {
    private let lines = LogLines()
    private let clock = StandingClock(at: SignedSamples.now)
    private let surveys = JobSurveys()
    private let registry: PrometheusRegistry
    private let metrics: JobMetrics

    init() throws {
        registry = try PrometheusRegistry(MetricCatalogue.all, readings: surveys.readings)
        metrics = JobMetrics(registry, surveys: surveys, logger: lines.logger(), clock: { [clock] in clock.time })
    }

    private func has(_ line: String) -> Bool { registry.has("job\(line)") }

    @Test func `each event is counted by its word`() {
        for event in [
            .created, .created, .joined, .refused(.clientLimit), .refused(.totalLimit), .refused(.storeUnreachable),
            .refused(.evicts), .refused(.tooLarge),
            .attempted(.decided), .attempted(.upstream), .attempted(.request), .attempted(.impossible),
            .ended(.done, after: .seconds(7)), .ended(.expired, after: .seconds(259_200)),
            .ended(.failed, after: .seconds(9)),
        ] as [JobEvent] { metrics.observe(event) }
        for line in [
            #"s_total{outcome="created"} 2"#, #"s_total{outcome="joined"} 1"#,
            #"s_total{outcome="refused_client_limit"} 1"#, #"s_total{outcome="refused_total_limit"} 1"#,
            #"s_total{outcome="store_unreachable"} 1"#, #"s_total{outcome="store_evicts"} 1"#,
            #"s_total{outcome="too_large"} 1"#, #"s_total{outcome="done"} 1"#,
            #"s_total{outcome="expired"} 1"#, #"s_total{outcome="failed"} 1"#,
            #"_attempts_total{outcome="decided"} 1"#, #"_attempts_total{outcome="upstream"} 1"#,
            #"_attempts_total{outcome="request"} 1"#, #"_attempts_total{outcome="impossible"} 1"#,
        ] { #expect(has(line), "\(line)") }
        #expect(registry.isDeclared)
    }

    @Test func `only verdicts count in the time, and a key with another request nowhere`() {
        metrics.observe(.ended(.done, after: .seconds(7)))
        metrics.observe(.ended(.expired, after: .seconds(259_200)))
        metrics.observe(.refused(.keyReused))
        #expect(has("_seconds_count 1") && has("_seconds_sum 7"))
        #expect(has(#"s_total{outcome="refused_client_limit"} 0"#) && has(#"s_total{outcome="store_unreachable"} 0"#))
    }

    @Test func `the last survey is read at each scrape`() {
        #expect(has("s_waiting 0") && has("_oldest_seconds 0"))
        var survey = JobSurvey()
        (survey.waiting, survey.bytes, survey.oldestAge, survey.failed) = (4, 5000, .seconds(90), 2)
        survey.keptBytes = 7000
        metrics.observe(.surveyed(survey))
        #expect(has("_kept_bytes 7000"))
        #expect(has("s_waiting 4") && has("_bytes 5000") && has("_oldest_seconds 90") && has("s_failed 2"))
        metrics.observe(.surveyed(JobSurvey()))
        #expect(has("s_waiting 0") && has("_oldest_seconds 0"))
    }

    @Test func `a Redis that may evict is logged once an hour, with the remedy`() {
        for _ in 1...2 { metrics.observe(.refused(.evicts)) }
        metrics.observe(.refused(.storeUnreachable))
        #expect(lines.containing("maxmemory-policy volatile-lru or noeviction").count == 1)
        clock.advance(by: .seconds(3601))
        metrics.observe(.refused(.evicts))
        #expect(lines.containing("maxmemory-policy volatile-lru or noeviction").count == 2)
    }

    @Test func `dead letters are logged once an hour`() {
        metrics.observe(.deadLettered)
        metrics.observe(.deadLettered)
        #expect(lines.containing("verifications list --status failed").count == 1)
        clock.advance(by: .seconds(3601))
        metrics.observe(.deadLettered)
        #expect(lines.containing("verifications list --status failed").count == 2)
    }
}
