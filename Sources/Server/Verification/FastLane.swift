// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import HTTPTypes
internal import Logging
internal import NIOCore
internal import Receipts

/// Has requests to verify receipts answered where they arrive, on the event loop of their connection, before they reach
/// the router. The router would answer them in just the same way, and several times as slowly.
final class FastLane: Sendable {
    /// What goes fast.
    enum Limits {
        /// Reading a body takes about one step for each byte (`JSONReader.work`), whatever is in it, so this bounds the time
        /// for which other connections of the event loop wait: about a millisecond for the worst body, a tenth of that
        /// for an ordinary receipt. Larger bodies are left to the router's threads.
        static let bodyBytes = 64 << 10
    }

    private let desk: VerifyDesk
    private let endpoints: [any VerifyEndpoint]
    private let clock: @Sendable () -> Timestamp
    private let log: RequestLog
    private let logger: Logger
    private let date = DateField()
    /// When receipts are verified.
    let turns = VerificationTurns.OfEachLoop()

    /// - Parameters:
    ///   - desk: has requests answered.
    ///   - endpoints: where receipts are verified.
    ///   - clock: the time, which tests set.
    ///   - log: where requests are logged.
    ///   - logger: where failures of the gateway itself are logged.
    init(
        desk: VerifyDesk, endpoints: [any VerifyEndpoint], clock: @escaping @Sendable () -> Timestamp, log: RequestLog,
        logger: Logger
    ) {
        (self.desk, self.endpoints, self.clock) = (desk, endpoints, clock)
        (self.log, self.logger) = (log, logger)
    }

    /// A request that goes fast.
    struct Matter: Sendable {
        fileprivate let endpoint: any VerifyEndpoint
        fileprivate let header: RequestHeader
        fileprivate let sent: SentRequest
        fileprivate let start = ContinuousClock.now
    }

    /// How far a request has come.
    enum Progress: Sendable {
        case replied(Reply)
        /// A receipt has to be verified, which takes computing.
        case verifying(@Sendable () -> Progress)
        /// Somebody has to be waited for.
        case waiting(@Sendable () async -> Reply)
    }

    /// The request as one that goes fast; nil for all others.
    func matter(of request: IncomingRequest, over channel: any Channel) -> Matter? {
        let header = request.header
        guard header.method == .post, request.bodyBytes <= Limits.bodyBytes, let client = header.client,
            let endpoint = endpoints.first(where: { $0.path == header.path })
        else { return nil }
        let sent = SentRequest(
            from: client, header, peer: Peer(channel), outcome: RequestOutcome(isLogged: log.isKept))
        return Matter(endpoint: endpoint, header: header, sent: sent)
    }

    /// Answers a request as far as that is possible without waiting.
    func begin(_ matter: Matter, body: ReservedBody) -> Progress {
        proceed(matter) {
            try log.tracing.begin(matter.trail) {
                try desk.begin(matter.sent, body, at: matter.endpoint, now: clock())
            }
        }
    }

    private func proceed(_ matter: Matter, _ step: () throws -> VerifyDesk.Progress) -> Progress {
        do {
            switch try step() {
            case .replied(let reply): return .replied(finish(reply, matter))
            case .verifying(let rest):
                return .verifying { self.proceed(matter) { try self.log.tracing.goOn(matter.trail, rest) } }
            case .waiting(let rest):
                return .waiting { await matter.trail.follow { await self.finish(rest, matter) } }
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
        return Reply(problem, requestID: matter.header.requestID.text)
    }

    /// Logs the reply, and adds what every answer has.
    private func finish(_ reply: consuming Reply, _ matter: Matter) -> Reply {
        let (status, answerBytes) = (reply.status.code, reply.body.readableBytes)
        log.write(status, took: .now - matter.start) { matter.line(status, answerBytes, took: $0) }
        log.tracing.end(matter.sent.outcome) { matter.line(status, answerBytes, took: .now - matter.start) }
        reply.added.append(contentsOf: matter.sent.outcome.rateLimitFields)
        if let date = date.field(at: .now()) { reply.added.append(date) }
        return reply
    }
}

extension FastLane.Matter {
    /// By what its log lines and spans are joined.
    fileprivate var trail: RequestTrail {
        RequestTrail(requestID: header.requestID, header: header, outcome: sent.outcome)
    }

    /// What the log says of it.
    fileprivate func line(_ status: Int, _ answerBytes: Int, took: Duration) -> RequestLog.Line {
        let trail = trail
        return RequestLog.Line(
            requestID: trail.requestID, trace: trail.ids, method: header.method.rawValue, route: endpoint.path,
            status: status, duration: took, answerBytes: answerBytes, facts: sent.outcome.recorded)
    }
}
