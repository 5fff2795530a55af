// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Testing

@testable import LoadTest

/// The option values of a load run.
struct OptionValueTests {
    @Test(arguments: [
        ("30s", 30.0), ("500ms", 0.5), ("2m", 120), ("1h", 3600), ("10", 10), ("1.5s", 1.5), ("250us", 0.00025),
        ("0", 0),
    ])
    func `times have units`(text: String, seconds: Double) throws {
        #expect(abs(try #require(TimeSpan(argument: text)).seconds - seconds) < 1e-12)
    }

    @Test(arguments: ["", "s", "-1s", "1e3s", "nan", "inf", "1d", "1 s", "1.2.3", "999999h", "+1", "0x10s"])
    func `what is no time is refused`(text: String) {
        #expect(TimeSpan(argument: text) == nil)
    }

    @Test func `rates are numbers above nothing, or the most`() {
        #expect(RateOption(argument: "5000") == .perSecond(5000))
        #expect(RateOption(argument: "2.5k") == .perSecond(2500))
        #expect(RateOption(argument: "max") == .max)
        for text in ["0", "-1", "", "k", "fast", "1e9", "nan"] { #expect(RateOption(argument: text) == nil, "\(text)") }
    }

    @Test func `stages begin where the one before ended`() throws {
        let stages = try #require(StagesOption(argument: "10s:1000,30s:5000,5s:0"))
        #expect(
            stages.curve(from: 100).stages == [
                RateStage(from: 100, to: 1000, seconds: 10), RateStage(from: 1000, to: 5000, seconds: 30),
                RateStage(from: 5000, to: 0, seconds: 5),
            ])
        for text in ["", "10s", "10s:", ":5", "0s:5", "10s:max", "10s:5,", "10s:5:6"] {
            #expect(StagesOption(argument: text) == nil, "\(text)")
        }
    }

    @Test func `marks are a moment and a text`() {
        #expect(RunResult.Mark(argument: "30s=kill redis=now") == .init(atSeconds: 30, text: "kill redis=now"))
        for text in ["30s", "=x", "30s=", "x=y", "1s=a\u{1B}[2J"] { #expect(RunResult.Mark(argument: text) == nil) }
    }

    @Test func `header fields cannot break out of a request`() {
        #expect(HeaderField(argument: "X-Key: a: b") == HeaderField(name: "X-Key", value: "a: b"))
        for text in [
            "no colon", ": x", "a b: c", "a: b\r\nc: d", "Content-Length: 3", "transfer-encoding: x", "a: \u{0}",
        ] {
            #expect(HeaderField(argument: text) == nil, "\(text)")
        }
    }

    @Test(arguments: [
        ("http://127.0.0.1:8080", "127.0.0.1:8080", "/v1/verify"), ("http://localhost/", "localhost", "/"),
        ("HTTP://h:81/a/b%20c?x=1", "h:81", "/a/b%20c?x=1"), ("https://h:443", "h", "/v1/verify"),
        ("https://h:80/", "h:80", "/"), ("http://[::1]:9/", "[::1]:9", "/"),
    ])
    func `a URL names a server and a path`(text: String, authority: String, path: String) throws {
        let target = try LoadTarget(text, defaultPath: "/v1/verify")
        #expect(target.authority == authority && target.path == path)
    }

    @Test(arguments: [
        ("https:/a", LoadTargetError.notHTTP("https:/a")), ("ftp://a", .notHTTP("ftp://a")), ("a", .notHTTP("a")),
        ("http://", .malformed("http://")), ("http://a b/", .malformed("http://a b/")),
        ("http://a:0/", .malformed("http://a:0/")), ("http://a:99999/", .malformed("http://a:99999/")),
        ("http://u:p@a/", .malformed("http://u:p@a/")), ("http://a/\r\nX: y", .malformed("http://a/\r\nX: y")),
    ])
    func `what is no such URL is refused`(text: String, error: LoadTargetError) {
        #expect(throws: error) { try LoadTarget(text) }
    }

    @Test(arguments: [
        ["http://h", "-R", "5000", "-d", "30s"], ["http://h", "--stages", "1s:5", "-R", "3", "-c", "8", "-t", "2"],
        ["https://h", "-n", "7", "-R", "max", "--insecure"], ["--root", "x.pem"],
        ["http://h", "-X", "GET", "-H", "a: b", "-H", "c: d"],
    ])
    func `sensible combinations are taken`(arguments: [String]) throws {
        let command = try HTTPCommand.parse(arguments)
        if command.traffic.url != nil { _ = try command.plan() }
    }

    @Test(arguments: [
        [], ["https://h", "--insecure", "--ca-file", "x"], ["http://h", "--stages", "1s:5", "-d", "3s"],
        ["http://h", "--stages", "1s:0"],
        ["http://h", "-R", "max", "--stages", "1s:5"], ["http://h", "-d", "0s"], ["http://h", "-n", "0"],
        ["http://h", "-c", "0"], ["http://h", "-c", "1", "-t", "2"], ["http://h", "--mix", "repeat=2"],
        ["http://h", "--scrape", "ftp://h"], ["http://h", "-X", "HEAD"], ["http://h", "--timeout", "0s"],
        ["http://h", "--keys", "10000000", "--receipt-bytes", "1000000"],
    ])
    func `what makes no sense is wrong usage`(arguments: [String]) {
        #expect { try HTTPCommand.parse(arguments) } throws: { error in
            HTTPCommand.exitCode(for: error) == .validationFailure
        }
    }

    @Test(arguments: [
        ([], 1000.0, 1000.0, 10.0), (["-R", "50", "-d", "2m"], 50, 50, 120), (["-R", "50", "-n", "100"], 50, 50, 2),
        (["--stages", "4s:80"], 0, 80, 4), (["--stages", "4s:80", "-R", "20"], 20, 80, 4),
    ])
    func `rates and times have sensible defaults`(
        options: [String], from: Double, to: Double, seconds: Double
    ) throws {
        let plan = try HTTPCommand.parse(["http://h"] + options).plan()
        let stage = try #require(plan.schedule.curve.stages.first)
        #expect(!plan.isClosed && stage.from == from && stage.to == to && plan.seconds == seconds)
        #expect(plan.schedule.first == (from > 0 ? from : to) && plan.target.path == "/v1/verify")
    }

    @Test func `the most is a closed loop`() throws {
        let plan = try HTTPCommand.parse(["http://h", "-R", "max", "-d", "3s"]).plan()
        #expect(plan.isClosed && plan.seconds == 3 && plan.expectedRequests == nil && plan.target(inSecond: 0) == nil)
    }

    @Test func `secrets do not reach a result`() {
        let arguments = [
            "x", "-H", "Authorization: s", "--api-key", "s", "--header=s", "--api-key=s", "-Hs", "-c", "1",
        ]
        #expect(
            RunResult.Environment.withoutSecrets(arguments) == [
                "x", "-H", "...", "--api-key", "...", "--header=...", "--api-key=...", "-H...", "-c", "1",
            ])
    }

    @Test func `cores are read as the kernel lists them`() {
        let status = KernelFile(text: "Name:\tx\nCpus_allowed_list:\t0-2,5\n")
        #expect(RunResult.Environment.allowedCores(status) == [0, 1, 2, 5])
        #expect(RunResult.Environment.allowedCores(KernelFile(text: "")) == [])
    }

    @Test func `memory is read as the kernel lists it`() {
        let status = KernelFile(text: "Name:\tx\nVmHWM:\t    2204 kB\nVmRSS:\t    1000 kB\n")
        #expect(status.bytes("VmRSS") == 1000 * 1024 && status.bytes("VmSwap") == nil)
        #expect(KernelFile("/nowhere").text.isEmpty)
    }
}
