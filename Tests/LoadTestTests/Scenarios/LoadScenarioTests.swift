// SPDX-License-Identifier: Apache-2.0

import AppleSimulator
import ArgumentParser
import Foundation
import Testing

@testable import LoadTest

/// Scenarios as files.
struct LoadScenarioTests {
    private static let folder = URL(filePath: #filePath).deletingLastPathComponent()
        .appending(path: "../../../loadtest/scenarios/load")

    static let files =
        ["apple-outage", "cache-stampede", "forged-flood", "notifications", "outage-2020-01-24", "ramp-to-saturation"]
        + [
            "redis-outage", "rolling-restart", "server-api-fleet", "server-api-outage", "server-api-random-ids",
            "steady", "verify-receipt-end",
        ]

    @Test func `the folder holds what this test knows of`() throws {
        let names = try FileManager.default.contentsOfDirectory(atPath: Self.folder.path)
        #expect(names.sorted() == Self.files.map { $0 + ".yaml" })
    }

    @Test(arguments: files) func `every scenario of the project can be read, and wants something`(_ name: String) throws
    {
        let scenario = try LoadScenario.read(Self.folder.appending(path: name + ".yaml").path)
        #expect(scenario.name == name && !scenario.title.isEmpty && !scenario.thresholds.isEmpty)
        let plan = try scenario.load.plan()
        #expect(plan.seconds > 1 && !plan.isClosed)
        #expect(scenario.events.allSatisfy { $0.seconds < plan.warmupSeconds + plan.seconds })
        #expect(scenario.events.map(\.seconds) == scenario.events.map(\.seconds).sorted())
    }

    private static func read(_ lines: String...) throws(ScenarioError) -> LoadScenario {
        try LoadScenario(yaml: (["title: t"] + lines).joined(separator: "\n"), name: "n")
    }

    @Test func `everything that can be said is understood`() throws {
        let scenario = try Self.read(
            "fleet: {gateways: 3, redis: true, balancer: true, settings: {GATEWAY_APPLE_DEADLINE: 2s}}",
            "load: {stages: '2s:100,3s:200', warmup: 1s, keys: 7, mix: 'repeat=0.5,forged=0.5', mode: apple, seed: 9}",
            "events:", "  - {at: 3s, start: redis}", "  - {at: 1500ms, kill: redis}", "  - {at: 4s, restart: 3}",
            "  - {at: 5s, apple: {faults: [{fault: html}]}}", "thresholds: [p99<25ms, 'questions <= 10']")
        #expect(scenario.fleet.gateways == 3 && scenario.fleet.hasRedis && scenario.fleet.hasBalancer)
        #expect(scenario.fleet.settings == ["GATEWAY_APPLE_DEADLINE": "2s"] && scenario.fleet.apple == .healthy)
        let plan = try scenario.load.plan()
        #expect(plan.seconds == 5 && plan.warmupSeconds == 1 && plan.seed == 9)
        #expect(scenario.load.traffic.mode == .apple && scenario.load.traffic.keys == 7)
        #expect(scenario.events.map(\.seconds) == [1.5, 3, 4, 5])
        #expect(scenario.events.prefix(3).map(\.action) == [.kill(.redis), .start(.redis), .restartGateway(3)])
        #expect(scenario.thresholds.last == Threshold(argument: "questions<=10"))
        #expect(try Self.read("fleet: {apple: none}", "load: {}").fleet.apple == nil)
        let customers = try Self.read("fleet: {server_api: true}", "load: {customers: 7, mix: known-id=1}")
        #expect(customers.fleet.hasServerAPI && customers.load.traffic.customers == 7)
    }

    @Test func `Redis keeps nothing on disk, or an append-only file`() throws {
        #expect(try Self.read("fleet: {redis: true}", "load: {}").fleet.appendFsync == nil)
        #expect(try !Self.read("fleet: {redis: false}", "load: {}").fleet.hasRedis)
        for word in AppendOnlyFile.Fsync.allCases {
            let fleet = try Self.read("fleet: {redis: {appendfsync: '\(word.rawValue)'}}", "load: {}").fleet
            #expect(fleet.hasRedis && fleet.appendFsync == word)
        }
        #expect(RunningRedis.persistence(nil) == ["--appendonly", "no"])
        let file = AppendOnlyFile(fsync: .everysec, folder: "/f")
        #expect(
            RunningRedis.persistence(file) == [
                "--appendonly", "yes", "--appendfsync", "everysec", "--dir", "/f",
            ])
    }

    @Test func `the load of notifications makes each that it sends, a tenth of them again`() throws {
        let load = try LoadScenario.read(Self.folder.appending(path: "notifications.yaml").path).load
        #expect(load.traffic.mix[.notification] == 0.9 && load.traffic.mix[.duplicateNotification] == 0.1)
        let requests = try #require(load.plan().expectedRequests)
        #expect(requests == 20_000 && Double(load.traffic.notifications) > requests * 0.9 * 1.05 + 100)
    }

    @Test func `requests to Apple are judged from one event to the next`() throws {
        let scenario = try Self.read(
            "fleet: {server_api: true}", "load: {}", "events:",
            "  - {at: 1s, kill: verify_receipt, calls: [verify_receipt<=0, 'server_api > 10']}",
            "  - {at: 2s, start: verify_receipt}")
        #expect(scenario.events.map(\.action) == [.kill(.verifyReceipt), .start(.verifyReceipt)])
        #expect(scenario.events.map { "\($0.action)" } == ["kill verify_receipt", "start verify_receipt"])
        let checked = ScenarioRun(scenario: scenario, scale: ScenarioScale(time: 2)).checkedCalls(
            [[.verifyReceipt: 5, .serverAPI: 5], [.verifyReceipt: 5, .serverAPI: 15]],
            until: [.verifyReceipt: 90, .serverAPI: 90])
        #expect(checked.map(\.expression) == ["verify_receipt<=0 from 2s", "server_api>10 from 2s"])
        #expect(checked.map(\.measured) == [0, 10] && checked.map(\.met) == [true, false])
    }

    // MARK: - States

    private static func verdict(_ states: String...) -> String {
        let subscriptions = states.map { #"{"state":"\#($0)","access_until":"2026"}"# }
        return #"{"verdict":"genuine","subscriptions":[\#(subscriptions.joined(separator: ","))]}"#
    }

    @Test(arguments: [
        (verdict("active"), true), (verdict("active", "active"), true), (verdict("active", "expired"), false),
        (verdict(), false), (#"{"verdict":"undecided"}"#, false), ("", false),
        (#"{"status":0,"latest_receipt_info":[{"expires_date_ms":"9"},{"expires_date_ms":"11"}]}"#, true),
        (#"{"status":0,"latest_receipt_info":[{"expires_date_ms":"9"}]}"#, false),
        (#"{"latest_receipt_info":[{"expires_date_ms":"11"}],"status":0}"#, true),
        (#"{"status":21009}"#, false),
    ])
    func `an answer shows active subscriptions or a wrong state`(answer: String, isActive: Bool) {
        #expect(SubscriptionStates.areActive(in: Array(answer.utf8), at: 10) == isActive)
    }

    @Test func `only answers have states`() {
        let states = SubscriptionStates()
        for status in [nil, 503, 200] {
            states.check(Completion(latency: .zero, status: status, opening: Array(Self.verdict("expired").utf8)))
        }
        #expect(states.wrongCount == 1)
    }

    @Test(arguments: [
        (["lod: {}"], 2, "'lod' is unknown here"),
        (["load: {}", "fleet: {gateway: 2}"], 3, "'gateway' is unknown here"),
        (["load: {}", "fleet: {gateways: 2}"], 3, "'balancer' is missing"),
        (["load: {}", "fleet: {gateways: 11, balancer: true}"], 3, "'gateways' takes"),
        (["load: {}", "fleet: {redis: often}"], 3, "'redis' takes"),
        (["load: {}", "fleet: {redis: {appendfsync: often}}"], 3, "always, everysec, no"),
        (["load: {}", "fleet: {redis: {appendonly: true}}"], 3, "'appendonly' is unknown here"),
        (["load: {notifications: 0}"], 2, "'load' takes"),
        (["load: {}", "fleet: {settings: {PATH: /}}"], 3, "GATEWAY_APPLE_DEADLINE"),
        (["load: {}", "fleet: {apple: {fault: []}}"], 3, "'fault' is unknown here"),
        (["load: {}", "fleet: {apple: none, server_api: true}"], 3, "cannot be combined"),
        (["load: {customers: 0}"], 2, "'load' takes"),
        (["load:", "  rate: 5", "  speed: 7"], 4, "'speed' is unknown here"),
        (["load: {rate: fast}"], 2, "'load' takes"),
        (["load: {}", "events: [{at: 1s, kill: redis}]"], 3, "a fleet with redis"),
        (["load: {}", "events: [{at: 1s, kill: verify_receipt}]"], 3, "a fleet with server_api"),
        (["load: {}", "events: [{at: 1s, restart: 1, calls: [p99<1s]}]"], 3, "'calls' takes"),
        (["load: {}", "events: [{at: 1s, restart: 1, calls: [wrong_states<=0]}]"], 3, "'calls' takes"),
        (["load: {}", "events: [{at: 1s, restart: 2}]"], 3, "'restart' takes"),
        (["load: {}", "events: [{at: soon, restart: 1}]"], 3, "a time such as 10s"),
        (["load: {}", "events: [{at: 1s}]"], 3, "is missing"),
        (["load: {}", "events: [{at: 1s, restart: 1, apple: {}}]"], 3, "cannot be combined"),
        (["load: {}", "fleet: {apple: none}", "events: [{at: 1s, apple: {}}]"], 4, "a fleet with a simulated Apple"),
        (["load: {}", "thresholds: [p99<25]"], 3, "'thresholds' takes"),
        (["load: {}", "thresholds: ['questions<=many']"], 3, "'thresholds' takes"),
    ])
    func `what breaks a rule is refused, with its line`(lines: [String], line: Int, reason: String) {
        let text = (["title: t"] + lines).joined(separator: "\n")
        let error = #expect(throws: ScenarioError.self) { try LoadScenario(yaml: text, name: "n") }
        #expect(error?.line == line && "\(String(describing: error))".contains(reason), "\(String(describing: error))")
    }

    @Test func `a text without anything lacks its title, and without a load its load`() {
        #expect(throws: ScenarioError(line: nil, fault: .missing("title"))) { try LoadScenario(yaml: "", name: "n") }
        #expect(throws: ScenarioError(line: 1, fault: .missing("load"))) {
            try LoadScenario(yaml: "title: t", name: "n")
        }
    }

    @Test func `a file that is not there is named`() {
        #expect(throws: FileError.notReadable(path: "/nowhere/x.yaml")) {
            try LoadScenario.read("/nowhere/x.yaml")
        }
    }

    // MARK: - Values

    @Test func `times and rates are scaled apart from each other`() throws {
        let plan = try Self.read("load: {stages: '2s:100,3s:200', warmup: 1s}").load.plan()
        let scaled = ScenarioScale(time: 0.5, rate: 0.1).applied(to: plan)
        #expect(
            scaled.schedule.curve.stages == [
                RateStage(from: 0, to: 10, seconds: 1), RateStage(from: 10, to: 20, seconds: 1.5),
            ])
        #expect(scaled.warmupSeconds == 0.5 && scaled.seconds == 2.5 && scaled.schedule.first == 10)
        #expect(ScenarioScale().applied(to: plan).schedule == plan.schedule)
    }

    @Test func `of a thinner load a lower rate is wanted, and as few errors`() throws {
        let thin = ScenarioScale(time: 0.5, rate: 0.05)
        let rate = try #require(Threshold(argument: "rate>=2000")),
            errors = try #require(Threshold(argument: "errors<1%"))
        #expect(thin.applied(to: rate) == Threshold(argument: "rate>=100"))
        #expect(thin.applied(to: errors) == errors && ScenarioScale(time: 2).applied(to: rate) == rate)
    }

    @Test func `questions to Apple are judged with the rest`() throws {
        let threshold = try #require(Threshold(argument: "questions <= 10"))
        let few = Samples.result([threshold], questions: 10), many = Samples.result([threshold], questions: 11)
        #expect(few.verdict == .passed && few.thresholds.last?.met == true)
        #expect(many.verdict == .thresholdMissed && many.thresholds.last?.measured == 11)
        #expect(many.verdictReasons == ["questions 11.00, wanted <=10"])
        #expect(Samples.result([threshold], questions: nil).verdict == .thresholdMissed)
        for count in ScenarioCount.allCases {
            #expect(throws: (any Error).self) {
                try HTTPCommand.parse(["http://h", "--threshold", "\(count.rawValue)<=10"])
            }
        }
    }

    @Test func `an event that fails is a reason not to pass, but hides no other verdict`() {
        var result = Samples.result()
        result.add([])
        #expect(result.verdict == .passed)
        result.verdict = .interrupted
        result.add(["start redis: it did not"])
        #expect(result.verdict == .interrupted && result.verdictReasons == ["start redis: it did not"])
    }

    private enum Samples {
        /// A run in which nothing was sent, and nothing wanted.
        static func result(_ thresholds: [Threshold] = [], questions: Int? = nil) -> RunResult {
            let plan = LoadPlan(target: LoadTarget(host: "127.0.0.1", port: 80, path: "/"))
            let description = RunResult.Plan(
                url: "http://127.0.0.1/", loop: .open, arrival: .constant, warmupSeconds: 0, connections: 1,
                workers: 1, keys: 1, zipf: 0, seed: 1, timeoutMs: 1)
            let counts = questions.map { [ScenarioCount.questions: $0] } ?? [:]
            let extras = RunRecord.Extras(thresholds: thresholds, counts: counts)
            return RunRecord(plan: plan, description: description)
                .result(LoadMeasurements(), extras, wasInterrupted: false)
        }
    }
}
