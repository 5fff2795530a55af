// SPDX-License-Identifier: Apache-2.0

import JSON
import Logging
import Receipts
import Testing

@testable import HTTPServer
@testable import ServerTestSupport
@testable import Telemetry

/// Request lines bypass the logger, and look as if they did not.
@Suite("Request log lines")
struct RequestLogTests {
    /// The optional members of a line, each a bit of a number.
    private static let choices = 16

    @Test(arguments: 0..<16)
    func `each combination of members is written as a logger writes metadata`(slice: Int) {
        for choice in stride(from: slice, to: 1 << Self.choices, by: 16 * 13) { expectSame(Self.line(choice)) }
        for bit in 0..<Self.choices {
            expectSame(Self.line(1 << bit, seed: slice))
            expectSame(Self.line(~(1 << bit), seed: slice))
        }
    }

    @Test(arguments: [
        Duration.zero, .nanoseconds(100), .microseconds(13), .milliseconds(7), .seconds(2), .nanoseconds(1_234_567),
        .seconds(86_400),
    ])
    func `durations are written as a logger writes them`(duration: Duration) {
        var line = Self.line(0)
        line.duration = duration
        expectSame(line)
    }

    @Test(
        arguments: [
            (.nanoseconds(1), "0.000001"), (Duration(secondsComponent: 0, attosecondsComponent: 1), "0.0"),
            (.seconds(-1), "0.0"),
        ] as [(Duration, String)])
    func `durations have nanoseconds and no exponent`(duration: Duration, expected: String) {
        let lines = LogLines()
        let log = RequestLog(
            logger: Self.logger("x", lines), lines: LogBatcher(limits: .eachLine, handOn: lines.append))
        log.write(200, took: .zero) { _ in RequestLog.Line(status: 200, duration: duration) }
        #expect(lines.containing(#""duration_ms":\#(expected),"#).count == 1)
    }

    @Test(arguments: [0, 1, 999, 1000, 1_767_225_600_000, 1_767_225_599_999, -1, 253_402_300_800_000])
    func `the time is written as a logger writes it`(milliseconds: Int64) {
        expectSame(Self.line(0), at: Timestamp(millisecondsSince1970: milliseconds))
    }

    @Test(arguments: ["receipt-gateway", "", "a \"label\"\\\n"])
    func `each line has the logger's label`(label: String) {
        expectSame(Self.line(-1), label: label)
    }

    @Test func `without a logger or an output, or below the level, no line is written`() {
        let lines = LogLines()
        let batcher = LogBatcher(limits: .eachLine, handOn: lines.append)
        var quiet = Self.logger("x", lines)
        quiet.logLevel = .notice
        let logs = [
            RequestLog(logger: nil, lines: batcher), RequestLog(logger: quiet, lines: batcher),
            RequestLog(logger: Self.logger("x", lines)),
            RequestLog(
                logger: Self.logger("x", lines), lines: batcher,
                settings: LogSettings(LogSettings.Values(requests: .none))),
        ]
        for log in logs {
            #expect(!log.isOn)
            log.write(200, took: .zero) { _ in
                Issue.record("this line must not be made")
                return Self.line(0)
            }
        }
        #expect(lines.containing("").isEmpty)
    }

    // MARK: - Steps

    private func expectSame(
        _ line: RequestLog.Line, at time: Timestamp = Timestamp(millisecondsSince1970: 1500), label: String = "test",
        sourceLocation: SourceLocation = #_sourceLocation
    ) {
        let written = LogLines(), logged = LogLines()
        let log = RequestLog(
            logger: Self.logger(label, written), lines: LogBatcher(limits: .eachLine, handOn: written.append),
            clock: { time })
        log.write(line.status, took: .zero) { _ in line }
        let logger = Logger(label: label) {
            JSONLogHandler(label: $0, level: .info, clock: { time }, write: logged.append)
        }
        logger.info("request", metadata: Self.metadata(line))
        #expect(Self.members(written) == Self.members(logged), sourceLocation: sourceLocation)
    }

    /// Returns the members of the only line, without their order, as text; nil if a name is there twice.
    private static func members(_ lines: LogLines) -> Set<JSONValue.Member>? {
        let lines = lines.containing("")
        guard lines.count == 1, let line = lines.first else { return nil }
        return (try? JSONValue(parsing: Array(line.utf8)))?.members.map { Set($0) }
    }

    private static func logger(_ label: String, _ lines: LogLines) -> Logger {
        Logger(label: label) { JSONLogHandler(label: $0, level: .info, write: lines.append) }
    }

    /// Returns the content of a line as metadata.
    private static func metadata(_ line: RequestLog.Line) -> Logger.Metadata {
        let (details, sampling) = (line.details, line.sampling)
        let texts = [
            "request_id": line.requestID?.text, "trace_id": line.trace?.traceID, "span_id": line.trace?.spanID,
            "method": line.method, "route": line.route, "client": details.client,
            "key_id": details.keyID, "problem": details.problem?.rawValue, "limited_by": joined(details.limitedBy),
            "limited_in_shadow_by": joined(details.limitedInShadowBy),
        ]
        let numbers = [
            "status": line.status, "body_bytes": details.bodyBytes, "answer_bytes": line.answerBytes,
            "one_in": sampling?.oneIn, "suppressed_lines": sampling.flatMap { $0.suppressed > 0 ? $0.suppressed : nil },
        ]
        var metadata = texts.compactMapValues { $0.map { Logger.MetadataValue.string($0) } }
        metadata["duration_ms"] = .stringConvertible(line.duration / .milliseconds(1))
        metadata["logged_because"] = sampling.map { .string($0.kind?.rawValue ?? "sampled") }
        metadata.merge(numbers.compactMapValues { $0.map { .stringConvertible($0) } }) { $1 }
        for (name, text) in (details.result?.texts ?? []) + (details.upstream?.texts ?? []) {
            metadata[name] = .string(text)
        }
        if details.upstream != nil { metadata["upstream_ms"] = .stringConvertible(upstreamTime / .milliseconds(1)) }
        return metadata
    }

    private static let upstreamTime: Duration = .microseconds(12_345)

    private static func joined(_ names: [String]) -> String? { names.isEmpty ? nil : names.joined(separator: ", ") }

    /// Returns a line with the members whose bits are set.
    private static func line(_ choice: Int, seed: Int = 0) -> RequestLog.Line {
        var number = choice &+ seed
        func has(_ bit: Int) -> Bool { choice >> bit & 1 == 1 }
        func text() -> String {
            number &+= 1
            return texts[abs(number % texts.count)]
        }
        var line = RequestLog.Line(
            status: [200, 404, 503][abs(number % 3)],
            // A logger writes less than a tenth of a microsecond with an exponent.
            duration: .nanoseconds(100 + abs(number) % 1_000_000))
        if has(0) { line.requestID = has(1) ? .sent(text()) : RequestID(sent: nil) }
        if has(2) { line.trace = TraceContext(following: nil) }
        if has(3) { line.method = text() }
        if has(4) { line.route = text() }
        if has(5) { line.answerBytes = [0, 7, .max, .min][abs(number % 4)] }
        if has(6) { line.details.client = text() }
        if has(6), has(9) { line.details.keyID = text() }
        if has(7) { line.details.bodyBytes = abs(number) }
        if has(8) {
            line.details.result = LogMembers([
                "verdict": text(), "reason": has(9) ? text() : nil, "environment": has(10) ? text() : nil,
                "source": text(),
            ])
        }
        if has(11) {
            line.details.upstream = LogMembers(
                ["api": text(), "upstream_outcome": has(12) ? text() : nil], durations: ["upstream_ms": upstreamTime])
        }
        if has(13) { line.details.problem = Problem.Code.allCases[abs(number) % Problem.Code.allCases.count] }
        if has(14) { line.details.limitedBy = [text(), text()] }
        if has(10) { line.details.limitedInShadowBy = [text()] }
        if has(15) {
            line.sampling = RequestLog.Sampling(
                kind: has(1) ? nil : .slow, oneIn: has(1) ? 100 : nil, suppressed: has(3) ? 7 : 0)
        }
        return line
    }

    private static let texts = [
        "", "near", "a \"quoted\" word", "back\\slash", "two\nlines\r\n", "\u{0}\u{1}\u{1F}\u{7F}\t", "é, 領収書, 🧾",
        "sixteen bytes on", String(repeating: "long ", count: 40), "/v1/verify", "\"", "\\", "</script>\u{2028}",
    ]
}
