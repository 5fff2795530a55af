// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import HTTPTypes
internal import Hummingbird
internal import Logging

/// Writes one line for each request that the router answered. Requests the edge refuses get theirs there.
struct RequestLogMiddleware: RouterMiddleware {
    typealias Context = GatewayRequestContext

    /// Where the lines go.
    let log: RequestLog

    func handle(
        _ request: Request, context: Context, next: @concurrent (Request, Context) async throws -> Response
    ) async throws -> Response {
        let start = ContinuousClock.now
        let response = try await next(request, context)
        log.write {
            RequestLog.Line(
                requestID: request.headers[.requestID], method: request.method.rawValue,
                route: context.endpointPath, status: response.status.code,
                duration: .now - start, answerBytes: response.body.contentLength,
                facts: context.outcome.recorded)
        }
        return response
    }
}

/// The request log: what was asked and what became of it. Never a query, a key, or a byte of a body.
struct RequestLog: Sendable {
    private let logger: Logger?

    /// A log that writes to `logger`, or nowhere.
    init(logger: Logger?) {
        self.logger = logger
    }

    /// One request.
    struct Line: Sendable {
        var requestID: String?
        var method: String?
        /// The route's template, from a closed set; nil where no route was found.
        var route: String?
        var status: Int
        /// From the end of the request to the beginning of the answer.
        var duration: Duration
        var answerBytes: Int?
        var facts = RequestOutcome.Facts()
    }

    /// Whether anybody reads it.
    var isOn: Bool { logger.map { $0.logLevel <= .info } ?? false }

    /// Writes a line, which is made only if there is a log.
    func write(_ line: () -> Line) {
        guard let logger, isOn else { return }
        logger.info("request", metadata: line().metadata)
    }
}

extension [String] {
    fileprivate var joinedIfAny: String? { isEmpty ? nil : joined(separator: ", ") }
}

extension RequestLog.Line {
    fileprivate var metadata: Logger.Metadata {
        let texts = [
            "request_id": requestID, "method": method, "route": route, "client": facts.client,
            "verdict": facts.answer?.verdict, "reason": facts.answer?.reason, "source": facts.answer?.source,
            "cache": facts.answer?.cache, "degraded": facts.answer?.degraded, "problem": facts.problem?.rawValue,
            "limited_by": facts.limitedBy.joinedIfAny,
            "limited_in_shadow_by": facts.limitedInShadowBy.joinedIfAny,
        ]
        let numbers = ["status": status, "body_bytes": facts.bodyBytes, "answer_bytes": answerBytes]
        var metadata = texts.compactMapValues { $0.map(Logger.MetadataValue.string) }
        metadata.merge(numbers.compactMapValues { $0.map(Logger.MetadataValue.stringConvertible) }) { $1 }
        metadata["duration_ms"] = .stringConvertible(duration / .milliseconds(1))
        return metadata
    }
}
