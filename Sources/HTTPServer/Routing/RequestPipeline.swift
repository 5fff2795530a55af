// SPDX-License-Identifier: Apache-2.0

internal import Clients
internal import HTTPTypes
package import Logging
internal import NIOCore
internal import Receipts
internal import Resilience
internal import Telemetry

/// The path of every request that the edge accepts: dispatch, handler, problem, log, trace, common header fields.
package final class RequestPipeline: Sendable {
    enum Limits {
        /// The largest body read on the event loop. Reading takes about one step per byte (`JSONReader.work`), so this
        /// bounds the delay for other connections: about a millisecond for the worst body, a tenth of that for an
        /// ordinary receipt. Larger bodies are read on another thread.
        static let eventLoopBodyBytes = 64 << 10
    }

    let routes: RouteTable
    private let log: RequestLog
    private let logger: Logger
    private let date = DateField()

    /// - Parameter logger: receives failures of the gateway itself.
    package init(routes: RouteTable, log: RequestLog, logger: Logger) {
        (self.routes, self.log, self.logger) = (routes, log, logger)
    }

    /// Begins the work for a complete request that the edge accepted.
    func begin(_ context: RequestContext, _ body: ReservedBody) -> Step<Reply, Never> {
        if context.match.isProbe { return step(context) { try dispatch(context, body) } }
        let isLogged = log.isOn
        let isTraced = log.tracing.isOn && !context.isRefused && log.tracing.begin(context)
        if isLogged || isTraced { context.keepDetails(bodyBytes: body.bytes.readableBytes, isLogged: isLogged) }
        return step(context) { try log.tracing.run(context) { try dispatch(context, body) } }
    }

    private func dispatch(_ context: RequestContext, _ body: ReservedBody) throws -> Step<Reply, any Error> {
        if let route = context.match.route {
            try route.authentication.require(permissionOf: context.client)
            return try route.handler(context, body)
        }
        guard let path = context.match.path else { throw Problem.notFound }
        guard context.header.method == .options else { throw Problem.methodNotAllowed(allowed: path.allowed) }
        // RFC 9110 §9.3.7.
        var reply = Reply(status: .noContent, fields: [.allow: path.allowed], body: [])
        if context.match.origins != nil { reply.addPreflightFields(allowing: path.routes.map(\.method.rawValue)) }
        reply.isLast = context.match.authentication == .body
        return .done(reply)
    }

    /// Takes one step, and turns its outcome or error into a reply.
    private func step(_ context: RequestContext, _ take: () throws -> Step<Reply, any Error>) -> Step<Reply, Never> {
        do {
            switch try take() {
            case .done(let reply): return .done(finish(reply, context))
            case .compute(let next):
                return .compute { self.step(context) { try self.log.tracing.run(context, next) } }
            case .wait(let next):
                return .wait { await context.run { await self.wait(context, next) } }
            }
        } catch {
            return .done(finish(reply(to: error, context), context))
        }
    }

    private func wait(
        _ context: RequestContext, _ next: () async throws -> Step<Reply, any Error>
    ) async -> Step<Reply, Never> {
        do {
            let reached = try await next()
            return step(context) { reached }
        } catch {
            return .done(finish(reply(to: error, context), context))
        }
    }

    private func reply(to error: any Error, _ context: RequestContext) -> Reply {
        let problem = Problem(error)
        if problem.code == .internalError {
            logger.error(
                "Request failed",
                metadata: ["error_type": "\(type(of: error))", "request_id": "\(context.requestID.text)"])
        }
        context.record {
            ($0.problem, $0.fault, $0.limitedBy) = (problem.code, problem.fault, problem.violatedPolicies)
        }
        return context.match.reply(to: problem, requestID: context.requestID.text)
    }

    /// Returns the answer to a request that the edge refuses, and logs it.
    /// - Parameter request: nil for a request whose header was not readable.
    func refuse(
        _ request: RequestContext?, _ requestID: RequestID, _ refusal: EdgeRefusal, bodyBytes: Int,
        bodyLimit: ByteCount
    ) -> Reply {
        let problem =
            request?.unknownCertificate.map { .unauthenticated($0, at: log.clock()) }
            ?? Problem(refusal, bodyLimit: request?.match.bodyLimit ?? bodyLimit)
        var reply =
            request?.match.reply(to: problem, requestID: requestID.text) ?? Reply(problem, requestID: requestID.text)
        let took = request.map { Duration(NIODeadline.now() - $0.arrival) } ?? .zero
        let (status, answerBytes) = (reply.status.code, reply.body.count)
        request?.refuse(as: problem.code, bodyBytes: bodyBytes)
        log.write(status, took: took) { took in
            guard let request else {
                var line = RequestLog.Line(
                    requestID: requestID, trace: TraceContext(following: nil), method: nil, status: status,
                    duration: took, answerBytes: answerBytes)
                line.details.problem = problem.code
                return line
            }
            return request.line(status, answerBytes: answerBytes, took: took)
        }
        if let request {
            log.tracing.end(request) { request.line(status, answerBytes: answerBytes, took: took) }
            reply.addOriginFields(to: request)
        }
        reply.add(line: date.line(at: .now()))
        return reply
    }

    /// Logs the reply, and adds the fields common to all answers.
    private func finish(_ reply: consuming Reply, _ context: RequestContext) -> Reply {
        let (status, answerBytes) = (reply.status.code, reply.body.count), now = log.clock()
        if context.isLogged {
            log.writeIfChosen(status, took: context.age, waited: context.details.waited, at: now) {
                context.line(status, answerBytes: answerBytes, took: $0)
            }
        }
        if log.tracing.isOn, !context.isRefused {
            log.tracing.end(context) { context.line(status, answerBytes: answerBytes, took: context.age) }
        }
        for field in context.rateLimitFields { reply.add(field) }
        reply.addOriginFields(to: context)
        reply.add(line: date.line(at: now))
        return reply
    }
}
