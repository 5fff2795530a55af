// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import HTTPTypes
internal import Logging
internal import NIOCore
internal import Receipts

/// Has requests to verify receipts answered where they arrive, on the event loop of their connection, before they reach
/// the router. The router would answer them in just the same way, and several times as slowly.
struct FastLane: Sendable {
    /// What goes fast.
    enum Limits {
        /// A receipt of this size is verified in less than a millisecond. The event loop serves other connections too, so
        /// larger ones are left to the router's threads.
        static let bodyBytes = BodyBudget.ordinaryBodyBytes
    }

    /// Has requests answered.
    let desk: VerifyDesk
    /// Where receipts are verified.
    let endpoints: [any VerifyEndpoint]
    /// The time, which tests set.
    let clock: @Sendable () -> Timestamp
    /// Where requests are logged.
    let log: RequestLog
    /// Where failures of the gateway itself are logged.
    let logger: Logger
    /// The header field `Date`.
    let date = DateField()

    /// A request that goes fast.
    struct Matter: Sendable {
        fileprivate let endpoint: any VerifyEndpoint
        fileprivate let sent: SentRequest
        fileprivate let requestID: String
        fileprivate let start = ContinuousClock.now
    }

    /// How far a request has come.
    enum Progress: Sendable {
        case replied(Reply)
        /// Somebody has to be waited for.
        case waiting(@Sendable () async -> Reply)
    }

    /// The request as one that goes fast; nil for all others.
    func matter(of request: IncomingRequest, over channel: any Channel) -> Matter? {
        let head = request.header.head
        guard head.method == .post, request.bodyBytes <= Limits.bodyBytes,
            let endpoint = endpoints.first(where: { $0.path == head.path })
        else { return nil }
        let sent = SentRequest(
            fields: head.headerFields, body: request.body ?? ByteBuffer(), peer: Peer(channel),
            outcome: RequestOutcome(isLogged: log.isOn))
        return Matter(endpoint: endpoint, sent: sent, requestID: request.header.requestID)
    }

    /// Answers a request as far as that is possible without waiting.
    func begin(_ matter: Matter) -> Progress {
        do {
            switch try desk.begin(matter.sent, at: matter.endpoint, now: clock()) {
            case .replied(let reply): return .replied(finish(reply, matter))
            case .waiting(let rest): return .waiting { await finish(rest, matter) }
            }
        } catch {
            return .replied(finish(problem(error, matter), matter))
        }
    }

    private func finish(_ rest: () async throws -> Reply, _ matter: Matter) async -> Reply {
        do {
            return finish(try await rest(), matter)
        } catch {
            return finish(problem(error, matter), matter)
        }
    }

    private func problem(_ error: any Error, _ matter: Matter) -> Reply {
        let problem = Problem(error)
        if problem.code == .internalError {
            logger.error("Request failed", metadata: ["error_type": "\(type(of: error))"])
        }
        matter.sent.outcome.record { $0.add(problem) }
        return Reply(problem, requestID: matter.requestID)
    }

    /// Logs the reply, and adds what every answer has.
    private func finish(_ reply: Reply, _ matter: Matter) -> Reply {
        log.write {
            RequestLog.Line(
                requestID: matter.requestID, method: HTTPRequest.Method.post.rawValue, route: matter.endpoint.path,
                status: reply.status.code, duration: .now - matter.start, answerBytes: reply.body.readableBytes,
                facts: matter.sent.outcome.recorded)
        }
        var reply = reply
        reply.fields.append(contentsOf: matter.sent.outcome.rateLimitFields)
        reply.fields[.contentLength] = String(reply.body.readableBytes)
        reply.fields[.date] = date.text
        return reply
    }
}
