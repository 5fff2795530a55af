// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import Logging

/// The request log: what was asked and what became of it. Never a query, a key, or a byte of a body.
struct RequestLog: Sendable {
    private let logger: Logger?
    private let settings: LogSettings
    private let sampler: RequestSampler
    /// Where the spans of the same requests are kept.
    let tracing: RequestTracing

    /// A log that writes to `logger`, or nowhere; all requests, unless the settings say otherwise.
    init(
        logger: Logger?, settings: LogSettings = LogSettings(), sampler: RequestSampler = RequestSampler(),
        tracing: RequestTracing = .off
    ) {
        (self.logger, self.settings, self.sampler, self.tracing) = (logger, settings, sampler, tracing)
    }

    /// One request.
    struct Line: Sendable {
        var requestID: String?
        var trace: TraceIDs?
        var method: String?
        /// The route's template, from a closed set; nil where no route was found.
        var route: String?
        var status: Int
        /// From the end of the request to the beginning of the answer.
        var duration: Duration
        var answerBytes: Int?
        var facts = RequestOutcome.Facts()
    }

    /// Whether anybody wants to know what becomes of requests.
    var isKept: Bool { isOn || tracing.isOn }

    private var isOn: Bool { settings.requests != .none && logger.map { $0.logLevel <= .info } ?? false }

    /// Writes the line of a request that was answered with this status, if it is to have one.
    /// - Parameters:
    ///   - took: how long the answer took; asked for only if that is of interest.
    ///   - line: makes the line.
    func write(_ status: Int, took: @autoclosure () -> Duration, _ line: (Duration) -> Line) {
        guard let logger, isOn else { return }
        let took = took()
        guard settings.requests == .sampled else { return logger.info("request", metadata: line(took).metadata) }
        guard case .write(let occasion, let suppressed) = sampler.decide(status: status, took: took, at: .now) else {
            return
        }
        var metadata = line(took).metadata
        metadata["logged_because"] = "\(occasion)"
        if case .sampled = occasion { metadata["one_in"] = .stringConvertible(sampler.rules.oneIn) }
        if suppressed > 0 { metadata["suppressed_lines"] = .stringConvertible(suppressed) }
        logger.info("request", metadata: metadata)
    }
}

extension [String] {
    fileprivate var joinedIfAny: String? { isEmpty ? nil : joined(separator: ", ") }
}

extension RequestLog.Line {
    /// What it says in words.
    var texts: [String: String] {
        let texts = [
            "request_id": requestID, "trace_id": trace?.traceID, "span_id": trace?.spanID, "method": method,
            "route": route, "client": facts.client, "verdict": facts.answer?.verdict, "reason": facts.answer?.reason,
            "environment": facts.answer?.environment, "source": facts.answer?.source, "cache": facts.answer?.cache,
            "degraded": facts.answer?.degraded, "upstream": facts.upstream?.environment,
            "upstream_outcome": facts.upstream?.outcome, "problem": facts.problem?.rawValue,
            "limited_by": facts.limitedBy.joinedIfAny,
            "limited_in_shadow_by": facts.limitedInShadowBy.joinedIfAny,
        ]
        return texts.compactMapValues(\.self)
    }

    fileprivate var metadata: Logger.Metadata {
        let numbers = ["status": status, "body_bytes": facts.bodyBytes, "answer_bytes": answerBytes]
        let durations = ["duration_ms": duration, "upstream_ms": facts.upstream?.took]
        var metadata = texts.mapValues { Logger.MetadataValue.string($0) }
        metadata.merge(numbers.compactMapValues { $0.map(Logger.MetadataValue.stringConvertible) }) { $1 }
        metadata.merge(
            durations.compactMapValues { $0.map { .stringConvertible($0 / .milliseconds(1)) } }
        ) { $1 }
        return metadata
    }
}
