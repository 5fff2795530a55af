// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import JSON
package import Logging
package import Receipts
internal import Settings
package import Telemetry

/// The request log: requests and their outcome. It never contains a query, a key, or a byte of a body.
///
/// Its lines look like those of `JSONLogHandler`, and are written without it: preparing a logger's line for any metadata
/// costs more than many requests do.
package struct RequestLog: Sendable {
    private let logger: Logger?
    private let lines: LogBatcher?
    private let settings: LogSettings
    private let sampler: RequestSampler
    private let clock: @Sendable () -> Timestamp
    /// The members common to all lines.
    private let fixedMembers: ArraySlice<UInt8>
    /// The tracing of the same requests.
    let tracing: RequestTracing

    /// - Parameters:
    ///   - logger: the level and label of the lines.
    ///   - lines: receives the lines; with nil, as without a logger, there are none.
    package init(
        logger: Logger?, lines: LogBatcher? = nil, settings: LogSettings = LogSettings(),
        sampler: RequestSampler = RequestSampler(), tracing: RequestTracing = .off,
        clock: @escaping @Sendable () -> Timestamp = { .now() }
    ) {
        self.logger = logger
        self.lines = lines
        self.settings = settings
        self.sampler = sampler
        self.tracing = tracing
        self.clock = clock
        fixedMembers = Self.fixedMembers(label: logger?.label ?? "")
    }

    private static func fixedMembers(label: String) -> ArraySlice<UInt8> {
        var json = JSONWriter()
        json.object { json in
            json.member("level", Logger.Level.info.rawValue)
            json.member("logger", label)
            json.member("message", "request")
        }
        return json.bytes.dropFirst().dropLast()
    }

    /// The log line of one request.
    struct Line: Sendable {
        var requestID: RequestID?
        var trace: TraceIDs?
        var method: String?
        /// The route's template, from a closed set; nil without a route.
        var route: String?
        var status: Int
        /// The time from the end of the request to the beginning of the answer.
        var duration: Duration
        var answerBytes: Int?
        var facts = RequestFacts()
        /// Nil if every request is logged.
        var sampling: Sampling?
    }

    /// The reason why this line was written, if requests are sampled.
    struct Sampling: Sendable {
        let occasion: RequestSampler.Occasion
        /// The number of requests that this one stands for; nil for one logged for another reason.
        let oneIn: Int?
        /// The number of lines of this kind left out since the last one.
        let suppressed: Int
    }

    /// True if facts of requests are needed, for the log or for traces.
    var isKept: Bool { isOn || tracing.isOn }

    private var isOn: Bool {
        lines != nil && settings.requests != .none && logger.map { $0.logLevel <= .info } ?? false
    }

    /// Writes the line of an answered request, if sampling selects it.
    /// - Parameters:
    ///   - took: the duration of the answer; evaluated only if needed.
    ///   - line: makes the line.
    func write(_ status: Int, took: @autoclosure () -> Duration, _ line: (Duration) -> Line) {
        guard let lines, isOn else { return }
        let took = took()
        guard settings.requests == .sampled else { return write(line(took), to: lines) }
        guard case .write(let occasion, let suppressed) = sampler.decide(status: status, took: took, at: .now) else {
            return
        }
        var chosen = line(took)
        chosen.sampling = Sampling(
            occasion: occasion, oneIn: occasion == .sampled ? sampler.rules.oneIn : nil, suppressed: suppressed)
        write(chosen, to: lines)
    }

    private func write(_ line: Line, to lines: LogBatcher) {
        lines.append { json in
            json.object { json in
                json.member(MemberNames.all.time, appending: clock().appendRFC3339)
                json.members(fixedMembers)
                line.writeMembers(to: &json)
            }
        }
    }
}

// MARK: - Members

extension RequestLog.Line {
    /// The text members of the line.
    var texts: [String: String] {
        let texts = [
            "request_id": requestID?.text, "trace_id": trace?.traceID, "span_id": trace?.spanID, "method": method,
            "route": route, "client": facts.client, "verdict": facts.answer?.verdict, "reason": facts.answer?.reason,
            "environment": facts.answer?.environment, "source": facts.answer?.source, "cache": facts.answer?.cache,
            "degraded": facts.answer?.degraded, "upstream": facts.upstream?.environment,
            "upstream_outcome": facts.upstream?.outcome, "problem": facts.problem?.rawValue,
            "limited_by": facts.limitedBy.joinedIfAny,
            "limited_in_shadow_by": facts.limitedInShadowBy.joinedIfAny,
        ]
        return texts.compactMapValues(\.self)
    }

    /// Writes all members in the order of their names, as in other lines.
    fileprivate func writeMembers(to json: inout JSONWriter) {
        let names = MemberNames.all
        json.member(names.answerBytes, answerBytes)
        json.member(names.bodyBytes, facts.bodyBytes)
        json.member(names.cache, facts.answer?.cache)
        json.member(names.client, facts.client)
        json.member(names.degraded, facts.answer?.degraded)
        json.member(names.duration, duration)
        json.member(names.environment, facts.answer?.environment)
        json.member(names.limitedBy, facts.limitedBy.joinedIfAny)
        json.member(names.limitedInShadowBy, facts.limitedInShadowBy.joinedIfAny)
        json.member(names.loggedBecause, sampling?.occasion.description)
        json.member(names.method, method)
        json.member(names.oneIn, sampling?.oneIn)
        json.member(names.problem, facts.problem?.rawValue)
        json.member(names.reason, facts.answer?.reason)
        json.member(names.requestID, requestID)
        json.member(names.route, route)
        json.member(names.source, facts.answer?.source)
        json.member(names.spanID, trace) { $0.appendSpanID }
        json.member(names.status, status)
        json.member(names.suppressedLines, sampling.flatMap { $0.suppressed > 0 ? $0.suppressed : nil })
        json.member(names.traceID, trace) { $0.appendTraceID }
        json.member(names.upstream, facts.upstream?.environment)
        json.member(names.upstreamDuration, facts.upstream?.took)
        json.member(names.upstreamOutcome, facts.upstream?.outcome)
        json.member(names.verdict, facts.answer?.verdict)
    }
}

extension [String] {
    fileprivate var joinedIfAny: String? { isEmpty ? nil : joined(separator: ", ") }
}

/// The names of the members. An object, so that they are looked up once per line and not one by one.
private final class MemberNames: Sendable {
    static let all = MemberNames()

    let time = JSONKey("time")
    let answerBytes = JSONKey("answer_bytes")
    let bodyBytes = JSONKey("body_bytes")
    let cache = JSONKey("cache")
    let client = JSONKey("client")
    let degraded = JSONKey("degraded")
    let duration = JSONKey("duration_ms")
    let environment = JSONKey("environment")
    let limitedBy = JSONKey("limited_by")
    let limitedInShadowBy = JSONKey("limited_in_shadow_by")
    let loggedBecause = JSONKey("logged_because")
    let method = JSONKey("method")
    let oneIn = JSONKey("one_in")
    let problem = JSONKey("problem")
    let reason = JSONKey("reason")
    let requestID = JSONKey("request_id")
    let route = JSONKey("route")
    let source = JSONKey("source")
    let spanID = JSONKey("span_id")
    let status = JSONKey("status")
    let suppressedLines = JSONKey("suppressed_lines")
    let traceID = JSONKey("trace_id")
    let upstream = JSONKey("upstream")
    let upstreamDuration = JSONKey("upstream_ms")
    let upstreamOutcome = JSONKey("upstream_outcome")
    let verdict = JSONKey("verdict")
}

// A member without a value is left out.
extension JSONWriter {
    fileprivate mutating func member(_ name: JSONKey, _ value: String?) {
        if let value { member(name, value) }
    }

    fileprivate mutating func member(_ name: JSONKey, _ value: Int?) {
        guard let value else { return }
        key(name)
        integer(Int64(value))
    }

    /// In milliseconds, with their fraction.
    fileprivate mutating func member(_ name: JSONKey, _ value: Duration?) {
        guard let value else { return }
        key(name)
        decimal(max(0, value.nanoseconds), places: 6)
    }

    fileprivate mutating func member(_ name: JSONKey, _ value: RequestID?) {
        switch value {
        case .sent(let text)?: member(name, text)
        case .made(let number)?: member(name) { RequestID.append(made: number, to: &$0) }
        case nil: break
        }
    }

    fileprivate mutating func member(
        _ name: JSONKey, _ trace: TraceIDs?, _ append: (TraceIDs) -> (inout [UInt8]) -> Void
    ) {
        if let trace { member(name, appending: append(trace)) }
    }
}

extension Duration {
    fileprivate var nanoseconds: Int64 {
        let (seconds, attoseconds) = components
        return seconds * 1_000_000_000 + attoseconds / 1_000_000_000
    }
}
