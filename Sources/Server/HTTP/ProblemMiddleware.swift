// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import HTTPTypes
internal import Hummingbird
internal import Logging

/// Turns every error into problem details, a wrong method into 405, and takes the body off answers to HEAD.
struct ProblemMiddleware: RouterMiddleware {
    typealias Context = GatewayRequestContext

    /// The methods each path takes.
    let methods: [String: [HTTPRequest.Method]]

    func handle(
        _ request: Request, context: Context, next: @concurrent (Request, Context) async throws -> Response
    ) async throws -> Response {
        let response = await respond(to: request, context: context, next: next)
        return request.method == .head ? response.createHeadResponse() : response
    }

    private func respond(
        to request: Request, context: Context, next: @concurrent (Request, Context) async throws -> Response
    ) async -> Response {
        do {
            guard RouteTemplate.isExact(request.uri.path) else { throw Problem.notFound }
            return try await next(request, context)
        } catch {
            return answer(Problem(error), to: request, context: context, cause: error)
        }
    }

    private func answer(
        _ problem: Problem, to request: Request, context: Context, cause: any Error
    ) -> Response {
        let path = RouteTemplate.of(request.uri.path)
        if problem.code == .notFound, let allowed = methods[path] {
            context.coreContext.endpointPath.value = path
            if request.method == .options { return .allowing(allowed) }
            return answer(.methodNotAllowed(allowed: allowed), to: request, context: context, cause: cause)
        }
        if problem.code == .notFound { context.coreContext.endpointPath.value = nil }
        if problem.code == .internalError {
            context.logger.error("Request failed", metadata: ["error_type": "\(type(of: cause))"])
        }
        context.outcome.record { $0.add(problem) }
        return Response(Reply(problem, requestID: request.headers[.requestID]))
    }
}

extension Response {
    /// The answer to OPTIONS (RFC 9110 §9.3.7).
    fileprivate static func allowing(_ methods: [HTTPRequest.Method]) -> Response {
        Response(status: .noContent, headers: [.allow: methods.map(\.rawValue).joined(separator: ", ")])
    }

    /// A JSON body that is ready to send.
    init(json body: [UInt8], status: HTTPResponse.Status = .ok) {
        self.init(
            status: status, headers: [.contentType: "application/json"],
            body: ResponseBody(byteBuffer: ByteBuffer(bytes: body)))
    }
}
