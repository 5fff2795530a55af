// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import HTTPTypes
internal import Hummingbird

/// Writes one line for each request that the router answered, and keeps its span. Requests the edge refuses get their
/// line there.
struct RequestLogMiddleware: RouterMiddleware {
    typealias Context = GatewayRequestContext

    /// Where the lines go.
    let log: RequestLog

    func handle(
        _ request: Request, context: Context, next: @concurrent (Request, Context) async throws -> Response
    ) async throws -> Response {
        let start = ContinuousClock.now
        let trail = RequestTrail(
            requestID: .sent(request.headers[.requestID] ?? ""), header: request.headers, outcome: context.outcome)
        log.tracing.start(trail)
        let response = try await trail.follow { try await next(request, context) }
        let line = { (took: Duration) in
            RequestLog.Line(
                requestID: trail.requestID, trace: trail.ids, method: request.method.rawValue,
                route: context.endpointPath, status: response.status.code, duration: took,
                answerBytes: response.body.contentLength, facts: context.outcome.recorded)
        }
        log.write(response.status.code, took: .now - start, line)
        log.tracing.end(context.outcome) { line(.now - start) }
        return response
    }
}
