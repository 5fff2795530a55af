// SPDX-License-Identifier: Apache-2.0

internal import JSON
package import Logging
package import Receipts
package import Telemetry

/// The request log: requests and their outcome. It never contains a query, a key, or a byte of a body.
///
/// Its lines look like the lines of `JSONLogHandler`, and are written without it. Preparing a logger's line for any
/// metadata costs more than many requests do.
package struct RequestLog: Sendable {
    private let logger: Logger?
    private let lines: LogBatcher?
    private let settings: LogSettings
    private let sampler: RequestSampler
    let clock: @Sendable () -> Timestamp
    private let fixedMembers: LogMembers
    let tracing: RequestTracing

    /// - Parameters:
    ///   - logger: the level and label of the lines.
    ///   - lines: receives the lines; with nil, as without a logger, there are none.
    package init(
        logger: Logger?, lines: LogBatcher? = nil, settings: LogSettings = LogSettings(),
        sampler: RequestSampler = RequestSampler(), tracing: RequestTracing = .off,
        clock: @escaping @Sendable () -> Timestamp = { .now() }
    ) {
        (self.logger, self.lines, self.settings) = (logger, lines, settings)
        (self.sampler, self.tracing, self.clock) = (sampler, tracing, clock)
        fixedMembers = LogMembers([
            "level": Logger.Level.info.rawValue, "logger": logger?.label ?? "", "message": "request",
        ])
    }

    struct Line: Sendable {
        var requestID: RequestID?
        var trace: TraceContext?
        var method: String?
        /// The route's template, from a closed set; nil without a route.
        var route: String?
        var status: Int
        /// The time from the end of the request to the beginning of the answer.
        var duration: Duration
        var answerBytes: Int?
        var details = RequestDetails()
        /// Nil if every request is logged.
        var sampling: Sampling?
    }

    /// The reason why this line was written, if requests are sampled.
    struct Sampling: Sendable {
        /// Nil for an ordinary request.
        let kind: NotableRequest?
        /// The number of requests that this request stands for; nil for a request logged for another reason.
        let oneIn: Int?
        /// The number of lines of this kind left out since the last line.
        let suppressed: Int
    }

    /// True if requests get lines, perhaps not each request.
    var isOn: Bool {
        lines != nil && settings.requests != .none && logger.map { $0.logLevel <= .info } ?? false
    }

    /// Writes the line of an answered request, if sampling selects it.
    func write(_ status: Int, took: @autoclosure () -> Duration, _ line: (Duration) -> Line) {
        if isOn { writeIfChosen(status, took: took(), waited: .zero, at: clock(), line) }
    }

    /// Writes the line of a request that began while the log was on.
    /// - Parameter waited: the part of the duration that does not count as slow.
    func writeIfChosen(
        _ status: Int, took: Duration, waited: @autoclosure () -> Duration, at time: Timestamp,
        _ line: (Duration) -> Line
    ) {
        guard let lines else { return }
        guard settings.requests == .sampled else { return write(line(took), at: time, to: lines) }
        guard case .write(let kind, let suppressed) = sampler.decide(status: status, took: took - waited(), at: .now)
        else {
            return
        }
        var chosen = line(took)
        chosen.sampling = Sampling(
            kind: kind, oneIn: kind == nil ? sampler.rules.oneIn : nil, suppressed: suppressed)
        write(chosen, at: time, to: lines)
    }

    private func write(_ line: Line, at time: Timestamp, to lines: LogBatcher) {
        lines.append { json in
            json.object { json in
                json.member("time") { time.appendRFC3339(to: &$0) }
                fixedMembers.write(to: &json)
                line.writeMembers(to: &json)
            }
        }
    }
}

extension RequestLog.Line {
    var texts: [(name: String, text: String)] {
        let texts: [(String, String?)] = [
            ("request_id", requestID?.text), ("client", details.client), ("key_id", details.keyID),
            ("problem", details.problem?.rawValue),
            ("fault", details.fault), ("limited_by", details.limitedBy.joinedIfAny),
            ("limited_in_shadow_by", details.limitedInShadowBy.joinedIfAny),
        ]
        return texts.compactMap { name, text in text.map { (name, $0) } } + (details.result?.texts ?? [])
            + (details.upstream?.texts ?? [])
    }

    /// Writes all members: first the members of every request in the order of their names, then the handler's members.
    fileprivate func writeMembers(to json: inout JSONWriter) {
        json.member("answer_bytes", answerBytes)
        json.member("body_bytes", details.bodyBytes)
        json.member("client", details.client)
        json.member("duration_ms", milliseconds: duration)
        json.member("fault", details.fault)
        json.member("key_id", details.keyID)
        json.member("limited_by", details.limitedBy.joinedIfAny)
        json.member("limited_in_shadow_by", details.limitedInShadowBy.joinedIfAny)
        json.member("logged_because", sampling.map { $0.kind?.rawValue ?? "sampled" })
        json.member("method", method)
        json.member("one_in", sampling?.oneIn)
        json.member("problem", details.problem?.rawValue)
        json.member("request_id", requestID)
        json.member("route", route)
        if let trace { json.member("span_id") { trace.appendSpanID(to: &$0) } }
        json.member("status", status)
        json.member("suppressed_lines", sampling.flatMap { $0.suppressed > 0 ? $0.suppressed : nil })
        if let trace { json.member("trace_id") { trace.appendTraceID(to: &$0) } }
        details.result?.write(to: &json)
        details.upstream?.write(to: &json)
    }
}

extension [String] {
    fileprivate var joinedIfAny: String? { isEmpty ? nil : joined(separator: ", ") }
}

/// Members of a request's log line, such as those its handler adds. A handler's are also attributes of the request's span.
///
/// An object, because a cached answer has them for all requests that get it; their JSON is written once.
package final class LogMembers: Sendable {
    /// The members as written, without the braces of their object.
    private let json: [UInt8]

    /// - Parameters:
    ///   - texts: the members with texts; members without a value are left out.
    ///   - durations: the members in milliseconds, which only the log line has.
    package init(
        _ texts: KeyValuePairs<StaticString, String?>, durations: KeyValuePairs<StaticString, Duration?> = [:]
    ) {
        let json = JSONWriter.object { json in
            for (name, text) in texts { json.member(name, text) }
            for (name, duration) in durations { json.member(name, milliseconds: duration) }
        }
        self.json = Array(json.dropFirst().dropLast())
    }

    func write(to json: inout JSONWriter) {
        if !self.json.isEmpty { json.members(self.json[...]) }
    }

    /// The members with texts, for traces: read from their JSON, because few requests are traced.
    var texts: [(name: String, text: String)] {
        let object = try? JSONValue(parsing: Array("{".utf8) + json + Array("}".utf8))
        return (object?.members ?? []).compactMap { member in
            guard let name = member.name.string, let text = member.value.string else { return nil }
            return (name, text)
        }
    }
}

extension JSONWriter {
    /// Writes milliseconds with their fraction; nothing for nil.
    mutating func member(_ name: StaticString, milliseconds value: Duration?) {
        guard let value else { return }
        key(name)
        decimal(max(0, Int64(clamping: value.attoseconds / 1_000_000_000)), places: 6)
    }

    fileprivate mutating func member(_ name: StaticString, _ value: RequestID?) {
        switch value {
        case .sent(let text)?: member(name, text)
        case .made(let number)?: member(name) { RequestID.append(made: number, to: &$0) }
        case nil: break
        }
    }
}
