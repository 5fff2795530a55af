// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import JSON
package import Logging
internal import Notifications
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
        /// The number of requests that this one stands for; nil for one logged for another reason.
        let oneIn: Int?
        /// The number of lines of this kind left out since the last one.
        let suppressed: Int
    }

    /// True if details of requests are needed, for the log or for traces.
    var isKept: Bool { isOn || tracing.isOn }

    private var isOn: Bool {
        lines != nil && settings.requests != .none && logger.map { $0.logLevel <= .info } ?? false
    }

    /// Writes the line of an answered request, if sampling selects it.
    /// - Parameters:
    ///   - took: the duration of the answer; evaluated only if needed.
    ///   - waited: the part of it that does not count as slow.
    ///   - line: makes the line.
    func write(
        _ status: Int, took: @autoclosure () -> Duration, waited: @autoclosure () -> Duration = .zero,
        _ line: (Duration) -> Line
    ) {
        guard let lines, isOn else { return }
        let took = took()
        guard settings.requests == .sampled else { return write(line(took), to: lines) }
        guard case .write(let kind, let suppressed) = sampler.decide(status: status, took: took - waited(), at: .now)
        else {
            return
        }
        var chosen = line(took)
        chosen.sampling = Sampling(
            kind: kind, oneIn: kind == nil ? sampler.rules.oneIn : nil, suppressed: suppressed)
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
    var texts: [String: String] {
        let texts = [
            "request_id": requestID?.text, "trace_id": trace?.traceID, "span_id": trace?.spanID, "method": method,
            "route": route, "client": details.client, "verdict": details.answer?.verdict,
            "reason": details.answer?.reason,
            "environment": details.environment, "source": details.answer?.source,
            "cache": details.answer?.cache,
            "degraded": details.answer?.degraded, "notification": details.notification?.outcome.rawValue,
            "notification_version": details.notification?.version.name, "api": details.upstream?.api,
            "upstream": details.upstream?.environment,
            "upstream_outcome": details.upstream?.outcome, "problem": details.problem?.rawValue, "fault": details.fault,
            "limited_by": details.limitedBy.joinedIfAny,
            "limited_in_shadow_by": details.limitedInShadowBy.joinedIfAny,
        ]
        return texts.compactMapValues(\.self)
    }

    /// Writes all members in the order of their names, as in other lines.
    fileprivate func writeMembers(to json: inout JSONWriter) {
        let names = MemberNames.all
        json.member(names.answerBytes, answerBytes)
        json.member(names.api, details.upstream?.api)
        json.member(names.bodyBytes, details.bodyBytes)
        json.member(names.cache, details.answer?.cache)
        json.member(names.client, details.client)
        json.member(names.degraded, details.answer?.degraded)
        json.member(names.duration, duration)
        json.member(names.environment, details.environment)
        json.member(names.fault, details.fault)
        json.member(names.limitedBy, details.limitedBy.joinedIfAny)
        json.member(names.limitedInShadowBy, details.limitedInShadowBy.joinedIfAny)
        json.member(names.loggedBecause, sampling.map { $0.kind?.rawValue ?? "sampled" })
        json.member(names.method, method)
        json.member(names.notification, details.notification?.outcome.rawValue)
        json.member(names.notificationVersion, details.notification?.version.name)
        json.member(names.oneIn, sampling?.oneIn)
        json.member(names.problem, details.problem?.rawValue)
        json.member(names.reason, details.answer?.reason)
        json.member(names.requestID, requestID)
        json.member(names.route, route)
        json.member(names.source, details.answer?.source)
        json.member(names.spanID, trace) { $0.appendSpanID }
        json.member(names.status, status)
        json.member(names.suppressedLines, sampling.flatMap { $0.suppressed > 0 ? $0.suppressed : nil })
        json.member(names.traceID, trace) { $0.appendTraceID }
        json.member(names.upstream, details.upstream?.environment)
        json.member(names.upstreamDuration, details.upstream?.took)
        json.member(names.upstreamOutcome, details.upstream?.outcome)
        json.member(names.verdict, details.answer?.verdict)
    }
}

extension RequestDetails {
    fileprivate var environment: String? { answer?.environment ?? notification?.environment.rawValue }
}

extension [String] {
    fileprivate var joinedIfAny: String? { isEmpty ? nil : joined(separator: ", ") }
}

/// The names of the members. An object, so that they are looked up once per line and not one by one.
private final class MemberNames: Sendable {
    static let all = MemberNames()

    let time = JSONKey("time")
    let answerBytes = JSONKey("answer_bytes")
    let api = JSONKey("api")
    let bodyBytes = JSONKey("body_bytes")
    let cache = JSONKey("cache")
    let client = JSONKey("client")
    let degraded = JSONKey("degraded")
    let duration = JSONKey("duration_ms")
    let environment = JSONKey("environment")
    let fault = JSONKey("fault")
    let limitedBy = JSONKey("limited_by")
    let limitedInShadowBy = JSONKey("limited_in_shadow_by")
    let loggedBecause = JSONKey("logged_because")
    let method = JSONKey("method")
    let notification = JSONKey("notification")
    let notificationVersion = JSONKey("notification_version")
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
        let (seconds, attoseconds) = value.components
        decimal(max(0, seconds * 1_000_000_000 + attoseconds / 1_000_000_000), places: 6)
    }

    fileprivate mutating func member(_ name: JSONKey, _ value: RequestID?) {
        switch value {
        case .sent(let text)?: member(name, text)
        case .made(let number)?: member(name) { RequestID.append(made: number, to: &$0) }
        case nil: break
        }
    }

    fileprivate mutating func member(
        _ name: JSONKey, _ trace: TraceContext?, _ append: (TraceContext) -> (inout [UInt8]) -> Void
    ) {
        if let trace { member(name, appending: append(trace)) }
    }
}
