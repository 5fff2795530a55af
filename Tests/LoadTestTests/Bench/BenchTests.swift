// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Foundation
import NIOCore
import Testing

@testable import LoadTest

/// Figures as values: what they are made of and how they are shown.
struct BenchTests {
    // MARK: - Figures

    @Test(arguments: [
        (0.8, FigureTarget.atLeast(0.8), true), (0.79, .atLeast(0.8), false), (2, .atMost(2), true),
        (2.01, .atMost(2), false), (.infinity, .atLeast(1), false), (.nan, .atMost(1), false),
    ])
    func `a figure meets its target or not, and never without a number`(value: Double, target: FigureTarget, met: Bool)
    {
        #expect(MeasuredFigure("f", value, "ratio", target).met == met)
    }

    @Test func `the file has the members that readers count on`() throws {
        var report = FigureReport(runs: 5, secondsPerRun: 4)
        report.figures = [MeasuredFigure("hit", 0.83456, "ratio", .atLeast(0.8))]
        let json = try JSONSerialization.jsonObject(with: Data(JSONOutput.of(report).utf8)) as? [String: Any]
        let figure = try #require((json?["figures"] as? [[String: Any]])?.first)
        #expect(Set(figure.keys) == ["name", "value", "unit", "target", "met"])
        #expect(figure["name"] as? String == "hit" && figure["value"] as? Double == 0.835)
        #expect(figure["target"] as? String == ">= 0.8" && figure["met"] as? Bool == true)
    }

    @Test func `the table says what was missed and whose numbers are the generator's`() {
        var report = FigureReport(runs: 5, secondsPerRun: 4)
        report.figures = [
            MeasuredFigure("hit", 0.9, "ratio", .atLeast(0.8)),
            MeasuredFigure("tail", 3.5, "ms", .atMost(2), note: "late"),
        ]
        report.servers = [
            .init(
                name: .gateway, connections: 32, requestsPerSecond: 20_000, requestsPerBusySecond: 31_234,
                generatorCpuShare: 0.97),
            .init(
                name: .nio, connections: 4, requestsPerSecond: 30_000, requestsPerBusySecond: 32_000,
                generatorCpuShare: 0.5),
        ]
        let lines = report.text.split(separator: "\n")
        #expect(lines[1].contains("hit  0.900  ratio  >= 0.8     met"))
        #expect(lines[2].contains("MISSED") && lines.contains("tail: late"))
        #expect(lines.contains { $0.contains("receipt-gateway") && $0.contains("31,234") && $0.contains("97 % (!)") })
        #expect(lines.contains { $0.contains("bare SwiftNIO") && $0.hasSuffix("50 %") })
    }

    @Test func `a file becomes a page`() throws {
        var report = FigureReport(runs: 5, secondsPerRun: 4)
        report.figures = [
            MeasuredFigure("hit", 0.9, "ratio", .atLeast(0.8)), MeasuredFigure("tail", 3.5, "ms", .atMost(2)),
        ]
        report.servers = [
            .init(
                name: .gateway, connections: 32, requestsPerSecond: 20_000, requestsPerBusySecond: 31_234,
                generatorCpuShare: 0.97)
        ]
        let file = Array(try JSONOutput.of(report).utf8), read: FigureReport = try JSONOutput.read(file)
        #expect(read.figures == report.figures && read.servers == report.servers && read.runs == report.runs)
        #expect(read.page.headline == "1 of 2 targets missed" && read.page.tone == .bad)
    }

    // MARK: - Arithmetic

    private static func turn(
        _ name: BenchServer.Name, _ requests: Int, cpu: Double, connections: Int = 32
    ) -> BenchTurn {
        BenchTurn(
            name: name, connections: connections, requests: requests, seconds: 2, serverCPUSeconds: cpu,
            generatorShare: 0.5, outcomes: [],
            answerBytes: 3000)
    }

    @Test func `rates count the server's own time, and ratios stay within a run`() {
        // The second run was slow for both: by the medians of each the ratio would be another.
        let runs = [
            [Self.turn(.gateway, 8000, cpu: 1), Self.turn(.nio, 10_000, cpu: 1)],
            [Self.turn(.gateway, 800, cpu: 1), Self.turn(.nio, 1000, cpu: 1)],
            [Self.turn(.gateway, 9000, cpu: 1), Self.turn(.nio, 10_000, cpu: 1)],
        ]
        var report = FigureReport()
        report.add(mediansOf: runs.map { [FigureSample("hit", $0.ratio(.gateway, to: .nio, over: 32), "ratio")] })
        #expect(report.measurements.map(\.value) == [0.8])
        let turns = runs.flatMap(\.self)
        #expect(turns.rows.map(\.name) == [.gateway, .nio])
        #expect(turns.rows[0].requestsPerBusySecond == 8000 && turns.rows[0].requestsPerSecond == 4000)
        #expect(Self.turn(.nginx, 100, cpu: 0).requestsPerBusySecond.isFinite)
        let few = [Self.turn(.gateway, 50, cpu: 1, connections: 4), Self.turn(.nio, 100, cpu: 1, connections: 4)]
        #expect((turns + few).rows.map(\.connections) == [32, 32, 4, 4])
        #expect((few + turns).ratio(.gateway, to: .nio, over: 4) == 0.5)
        #expect(turns.ratio(.gateway, to: .nginx, over: 32).isNaN)
    }

    @Test func `figures of several runs are medians, with the last note`() {
        func run(_ value: Double, _ rate: Double, _ note: String? = nil) -> [FigureSample] {
            [FigureSample("hit", value, "ratio", .atLeast(0.8), note: note), FigureSample("rate", rate, "/s")]
        }
        var report = FigureReport()
        report.add(mediansOf: [run(0.9, 3), run(0.7, 1, "late"), run(0.85, 2)])
        #expect(report.figures.map(\.value) == [0.85] && report.figures.map(\.note) == ["late"])
        #expect(report.missed.isEmpty && report.measurements.map(\.value) == [2])
        report.add(mediansOf: [])
        #expect(report.figures.count == 1 && report.measurements.count == 1)
    }

    @Test func `the floor of a local verification is the time of the handler and of the cryptography`() {
        let figures = Bench.figures(
            Self.turn(.gateway, 4500, cpu: 1), beside: Self.turn(.nio, 10_000, cpu: 1), floor: 10_000)
        #expect(figures.map { $0.value.rounded(toDecimals: 3) } == [0.9, 222.222, 10_000])
    }

    // MARK: - Processes

    @Test func `a line of the kernel's is read behind a name that looks like one`() throws {
        let fields = (5...13).map { "\($0)" }.joined(separator: " ")
        let line = "4242 (a (strange) name) S 17 \(fields) 250 50 0 0 20"
        let entry = try #require(ProcessEntry(stat: line, ticksPerSecond: 100))
        #expect(entry.process == 4242 && entry.parent == 17 && entry.cpuSeconds == 3)
        #expect(ProcessEntry(stat: "", ticksPerSecond: 100) == nil)
        #expect(ProcessEntry(stat: "1 (x) S 0", ticksPerSecond: 100) == nil)
    }

    @Test func `a family is a process and all below it`() throws {
        let rows = [(1, 0), (10, 1), (12, 11), (11, 10), (20, 1), (13, 12)]
        let all = rows.compactMap { process, parent in
            ProcessEntry(
                stat: "\(process) (p) S \(parent) " + (1...9).map { "\($0)" }.joined(separator: " ") + " 1 1 0",
                ticksPerSecond: 100)
        }
        #expect(all.count == rows.count)
        #expect(Set(ProcessTree.descendants(of: 10, among: all).map(\.process)) == [10, 11, 12, 13])
        #expect(ProcessTree.descendants(of: 99, among: all).isEmpty)
    }

    @Test func `this process uses time, memory and files`() {
        let tree = ProcessTree(root: ThisProgram.processIdentifier)
        #expect(tree.cpuSeconds > 0 && tree.residentBytes > 1_000_000 && tree.openFiles > 2)
    }

    @Test func `the first core is the servers', the second the generator's`() {
        #expect(Cores(all: [2, 5, 7]).server == 2 && Cores(all: [2, 5, 7]).generator == 5)
        #expect(Cores(all: [3]).server == nil && Cores(all: [3]).generator == nil)
    }

    // MARK: - Peers

    private static let peers = URL(filePath: #filePath).deletingLastPathComponent()
        .appending(path: "../../../loadtest/peers").path

    @Test func `the peers' configurations take what they are given, no more and no less`() throws {
        func filled(_ name: String, _ values: [String: String]) throws -> String {
            let template = try FileError.text(of: "\(Self.peers)/\(name)")
            #expect(values.keys.allSatisfy { template.contains("{{\($0)}}") })
            let text = template.filled(values)
            #expect(!text.contains("{{"))
            return text
        }
        let nginx = try filled("nginx.conf", ["port": "81", "upstream": "82", "folder": "/f", "user": "root"])
        #expect(nginx.contains("listen 127.0.0.1:81 ") && nginx.contains("server 127.0.0.1:82;"))
        #expect(try filled("varnish.vcl", ["upstream": "82"]).contains(#".port = "82";"#))
        #expect("listen {{port}}; root {{folder}};".filled(["port": "1"]) == "listen 1; root {{folder}};")
    }

    @Test func `configurations that are not there are named, with what to do`() async throws {
        let peers = PeerStart(templates: "/nowhere", folder: try ScratchFolder(), core: nil)
        defer { peers.folder.remove() }
        await #expect(throws: BenchError.noPeers("/nowhere/varnish.vcl")) { try await peers.varnish(upstream: 1) }
    }

    @Test func `a program that is not installed is named, with what to do`() {
        #expect(throws: ProgramError.notInstalled("no-such-server")) { try InstalledProgram.path("no-such-server") }
        #expect("\(ProgramError.notInstalled("varnishd"))".contains(".ci/deps bench"))
    }

    // MARK: - Options

    @Test func `options make the plan`() throws {
        #expect(try BenchCommand.parse([]).plan == BenchPlan())
        let some = try BenchCommand.parse(["--only", "tail", "--only", "near", "--runs", "9", "--duration", "2s"]).plan
        #expect(some.parts == [.near, .tail] && some.runs == 9 && some.seconds == 2)
        #expect(try BenchCommand.parse(["--only", "notifications"]).plan.parts == [.notifications])
        let quick = try BenchCommand.parse(["--quick", "--minutes", "10"]).plan
        #expect(quick.parts == BenchPart.allCases && quick.minutes == 10 && quick.seconds < BenchPlan().seconds)
    }

    @Test(arguments: [
        ["--only", "near", "--only", "near"], ["--runs", "0"], ["--minutes", "0"], ["--only", "speed"],
    ])
    func `options that mean nothing are refused`(_ arguments: [String]) {
        #expect(throws: (any Error).self) { try BenchCommand.parse(arguments) }
    }

    // MARK: - Memory and Redis

    private static func points(_ resident: (Int) -> Int) -> [MemoryPoint] {
        (0...30).map { MemoryPoint(seconds: Double(10 * $0), residentBytes: resident($0)) }
    }

    @Test func `the growth of memory counts from when the pools are full`() {
        let wavering = Self.points { $0 < 6 ? 20_000_000 + 5_000_000 * $0 : 50_000_000 + 100_000 * ($0 % 2) }
        #expect(abs(MemoryPoint.bytesPerMinute(wavering)) < 20_000)
        // Six points a minute; the first that counts is the seventh.
        #expect(MemoryPoint.bytesPerMinute(Self.points { 50_000_000 + 83_000 * ($0 - 6) }) == 498_000)
        #expect(MemoryPoint.bytesPerMinute([MemoryPoint(seconds: 0, residentBytes: 1000)]) == 0)
        #expect(MemoryPoint.bytesPerMinute([]) == 0)
    }

    @Test func `commands of Redis are counted without those that count`() {
        let counts = RedisCounts(
            """
            # Commandstats\r
            cmdstat_get:calls=12,usec=30,usec_per_call=2.50,rejected_calls=0,failed_calls=0\r
            cmdstat_evalsha:calls=3,usec=30,usec_per_call=2.50,rejected_calls=0,failed_calls=0\r
            cmdstat_info:calls=99,usec=30,usec_per_call=2.50,rejected_calls=0,failed_calls=0\r
            cmdstat_config|set:calls=5,usec=30,usec_per_call=2.50,rejected_calls=0,failed_calls=0\r
            total_reads_processed:77\r
            """)
        #expect(counts.operations == 15 && counts.reads == 77)
    }

    @Test func `logged commands of scripts and of the bench itself are left out`() throws {
        let commands = try LoggedCommand.read(
            """
            [[4, 1, 9, ["GET", "a"], "127.0.0.1:5", ""], [3, 1, 9, ["GET", "b"], "?:0", ""],
             [2, 1, 9, ["SLOWLOG", "reset"], "127.0.0.1:6", ""],
             [1, 1, 9, ["set", "\(String(repeating: "k", count: 128))"], "127.0.0.1:5", ""]]
            """)
        #expect(commands.map(\.name) == ["get", "set"] && commands.map(\.isWhole) == [true, false])
    }
}
