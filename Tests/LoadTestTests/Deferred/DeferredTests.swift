// SPDX-License-Identifier: Apache-2.0

import AppleSimulator
import ArgumentParser
import Testing

@testable import LoadTest

/// The parts of `deferred` and `webhooks` without processes.
struct DeferredTests {
    @Test func `a gateway that is killed has a second gateway beside it`() throws {
        let fleet = try Self.plan("--kill").fleet, usual = try Self.plan().fleet
        #expect(fleet.gateways == 2 && fleet.hasBalancer && usual.gateways == 1 && !usual.hasBalancer)
        #expect(fleet.hasRedis && fleet.appendFsync == .everysec && fleet.apple != .healthy && fleet.limits == "")
    }

    @Test(arguments: [
        ["--jobs", "0"], ["--jobs", "1000001"], ["--outage", "0s"], ["--outage", "2h"], ["--budget", "0"],
    ])
    func `a run without jobs, an outage or a budget is refused`(options: [String]) {
        #expect(throws: (any Error).self) { try DeferredCommand.parse(options) }
    }

    @Test func `the bound is two minutes and the time that the budget needs, and a minute more with kills`() throws {
        let plan = try Self.plan()
        #expect(plan.boundSeconds(waiting: 0) == 120 && plan.boundSeconds(waiting: 500) == 130)
        #expect(plan.limitSeconds(waiting: 500) > 130)
        #expect(try Self.plan("--kill").boundSeconds(waiting: 500) == 190)
    }

    @Test func `the limits of jobs are far above what a run creates`() throws {
        let plan = try Self.plan("--jobs", "100000"), settings = try plan.fleet.settings
        #expect(settings["GATEWAY_JOBS_MAX_COUNT"] == "1000000")
        for name in ["GATEWAY_JOBS_MAX_BYTES", "GATEWAY_JOBS_MAX_TOTAL_BYTES"] {
            #expect(settings[name] == "6250MiB", "\(name)")
        }
        #expect(settings["GATEWAY_APPLE_MAX_REQUESTS_PER_SECOND"] == "50")
        #expect((400...1000).contains(plan.jobs / plan.sampleStride))
    }

    @Test func `a second's worth at once and the budget from then on are permitted`() {
        var meter = CallMeter(budget: 50)
        meter.record(0, at: 0)
        meter.record(50, at: 0.01)
        for number in 1...200 { meter.record(50 + number * 5, at: 0.01 + Double(number) / 10) }
        #expect(!meter.isExceeded && (50...101).contains(meter.maximumPerSecond), "\(meter)")
    }

    @Test func `more than a second's worth at once exceeds the budget`() {
        var meter = CallMeter(budget: 50)
        meter.record(0, at: 0)
        meter.record(60, at: 0.01)
        #expect(meter.isExceeded && meter.maximumPerSecond == 60)
    }

    @Test func `a rate a little above the budget exceeds it in time`() {
        var meter = CallMeter(budget: 50)
        for number in 0...600 { meter.record(number * 6, at: Double(number) / 10) }
        #expect(meter.isExceeded && (60...66).contains(meter.maximumPerSecond), "\(meter)")
    }

    @Test func `a late sample of permitted requests is no excess`() {
        var meter = CallMeter(budget: 50)
        meter.record(0, at: 0)
        // Three seconds without a sample: 150 requests of the budget, and a second's worth.
        meter.record(200, at: 3)
        #expect(!meter.isExceeded)
        meter.record(400, at: 6)
        #expect(meter.isExceeded)
    }

    @Test func `the ID of a job is read from the beginning of its JSON`() {
        #expect(QuotedParts(Array(#"{"id":"ver_abc","status":"wait"#.utf8)).values(of: "id") == ["ver_abc"])
        for other in [#"{"verdict":"genuine","environment":"Production"}"#, "", #"{"id":7}"#, "<html>"] {
            #expect(QuotedParts(Array(other.utf8)).values(of: "id").isEmpty, "\(other)")
        }
    }

    @Test func `a run in which every promise was kept passes`() throws {
        let report = Self.outcome.report(try Self.plan())
        #expect(report.missed.isEmpty && report.text.hasPrefix("PASSED  Deferred verifications: All 9 targets met"))
        let values = Dictionary(report.measurements.map { ($0.name, $0.value) }) { $1 }
        #expect(values["jobs done"] == 40 && values["Redis per job"] == 5000 && values["CPU per job"] == 4)
        #expect(values["answers 200 during the outage"] == 5 && values["answers 202 during the outage"] == 1000)
        #expect(report.figures.contains { $0.name == "time until no job waited" && $0.target == "<= 140" })
    }

    @Test(arguments: [
        ([202: 1000, 429: 5], ["answers other than 200 and 202"]),
        ([200: 1005], ["requests deferred (202)", "requests deferred beside jobs that waited, difference"]),
        ([202: 1005], ["requests deferred beside jobs that waited, difference"]),
    ])
    func `answers that break a promise fail the run`(statuses: [Int: Int], missed: [String]) throws {
        var outcome = Self.outcome
        outcome.statuses = statuses
        #expect(outcome.report(try Self.plan()).missed.map(\.name) == missed)
    }

    @Test func `jobs that are late, left, wrong or too many at once fail the run`() throws {
        let faults: [(inout DeferredOutcome) -> Void] = [
            { $0.drainSeconds = 141 }, { $0.drainSeconds = nil }, { $0.left = 1 }, { $0.wrong = 1 }, { $0.checked = 0 },
            { $0.unanswered = 1 }, { $0.meter.record(1000, at: 1) },
        ]
        for (number, fault) in faults.enumerated() {
            var outcome = Self.outcome
            fault(&outcome)
            let report = outcome.report(try Self.plan())
            #expect(report.missed.count == 1 && report.text.hasPrefix("FAILED"), "\(number): \(report.missed)")
        }
    }

    @Test func `healthy endpoints must have each event once, in one order`() throws {
        let run = WebhookRun(
            plan: try WebhooksCommand.parse(["--events", "10"]), endpoints: ["a", "b", "c"], fault: .gone,
            delivers: true)
        #expect(WebhookRun(plan: run.plan, endpoints: ["a"]).healthy.isEmpty)
        func stats(_ distinct: Int, order: String = "1f") -> WebhookReceiver.EndpointStats {
            var counts = DeliveryTally.Counts()
            (counts.accepted, counts.distinct) = (distinct, distinct)
            return .init(url: "http://h", counts: counts, orderDigest: order, seconds: 2)
        }
        var outcome = WebhookRun.Outcome(
            stats: ["a": stats(10), "b": stats(10), "c": stats(0, order: "0")], written: 10, posted: 10, cpuSeconds: 3,
            postingSeconds: 1, residentBytes: 1 << 20)
        let baseline = WebhookRun.Outcome(
            stats: [:], written: 10, posted: 10, cpuSeconds: 1, postingSeconds: 1, residentBytes: 0)
        let report = outcome.report(run, baseline: baseline)
        #expect(report.missed.isEmpty && report.text.hasPrefix("PASSED  Webhooks"))
        let values = Dictionary(report.measurements.map { ($0.name, $0.value) }) { $1 }
        #expect(values["CPU per delivery"] == 100_000 && values["CPU per notification without deliveries"] == 100_000)
        #expect(values["a: deliveries"] == 5 && values["c (broken): events"] == 0)
        outcome.stats = ["a": stats(10), "b": stats(9, order: "2e"), "c": stats(0)]
        #expect(
            outcome.report(run, baseline: nil).missed.map(\.name) == [
                "b: events missing or too many", "orders of the events of an original transaction, beyond one",
            ])
    }

    @Test func `a wait ends with its condition or its time, and samples end with the body`() async throws {
        var looks = 0
        let waited = try await LongRun.wait(atMost: .seconds(60), every: .zero) {
            looks += 1
            return looks == 3
        }
        #expect(waited != nil && looks == 3)
        #expect(try await LongRun.wait(atMost: .zero, every: .zero) { false } == nil)
        let (begun, beginning) = AsyncStream<Void>.makeStream()
        let (value, samples) = await LongRun.sampling(every: .zero) { _ in
            beginning.yield()
            return 3
        } while: {
            for await _ in begun { break }
            return 7
        }
        #expect(value == 7 && samples.first == 3)
    }

    private static func plan(_ options: String...) throws -> DeferredCommand {
        try DeferredCommand.parse(["--jobs", "1005"] + options)
    }

    private static var outcome: DeferredOutcome {
        var outcome = DeferredOutcome()
        outcome.statuses = [200: 5, 202: 1000]
        (outcome.waiting, outcome.drainSeconds) = (1000, 25)
        outcome.meter = CallMeter(budget: 50)
        outcome.meter.record(0, at: 0)
        (outcome.redisBytes, outcome.cpuSeconds) = (5_000_000, 4)
        (outcome.checked, outcome.residentBytes, outcome.postingSeconds) = (500, 100 << 20, 10)
        return outcome
    }
}

extension CallMeter {
    fileprivate var isExceeded: Bool { maximumBurst > permittedBurst }
}
