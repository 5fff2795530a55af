// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import Gateway
internal import HTTPTypes
internal import NIOCore
internal import Receipts

/// Answers requests to verify receipts, for every endpoint at which receipts are verified.
///
/// ```
/// request ──▶ client ──▶ the same as lately? ──▶ limited? ──▶ read ──▶ VerificationService ──▶ reply ──▶ near cache
///                            │ still holds          │ known        │ malformed      │ has to wait
///                            └──▶ reply             └──▶ problem   └──▶ charge,     └──▶ the rest, whenever it comes
///                                                                       problem
/// ```
///
/// A body lives until it is read. What waits for Apple holds the receipt, and the body only where it is kept for the near
/// cache; the memory that is reserved for the request follows.
final class VerifyHandler: Sendable {
    private let verification: VerificationService
    private let access: CurrentAccess
    private let charging: RequestCharging
    private let metrics: VerificationMetrics
    private let nearCache: NearCache
    private let lifecycle: UpstreamLifecycle
    private let clock: @Sendable () -> Timestamp

    /// - Parameters:
    ///   - verification: decides.
    ///   - access: what Apple is asked with, as it stands now.
    ///   - charging: charges requests to their clients.
    ///   - metrics: counts verdicts.
    ///   - nearCache: what was answered lately.
    ///   - lifecycle: what is known of the end of Apple's endpoint.
    ///   - clock: the time.
    init(
        verification: VerificationService, access: CurrentAccess, charging: RequestCharging,
        metrics: VerificationMetrics, nearCache: NearCache, lifecycle: UpstreamLifecycle,
        clock: @escaping @Sendable () -> Timestamp
    ) {
        self.verification = verification
        self.access = access
        self.charging = charging
        self.metrics = metrics
        self.nearCache = nearCache
        self.lifecycle = lifecycle
        self.clock = clock
    }

    /// Returns the route of an endpoint.
    func route(at endpoint: any VerifyEndpoint) -> Route {
        Route(.post, endpoint.path) { context, body in try self.answer(context, body, at: endpoint) }
    }

    /// Answers a request.
    /// - Throws: what becomes a problem.
    private func answer(
        _ context: RequestContext, _ body: ReservedBody, at endpoint: any VerifyEndpoint
    ) throws -> Progress {
        try endpoint.check(contentType: context.header.contentType)
        let visit = Visit(context: context, endpoint: endpoint, now: clock())
        let key = NearCache.Key(
            endpoint: endpoint.path, body: body.bytes, edition: access.now.edition, client: context.client.name)
        let known = key.flatMap { nearCache.reply(to: $0) }
        if let known {
            let caller = charging.caller(asking: known.question, in: context)
            if try verification.repeats(known.terms, to: known.question, from: caller, at: visit.now) {
                return .done(again(known, visit))
            }
        }
        return .compute { try self.verify(visit, body, key, knowing: known) }
    }

    /// Reads nothing for a client that is known to be limited, and nothing for free.
    private func verify(
        _ visit: Visit, _ body: ReservedBody, _ key: NearCache.Key?, knowing known: KnownReply?
    ) throws -> Progress {
        let sender = charging.sender(of: visit.context)
        try verification.refuseIfLimited(sender)
        let input: VerifyInput
        do {
            input = try read(body, visit, for: sender)
        } catch {
            return try charge(sender) { throw error }
        }
        switch input {
        case .reply(let reply): return try charge(sender) { self.announcing(reply, from: nil, visit) }
        case .request(let request): return try decide(request, visit, body, key, knowing: known)
        }
    }

    /// A body that names an app of others is as good as unreadable.
    private func read(_ body: ReservedBody, _ visit: Visit, for sender: Caller) throws -> VerifyInput {
        let input = try visit.endpoint.read(body.bytes)
        if case .request(let request) = input { try request.question.checkExpectedApp(for: sender) }
        return input
    }

    /// Charges a client for a body that asks nothing, before it is told so.
    private func charge(_ sender: Caller, then reply: @escaping @Sendable () throws -> Reply) throws -> Progress {
        guard let rest = try verification.charge(sender) else { return .done(try reply()) }
        return .wait {
            try await rest()
            return .done(try reply())
        }
    }

    private func decide(
        _ request: VerificationRequest, _ visit: Visit, _ body: ReservedBody, _ key: NearCache.Key?,
        knowing known: KnownReply?
    ) throws -> Progress {
        var request = request
        request.caller = charging.caller(asking: request.question, in: visit.context)
        let kept = body.hold(request.evidence, key)
        request.reservation = body.reservation
        let progress = try verification.begin(request, knowing: known?.terms, at: visit.now)
        return proceed(progress, Case(visit: visit, key: kept, question: request.question, known: known))
    }

    private typealias Progress = Step<Reply, any Error>

    /// A request on its way.
    private struct Visit: Sendable {
        let context: RequestContext
        let endpoint: any VerifyEndpoint
        let now: Timestamp
    }

    /// A visit of which the question is known.
    private struct Case: Sendable {
        let visit: Visit
        /// What the answer is kept under; nil if it is not to be kept.
        let key: NearCache.Key?
        let question: Question
        let known: KnownReply?
    }

    private func proceed(
        _ progress: VerificationService.Progress, _ matter: Case
    ) -> Progress {
        switch progress {
        case .finished(let outcome): .done(reply(outcome, matter))
        case .waiting(let rest): .wait { .done(self.reply(try await rest(), matter)) }
        }
    }

    private func reply(
        _ outcome: VerificationService.Outcome, _ matter: Case
    ) -> Reply {
        switch (outcome, matter.known) {
        case (.answered(let answer), _): first(answer, matter)
        case (.repeated, let known?): again(known, matter.visit)
        case (.repeated, nil): preconditionFailure("Only what is known is repeated.")
        }
    }

    /// Gives an answer that was worked out for this request, and remembers it.
    private func first(_ answer: Answer, _ matter: Case) -> Reply {
        let visit = matter.visit
        let replies = visit.endpoint.replies(to: matter.question, with: answer, at: visit.now)
        metrics.tally(answer).count()
        visit.context.record { $0.answer = AnswerFacts(answer) }
        if let key = matter.key, let terms = KnownAnswer(answer, at: visit.now) {
            let again = answer.again
            let known = KnownReply(
                again, to: matter.question, terms: terms, tally: metrics.tally(again), reply: replies.again)
            nearCache.insert(known, for: key)
        }
        return finish(replies.now, AnswerOrigin(answer), visit)
    }

    private func again(_ known: KnownReply, _ visit: Visit) -> Reply {
        known.tally.count()
        visit.context.record { $0.answer = known.facts }
        return finish(known.reply, known.origin, visit)
    }

    private func finish(_ reply: Reply, _ origin: AnswerOrigin, _ visit: Visit) -> Reply {
        announcing(reply.telling(of: origin, at: visit.now), from: origin.source, visit)
    }

    private func announcing(_ reply: consuming Reply, from source: Provenance.Source?, _ visit: Visit) -> Reply {
        guard visit.endpoint.announcesEnd(withAnswerFrom: source) else { return reply }
        var fields: HTTPFields = [:]
        fields.announce(lifecycle.knowledge(of: .production))
        reply.added.append(contentsOf: fields)
        return reply
    }
}

extension ReservedBody {
    /// Reserves for what is held from now on: the evidence, and the body if its answer is to be kept.
    /// - Returns: what the answer is kept under; nil if there is no memory for it, or if it is not to be kept.
    fileprivate func hold(_ evidence: Evidence, _ key: NearCache.Key?) -> NearCache.Key? {
        guard let reservation else { return key?.kept }
        if let kept = key?.kept, reservation.resize(to: evidence.byteCount + kept.byteCount) { return kept }
        // Base64 is never shorter than what it stands for, so this is no more than was reserved.
        _ = reservation.resize(to: min(evidence.byteCount, reservation.bytes))
        return nil
    }
}
