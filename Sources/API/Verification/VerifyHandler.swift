// SPDX-License-Identifier: Apache-2.0

package import Clients
internal import Customers
package import Gateway
package import HTTPServer
internal import HTTPTypes
package import NIOCore
package import Receipts
internal import Resilience
package import Telemetry

/// The handler of requests to verify receipts, for every endpoint.
///
/// ```
/// request ──▶ in near cache? ──▶ limited? ──▶ read ──▶ admit ──▶ VerificationService ──▶ reply ──▶ near cache
///               │ yes: admit        │ known     │ malformed                              │ account, or to be deferred
///               └──▶ reply          └──▶ problem └──▶ charge, problem                    └──▶ OwnershipCheck, Deferral
/// ```
///
/// A body lives until it is read. A request that waits for Apple holds the evidence; the reserved memory follows.
package final class VerifyHandler: Sendable {
    private let verification: VerificationService
    private let access: CurrentAccess
    private let charging: RequestCharging
    private let metrics: VerificationMetrics
    private let nearCache: NearCache
    private let lifecycle: UpstreamLifecycle
    private let ownership: OwnershipCheck?
    private let deferral: Deferral?
    private let clock: @Sendable () -> Timestamp

    package init(
        verification: VerificationService, access: CurrentAccess, charging: RequestCharging,
        metrics: VerificationMetrics, nearCache: NearCache, lifecycle: UpstreamLifecycle,
        ownership: OwnershipCheck? = nil, deferral: Deferral? = nil, clock: @escaping @Sendable () -> Timestamp
    ) {
        (self.verification, self.access, self.charging) = (verification, access, charging)
        (self.metrics, self.nearCache, self.lifecycle) = (metrics, nearCache, lifecycle)
        (self.ownership, self.deferral, self.clock) = (ownership, deferral, clock)
    }

    package func route(at endpoint: any VerifyEndpoint) -> Route {
        Route(.post, endpoint.path) { context, body in
            try self.answer(context, of: context.client, self.access.now, body, at: endpoint)
        }
    }

    typealias Progress = Step<Reply, any Error>

    private struct Call: Sendable {
        let context: RequestContext
        let client: Client
        let endpoint: any VerifyEndpoint
        let now: Timestamp
        /// Nil for an answer that is never deferred.
        let terms: DeferralTerms?
        /// Nil for an answer that is not signed.
        let signature: SignatureTerms?
        /// The claims of the signature; nil until the request was read, and for an answer that has its signature.
        var binding: AnswerBinding?

        func binding(_ binding: AnswerBinding?) -> Call {
            var call = self
            call.binding = binding
            return call
        }
    }

    /// - Parameter access: the access rules that the client was found in.
    /// - Throws: an error that becomes a problem.
    func answer(
        _ context: RequestContext, of client: Client, _ access: Access, _ body: ReservedBody,
        at endpoint: any VerifyEndpoint
    ) throws -> Progress {
        if let type = endpoint.mediaType, !type.accepts(context.header.contentType) {
            throw Problem.unsupportedMediaType
        }
        let signature = endpoint.signsAnswers ? try SignatureTerms.of(context.header, client, access) : nil
        // A deferred answer is not signed.
        let terms =
            deferral != nil && endpoint.defersAnswers && signature == nil
            ? try DeferralTerms.of(context.header, client) : nil
        let call = Call(
            context: context, client: client, endpoint: endpoint, now: clock(), terms: terms, signature: signature)
        let key =
            endpoint.keepsAnswers && nearCache.keepsAnswers
            ? NearCache.Key(
                endpoint: endpoint.path, isSigned: signature != nil, body: body.bytes,
                answersVersion: access.answersVersion, client: client.name)
            : nil
        // A job that the key names goes before a cached answer.
        guard terms?.key == nil, let known = key.flatMap({ nearCache.reply(to: $0) }), known.isValid(at: call.now)
        else {
            return .compute { try self.verify(body, key, call) }
        }
        try known.checkExpectedApp(among: client.apps)
        // With nothing to take there is nothing to wait for.
        if client.limits.isUnlimited { return try answerCached(known, call) }
        var options = known.options
        options.hasNonce = signature?.nonce != nil
        let charged = charging.requestClient(of: client, asking: options, in: context)
        return try charging.admission.admit(charged) {
            // The request may have waited for tokens.
            guard known.isValid(at: call.now) else {
                return .compute { try self.verifyExpired(charged, body, key, call) }
            }
            return try self.answerCached(known, call)
        }
    }

    /// Verifies a body. A client over its limit is refused before anything is read, and every read is charged.
    private func verify(_ body: ReservedBody, _ key: NearCache.Key?, _ call: Call) throws -> Progress {
        let client = charging.requestClient(of: call.client, in: call.context)
        try charging.admission.refuseIfLimited(client)
        let input: VerifyInput
        do {
            input = try read(body, call, for: client)
        } catch {
            return try charging.admission.charge(client) { throw error }
        }
        switch input {
        case .reply(let reply):
            return try charging.admission.charge(client) { .done(self.announcing(reply, from: nil, call)) }
        case .request(let read):
            let client = charging.requestClient(of: call.client, asking: read.options, in: call.context)
            let request = read.of(client, holding: body.reservation(for: read.subject))
            return try charging.admission.admit(client) { try self.decide(request, key, call) }
        }
    }

    /// Reads a body. A body that names an app of other clients, or a transaction that Apple cannot be asked about, is
    /// treated as unreadable.
    private func read(_ body: ReservedBody, _ call: Call, for client: RequestClient) throws -> VerifyInput {
        let input = try call.endpoint.read(body.bytes)
        guard case .request(var request) = input else { return input }
        try request.options.checkExpectedApp(among: client.permittedApps)
        if call.signature?.nonce != nil { request = request.with { $0.hasNonce = true } }
        guard case .transactionID = request.subject else { return .request(request) }
        let app = try verification.app(ofLookup: request.options, by: client)
        return .request(request.with { $0.expectations.bundleID = app })
    }

    /// Decides on a request that was admitted as cached, and whose cached answer has expired since.
    private func verifyExpired(
        _ client: RequestClient, _ body: ReservedBody, _ key: NearCache.Key?, _ call: Call
    ) throws -> Progress {
        switch try read(body, call, for: client) {
        case .reply(let reply): return .done(announcing(reply, from: nil, call))
        case .request(let read):
            return try decide(read.of(client, holding: body.reservation(for: read.subject)), key, call)
        }
    }

    /// Decides on an admitted request: the job that its `Idempotency-Key` names, else an answer that another request with
    /// the same body got meanwhile, else a new answer, checked for its account and deferred if it may be.
    /// - Parameter key: the key of the near cache; nil if the answer is not to be kept.
    private func decide(_ request: VerificationRequest, _ key: NearCache.Key?, _ call: Call) throws -> Progress {
        guard let deferral, let terms = call.terms, terms.key != nil else {
            return try decideNow(request, key, call)
        }
        return .wait {
            if let reply = try await deferral.reply(to: request, under: terms, of: call.client) { return .done(reply) }
            return .compute { try self.decideNow(request, key, call) }
        }
    }

    private func decideNow(_ request: VerificationRequest, _ key: NearCache.Key?, _ call: Call) throws -> Progress {
        // The request may have waited while the answer came.
        if let key, let known = nearCache.reply(to: key), known.isValid(at: clock()) {
            return try answerCached(known, call)
        }
        let limited = call.terms?.waitLimit.map { limit in request.with { $0.waitLimit = limit } }
        let step = try verification.answer(limited ?? request, at: call.now)
        // Most answers are known at once, and need no closure.
        guard case .done(let answer) = step else {
            return try step.then { self.reply($0, to: request, key, call) }
        }
        return reply(answer, to: request, key, call)
    }

    /// Checks the purchases of an answer for an account that the request names.
    private func reply(
        _ answer: Answer, to request: VerificationRequest, _ key: NearCache.Key?, _ call: Call
    ) -> Progress {
        let call = call.signature == nil ? call : call.binding(AnswerBinding(request, answer))
        let reply = written(answer, to: request, key, call), account = request.options.account
        guard ownership.concerns(answer, for: account) else { return send(reply, answer, to: request, call) }
        return .wait {
            let owned = await self.ownership.check(answer, for: account, of: call.client)
            var reply = reply
            if owned.answer.verdict != answer.verdict {
                reply = call.endpoint.replies(to: request.options, with: owned.answer, at: call.now).first
            }
            reply.addOwnership(owned.ownership)
            return self.send(reply, owned.answer, to: request, call)
        }
    }

    /// Returns the reply, or the reply of a new job if the answer may be deferred.
    private func send(
        _ reply: consuming Reply, _ answer: Answer, to request: VerificationRequest, _ call: Call
    ) -> Progress {
        let reply = send(reply, answer, about: request.subject.kind, call)
        guard let deferral, let terms = call.terms, terms.defers(answer, to: request.options) else {
            return .done(reply)
        }
        return .wait {
            .done(
                try await deferral.reply(
                    deferring: answer, reply, to: request, under: terms, of: call.client))
        }
    }

    private func sendCached(_ known: CachedReply, checking claims: CachedClaims, _ call: Call) async -> Reply {
        let decision = await ownership?.ownership(of: claims.claims, account: claims.account, client: call.client)
        guard decision?.isRejected == true else {
            var reply = known.reply
            reply.addOwnership(decision?.ownership)
            return send(reply, known, call)
        }
        let rejected = claims.rejected
        var reply = call.endpoint.replies(to: known.options, with: rejected, at: call.now).first
        reply.addOwnership(decision?.ownership)
        return send(reply, rejected, about: claims.kind, call)
    }

    // MARK: - Replies

    /// Writes a newly computed answer, and caches the form in which it is sent again.
    private func written(
        _ answer: Answer, to request: VerificationRequest, _ key: NearCache.Key?, _ call: Call
    ) -> Reply {
        let (first, repeated) = call.endpoint.replies(to: request.options, with: answer, at: call.now)
        if let key, let validity = AnswerValidity(answer, at: call.now) {
            let cached = answer.repeated
            let known = CachedReply(
                cached, to: request.options, validity: validity,
                counters: metrics.counters(for: cached, to: request.subject.kind), reply: repeated,
                claims: CachedClaims(cached, to: request), signature: call.binding.map { RepeatedSignature($0) })
            nearCache.insert(known, for: key)
        }
        return first
    }

    /// Returns a cached answer. Permissions are checked each time: they may have changed since.
    private func answerCached(_ known: CachedReply, _ call: Call) throws -> Progress {
        try known.validity.checkApp(among: call.client.apps)
        guard let claims = known.claims else {
            guard let terms = call.signature else { return .done(send(known.reply, known, call)) }
            return sendSigned(known, under: terms, call)
        }
        let call = call.signature == nil ? call : call.binding(known.signature?.binding)
        return .wait { .done(await self.sendCached(known, checking: claims, call)) }
    }

    /// Returns a cached answer with its earlier signature, or with a new one if the request has a nonce, or it is time.
    private func sendSigned(_ known: CachedReply, under terms: SignatureTerms, _ call: Call) -> Progress {
        guard let signature = known.signature else { return .done(send(known.reply, known, call)) }
        if terms.nonce == nil, let reply = signature.reply(at: call.now) {
            metrics.count(.repeated)
            return .done(send(reply, known, call))
        }
        return .compute {
            self.metrics.count(terms.signature)
            let reply = signature.signed(known.reply, under: terms, at: self.clock())
            return .done(self.send(reply, known, call))
        }
    }

    private func send(
        _ reply: consuming Reply, _ answer: Answer, about kind: RequestSubject.Kind, _ call: Call
    ) -> Reply {
        metrics.counters(for: answer, to: kind).increment()
        call.context.record { $0.result = LogMembers(answer) }
        return finish(reply, CacheProvenance(answer), call)
    }

    private func send(_ reply: consuming Reply, _ known: CachedReply, _ call: Call) -> Reply {
        known.counters.increment()
        call.context.record { $0.result = known.logMembers }
        return finish(reply, known.provenance, call)
    }

    private func finish(_ reply: consuming Reply, _ provenance: CacheProvenance, _ call: Call) -> Reply {
        if let terms = call.signature, let binding = call.binding {
            metrics.count(terms.signature)
            reply = binding.signed(reply, under: terms, at: clock())
        }
        return announcing(reply.withCacheFields(of: provenance, at: call.now), from: provenance.source, call)
    }

    private func announcing(_ reply: consuming Reply, from source: Provenance.Source?, _ call: Call) -> Reply {
        guard call.endpoint.announcesEnd(withAnswerFrom: source) else { return reply }
        var fields: HTTPFields = [:]
        fields.announce(lifecycle.state(of: UpstreamEndpoint(.verifyReceipt, .production)))
        for field in fields { reply.add(field) }
        return reply
    }
}

extension BodyReservation: MemoryReservation {}

extension ReservedBody {
    /// Reserves memory for what is held from now on: the evidence.
    fileprivate func reservation(for subject: RequestSubject) -> (any MemoryReservation)? {
        guard let reservation else { return nil }
        // Base64 is never shorter than the bytes it encodes, so this is no more than was reserved.
        _ = reservation.resize(to: min(subject.byteCount, reservation.bytes))
        return reservation
    }
}

/// An endpoint that verifies receipts: the formats of its requests and answers.
package protocol VerifyEndpoint: Sendable {
    var path: String { get }

    /// The type of bodies; nil for any type.
    var mediaType: RequestMediaType? { get }

    /// True if the near cache may keep answers.
    var keepsAnswers: Bool { get }

    var defersAnswers: Bool { get }

    /// True if answers are signed for clients that request it.
    var signsAnswers: Bool { get }

    /// - Throws: an error that becomes a problem.
    func read(_ body: ByteBuffer) throws -> VerifyInput

    /// Writes an answer, and the form in which it is sent again.
    func replies(
        to options: VerificationOptions, with answer: Answer, at now: Timestamp
    ) -> (first: Reply, repeated: Reply)

    /// Returns true if an answer from this source (nil for none) announces the end of Apple's endpoint.
    func announcesEnd(withAnswerFrom source: Provenance.Source?) -> Bool
}

extension VerifyEndpoint {
    package var keepsAnswers: Bool { true }
    package var defersAnswers: Bool { false }
    package var signsAnswers: Bool { false }
    package func announcesEnd(withAnswerFrom source: Provenance.Source?) -> Bool { false }
}

/// An endpoint with another server's format, which does not show the provenance: an answer that is sent again is equal.
package protocol ForeignEndpoint: VerifyEndpoint {
    func reply(to options: VerificationOptions, with answer: Answer, at now: Timestamp) -> Reply
}

extension ForeignEndpoint {
    package func replies(
        to options: VerificationOptions, with answer: Answer, at now: Timestamp
    ) -> (first: Reply, repeated: Reply) {
        let reply = reply(to: options, with: answer, at: now)
        return (reply, reply)
    }
}

package enum VerifyInput {
    case request(VerificationRequest)
    /// An immediate reply, because the body allows no decision.
    case reply(Reply)
}
