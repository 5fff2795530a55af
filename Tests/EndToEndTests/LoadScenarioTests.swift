// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import TestSupport

/// `receipt-loadtest scenario` and `bench`: complete fleets, for a second or two.
@Suite(.serialized) struct LoadScenarioTests {
    private struct Result: Decodable {
        struct Plan: Decodable {
            let name: String
        }

        struct Totals: Decodable {
            let intended, answered, failed, shed: Int
        }

        struct Mark: Decodable {
            let at_seconds: Double
            let text: String
        }

        struct Series: Decodable {
            let name: String
            let labels: [String: String]
            let points: [[Double]]
        }

        struct Threshold: Decodable {
            let expression: String
            let measured: Double?
            let met: Bool
        }

        let verdict: String
        let verdict_reasons: [String]
        let plan: Plan
        let totals: Totals
        let marks: [Mark]
        let metrics: [Series]
        let thresholds: [Threshold]

        /// The leases of all gateways that ended without the result of the node that held them.
        var leasesWithoutResult: Double {
            metrics.filter { $0.name == "receipt_gateway_flight_leases_total" }
                .filter { ["overdue", "unavailable"].contains($0.labels["outcome"]) }
                .compactMap(\.points.last?.last).reduce(0, +)
        }
    }

    private static let scenarios = repositoryRoot.appending(path: "loadtest/scenarios/load")

    /// The events of each scenario, and the number of gateways whose metrics are scraped.
    @Test(
        .timeLimit(.patient),
        arguments: [
            ("steady", [], 2), ("ramp-to-saturation", [], 1), ("cache-stampede", [], 3), ("forged-flood", [], 1),
            ("notifications", [], 1),
            ("apple-outage", ["Apple changes", "Apple changes", "Apple changes"], 2),
            ("outage-2020-01-24", ["Apple changes", "Apple changes", "Apple changes"], 1),
            ("redis-outage", ["kill redis", "start redis"], 2),
            ("rolling-restart", ["restart gateway 1", "restart gateway 2", "restart gateway 3"], 3),
            ("server-api-fleet", [], 3),
            ("server-api-outage", ["Apple changes", "Apple changes", "Apple changes", "Apple changes"], 2),
            ("server-api-random-ids", [], 2),
            (
                "verify-receipt-end",
                [
                    "Apple changes", "Apple changes", "Apple changes", "kill verify_receipt", "start verify_receipt",
                    "Apple changes", "Apple changes", "restart gateway 1",
                ], 3
            ),
        ])
    func `every scenario meets its thresholds on real servers, performs its events, and leaves nothing behind`(
        name: String, marks: [String], gateways: Int
    ) async throws {
        let folder = try ScratchFolder()
        let scenario = try folder.write(try Self.withoutTimes(name), to: name + ".yaml")
        // Gateways start and are scraped later on a slower machine, so its load is longer.
        let scale = 0.15 * Patience.scale
        let outcome = try await Program.loadTest.run([
            "scenario", scenario, "-o", folder.url.path, "--scale", "\(scale)", "--rate-scale", "0.05",
        ])
        #expect(outcome.output.hasPrefix(name + ": "), "\(outcome.errors)")
        let file = try Data(contentsOf: folder.url.appending(path: name + ".json"))
        let result = try JSONDecoder().decode(Result.self, from: file)
        #expect((result.verdict == "passed") == (outcome.status == 0) && result.plan.name == name)
        #expect(!result.thresholds.isEmpty && result.thresholds.allSatisfy(\.met), "\(result.thresholds)")
        if let questions = result.thresholds.first(where: { $0.expression == Self.looseQuestions })?.measured {
            #expect(questions <= 40 + 2 * result.leasesWithoutResult, "\(result.leasesWithoutResult)")
        }
        // If a gateway starts slowly, the load may end before the last event; the verdict says so.
        let missing = marks.dropFirst(result.marks.count)
        #expect(result.marks.map(\.text) + missing == marks && missing.count < 2)
        for event in missing { #expect(result.verdict_reasons.contains { $0.hasPrefix(event) }) }
        // On a busy machine the generator may be late; every other fault counts.
        let isLate = result.verdict == "generator_overloaded"
        #expect(outcome.status == (isLate ? 98 : missing.isEmpty ? 0 : 99), "\(result.verdict_reasons)")
        #expect(result.marks.map(\.at_seconds) == result.marks.map(\.at_seconds).sorted())
        let totals = result.totals
        #expect(totals.intended > 5 && (totals.answered + totals.shed) * 10 >= totals.intended * 9)
        let instances = Set(result.metrics.compactMap { $0.labels["instance"] })
        #expect(instances.count == (gateways > 1 ? gateways : 0), "\(instances) \(outcome.errors)")
        #expect(Self.leftOver().isEmpty)
    }

    /// The questions of `cache-stampede` on a machine of any speed: a node asks by itself if it waited for 1.5 seconds
    /// for the result of another one.
    private static let looseQuestions = "questions<=120"

    /// Returns a scenario without its thresholds of time, which depend on the machine, and without those of calls between
    /// events: a fleet replaces an announcement of Apple after a minute at the earliest.
    private static func withoutTimes(_ name: String) throws -> String {
        let text = try String(contentsOf: scenarios.appending(path: name + ".yaml"), encoding: .utf8)
        return text.replacing("questions<=40", with: looseQuestions)
            .replacing(/(?m)^  - (p[0-9.]+|mean|max)[<>].*\n/, with: "")
            .replacing(/(?m)^    calls: .*\n/, with: "").replacing(/, calls: \[[^\]]*\]/, with: "")
    }

    /// Returns the programs of scenarios that have lost their parent.
    private static func leftOver() -> [String] {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: "/proc")) ?? []
        return names.filter { Int($0) != nil }.compactMap { name in
            let text = (try? String(contentsOfFile: "/proc/\(name)/cmdline", encoding: .utf8)) ?? ""
            return text.contains("receipt-loadtest-") && text.contains("haproxy.cfg") ? text : nil
        }
    }

    @Test func `an invalid scenario is refused with its line, before anything is started`() async throws {
        let folder = try ScratchFolder()
        let file = try folder.write("title: t\nload: {}\nevents: [{at: 1s, kill: redis}]\n", to: "wrong.yaml")
        let outcome = try await Program.loadTest.run(["scenario", file])
        #expect(outcome.status == 1 && outcome.errors.contains("wrong.yaml: line 3"), "\(outcome.errors)")
        let missing = try await Program.loadTest.run([
            "scenario", Self.scenarios.path + "/steady.yaml", "--gateway", "/no",
        ])
        #expect(missing.status == 1 && missing.errors.contains("/no"))
    }

    private struct Bench: Decodable {
        struct Figure: Decodable {
            let name, unit, target: String
            let value: Double
            let met: Bool
        }

        struct Measurement: Decodable {
            let name, unit: String
            let value: Double
        }

        let figures: [Figure]
        let measurements: [Measurement]
    }

    @Test(.timeLimit(.patient))
    func `the bench writes its figures, each with its target`() async throws {
        let folder = try ScratchFolder()
        let file = folder.url.appending(path: "figures/latest.json")
        let outcome = try await Program.loadTest.run([
            "bench", "--quick", "--only", "start", "--only", "verify", "--only", "shared", "--only", "fleet", "--only",
            "server_api", "--only", "connections",
            "--runs", "1", "-o", file.path,
        ])
        #expect(outcome.status == 0, "\(outcome.errors)")
        let bench = try JSONDecoder().decode(Bench.self, from: Data(contentsOf: file))
        #expect(bench.figures.map(\.unit) == ["ratio", "ratio", "ratio", "us", "us", "us", "KiB", "ms"])
        #expect(bench.figures.allSatisfy { $0.value > 0 && !$0.target.isEmpty })
        for figure in bench.figures { #expect(outcome.output.contains(figure.name)) }
        #expect(bench.measurements.contains { $0.name.contains("with 3 gateways") && $0.unit == "us" && $0.value > 0 })
    }
}
