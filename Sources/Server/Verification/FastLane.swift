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
        /// The worst body of this size takes about a millisecond, an ordinary receipt a tenth of that. The event loop serves
        /// other connections too, so larger ones are left to the router's threads.
        static let bodyBytes = 64 << 10
    }

    private let desk: VerifyDesk
    private let endpoints: [any VerifyEndpoint]
    private let clock: @Sendable () -> Timestamp
    private let log: RequestLog
    private let logger: Logger
    private let date = DateField()

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
            from: client, header, body: request.body ?? ByteBuffer(), peer: Peer(channel),
            outcome: RequestOutcome(isLogged: log.isOn))
        return Matter(endpoint: endpoint, header: header, sent: sent)
    }

    /// Answers a request as far as that is possible without waiting.
    func begin(_ matter: Matter) -> Progress {
        do {
            switch try desk.begin(matter.sent, at: matter.endpoint, now: clock()) {
            case .replied(let reply): return .replied(finish(reply, matter))
            case .waiting(let rest): return .waiting { await self.finish(rest, matter) }
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
        log.write {
            RequestLog.Line(
                requestID: matter.header.requestID.text, method: matter.header.method.rawValue,
                route: matter.endpoint.path, status: reply.status.code, duration: .now - matter.start,
                answerBytes: reply.body.readableBytes, facts: matter.sent.outcome.recorded)
        }
        reply.added.append(contentsOf: matter.sent.outcome.rateLimitFields)
        if let date = date.field(at: .now()) { reply.added.append(date) }
        return reply
    }
}
