// SPDX-License-Identifier: Apache-2.0

internal import Cryptography
package import Gateway
package import HTTPClient
package import Logging
package import Receipts
package import Resilience
internal import Synchronization

/// The base URLs of Apple's hosts, without a slash at the end.
package struct ServerAPIHosts: Hashable, Sendable {
    package var production: String
    package var sandbox: String

    package init(production: String, sandbox: String) {
        self.production = production
        self.sandbox = sandbox
    }

    func url(of request: ServerAPIRequest) -> String {
        let base = request.environment == .production ? production : sandbox
        return base + request.call.path + (request.call.query.map { "?" + $0 } ?? "")
    }
}

/// A client of the App Store Server API, for all apps that have a key.
///
/// ```
/// key paused? ──▶ quota paused? ──▶ guard: breaker, budget, concurrency ──▶ token ──▶ HTTP ──▶ verification
/// ```
package final class ServerAPIClient: Sendable {
    private enum Attempt {
        case rejected(DegradedReason, retryAfter: Duration?)
        /// Apple, or the network, replied to a token that was made with this correction of the clock.
        case sent(ServerAPIReply, correction: Duration)

        func result(for key: ServerAPIKey) -> ServerAPIResult {
            switch self {
            case .rejected(let reason, let retryAfter): .unanswered(reason, retryAfter: retryAfter)
            case .sent(let reply, _): reply.result(for: key)
            }
        }
    }

    private let keys: @Sendable () -> ServerAPIKeys
    private let hosts: ServerAPIHosts
    private let budget: ServerAPIBudget
    private let transport: HTTPTransport
    private let guards: UpstreamGuards
    private let limiter: any RateLimiter
    private let fleetState: any FleetState
    private let recorder: LifecycleRecorder
    private let verifier: CurrentVerifier
    private let observe: UpstreamObserver
    private let log: ServerAPILog
    private let follow: RequestTracer
    private let clock: @Sendable () -> Timestamp
    private let keyPauses = Mutex(KeyPauses())
    private let skews = Mutex<[UpstreamEnvironment: ClockSkew]>([:])

    /// - Parameters:
    ///   - keys: returns the current keys.
    ///   - upstreams: the guards of Apple's endpoints, and the announcements about them.
    ///   - limiter: counts the budget of each app.
    ///   - fleetState: publishes pauses and announcements to the other nodes.
    ///   - follow: makes one request, and adds it to the log and traces.
    package init(
        keys: @escaping @Sendable () -> ServerAPIKeys, hosts: ServerAPIHosts, budget: ServerAPIBudget,
        transport: HTTPTransport, upstreams: UpstreamState, limiter: any RateLimiter, fleetState: any FleetState,
        verifier: CurrentVerifier, observe: @escaping UpstreamObserver, logger: Logger,
        follow: @escaping RequestTracer = { _, _, request in _ = await request() },
        clock: @escaping @Sendable () -> Timestamp
    ) {
        (self.keys, self.hosts, self.budget) = (keys, hosts, budget)
        (self.transport, self.limiter, self.fleetState) = (transport, limiter, fleetState)
        (self.verifier, self.observe, self.follow, self.clock) = (verifier, observe, follow, clock)
        guards = upstreams.guards
        recorder = LifecycleRecorder(lifecycle: upstreams.lifecycle, fleetState: fleetState)
        log = ServerAPILog(logger: logger)
    }

    package func hasKey(forApp bundleID: String) -> Bool { keys().key(forApp: bundleID) != nil }
}

// MARK: - Calls

extension ServerAPIClient {
    /// Sends one call, and retries it once where that is safe and may help. A missing key for the app gives the same
    /// result as a key that Apple rejects.
    package func send(_ request: ServerAPIRequest, deadline: ContinuousClock.Instant) async -> ServerAPIResult {
        guard let key = keys().key(forApp: request.bundleID) else {
            return .unanswered(.serverAPIKeyRejected)
        }
        let start = Instant.now
        let first = await attempt(request, key, by: deadline)
        guard let delay = retryDelay(after: first, of: request, from: start, until: deadline),
            (try? await Task.sleep(for: delay)) != nil
        else { return first.result(for: key) }
        observe(.retried(request.endpoint))
        return await attempt(request, key, by: deadline).result(for: key)
    }

    /// Sends a call to the one host that may answer it: a key that this host rejects is paused there. An API that Apple
    /// opens to single apps rejects keys that all other operations accept.
    package func sendToNamedHost(_ request: ServerAPIRequest, deadline: ContinuousClock.Instant) async
        -> ServerAPIResult
    {
        let result = await send(request, deadline: deadline)
        if case .unauthorized(let key) = result, !request.call.operation.needsAccess {
            pause(key, forApp: request.bundleID, in: request.environment)
        }
        return result
    }

    /// Returns the delay before the call is repeated; nil for no repetition.
    private func retryDelay(
        after attempt: Attempt, of request: ServerAPIRequest, from start: Instant, until deadline: Instant
    ) -> Duration? {
        guard case .sent(let reply, let correction) = attempt else { return nil }
        // Apple's answer showed that the token's times were wrong.
        if case .unauthorized = reply { return skew(in: request.environment).disagrees(with: correction) ? .zero : nil }
        guard reply.mayBeRetried(request.call.operation.effect) else { return nil }
        return guards[request.endpoint].retryDelay(from: start, until: deadline)
    }

    private func attempt(_ request: ServerAPIRequest, _ key: ServerAPIKey, by deadline: Instant) async -> Attempt {
        let subject = KeyPauses.Subject(key: key, bundleID: request.bundleID, environment: request.environment)
        if let pause = keyPauses.withLock({ $0.remaining(of: subject, at: .now) }) {
            return reject(request, .serverAPIKeyRejected, retryAfter: pause)
        }
        if let pause = guards.pauseRemaining(of: request.quota) {
            return reject(request, .upstreamPaused, retryAfter: pause)
        }
        let charges = budget.charges(for: request)
        do throws(DegradedReason) {
            let pass = try await guards[request.endpoint].acquire(
                forCallBy: deadline, limiter: limiter, charges: charges,
                isPaused: { guards.pauseRemaining(of: request.quota) != nil })
            return await exchange(request, subject, pass, by: deadline)
        } catch {
            return reject(request, error, retryAfter: retryAfter(error, request, charges))
        }
    }

    private func retryAfter(
        _ reason: DegradedReason, _ request: ServerAPIRequest, _ charges: [RateCharge]
    ) -> Duration? {
        if reason == .upstreamBudget { return limiter.knownRefusal(of: charges)?.retryAfter }
        return guards.pauseRemaining(of: request.quota) ?? guards.health(of: request.endpoint).pausedFor
    }

    private func reject(_ request: ServerAPIRequest, _ reason: DegradedReason, retryAfter: Duration?) -> Attempt {
        observe(.rejected(request.endpoint, reason))
        observe(reason == .upstreamBudget ? .budget : .paused, of: request)
        return .rejected(reason, retryAfter: retryAfter)
    }

    private func observe(_ outcome: ServerAPICallOutcome, of request: ServerAPIRequest) {
        observe(.called(request.call.operation, request.environment, outcome))
    }
}

// MARK: - One exchange

extension ServerAPIClient {
    private func exchange(
        _ request: ServerAPIRequest, _ subject: KeyPauses.Subject, _ pass: UpstreamGuard.Pass, by deadline: Instant
    ) async -> Attempt {
        let correction = clockSkew(in: request.environment)
        let token = BearerToken.token(
            of: subject.key, forApp: request.bundleID, at: clock().advanced(by: correction))
        var reply = ServerAPIReply.failed(.stopping, mayHaveBeenSent: false)
        await follow(request.endpoint, request.call.method.rawValue) {
            let head: ReplyHead?
            (reply, head) = await self.reply(to: request, token, by: deadline)
            log.ended(reply, head, of: request, token: token)
            return RequestSummary(reply.outcome, httpStatus: head?.httpStatus)
        }
        if reply.provesKey { keyPauses.withLock { $0.recordAcceptance(of: subject) } }
        record(reply, to: request, pass)
        return .sent(reply, correction: correction)
    }

    private func reply(
        to request: ServerAPIRequest, _ token: Secret, by deadline: Instant
    ) async -> (ServerAPIReply, ReplyHead?) {
        let response: TransportResponse
        do throws(TransportError) {
            response = try await transport.send(transportRequest(request, token), deadline: deadline)
        } catch {
            return (ServerAPIReply(error), nil)
        }
        let now = clock()
        let head = ReplyHead(response, at: now)
        if let date = head.date { recordDate(date, at: now, took: head.took, request.environment) }
        let verifier = ServerAPIAnswerVerifier(
            verifier: request.verifier ?? verifier.now, bundleID: request.bundleID,
            appAppleID: keys().appAppleIDs[request.bundleID],
            environment: Environment(request.environment),
            // Not before this node's time: a wrong date must not make signatures appear to be of the future.
            now: now.advanced(by: max(.zero, clockSkew(in: request.environment))),
            verifiesNotifications: request.verifiesNotifications)
        let reply = ServerAPIReply(response, head, to: request.call, by: verifier)
        recorder.record(head, of: request.endpoint, isUsable: reply.provesKey)
        return (reply, head)
    }

    private func transportRequest(_ request: ServerAPIRequest, _ token: Secret) -> TransportRequest {
        var headers = [
            TransportHeader(name: "Authorization", value: "Bearer \(token.exposed)"),
            TransportHeader(name: "Accept", value: "application/json"),
        ]
        let call = request.call
        if !call.body.isEmpty { headers.append(TransportHeader(name: "Content-Type", value: call.bodyType.rawValue)) }
        var sent = TransportRequest(call.method, url: hosts.url(of: request), headers: headers, body: call.body)
        sent.isRepeatable = call.operation.effect == .reads
        return sent
    }

    /// Releases the pass with the reply's outcome, and informs the other nodes and the observer.
    private func record(_ reply: ServerAPIReply, to request: ServerAPIRequest, _ pass: UpstreamGuard.Pass) {
        let endpoint = request.endpoint
        let took = pass.startedAt.duration(to: .now)
        observe(.completed(endpoint, reply.outcome, took: took))
        observe(reply.callOutcome, of: request)
        var pause: Duration?
        let failsAlone = request.call.operation.failsAlone
        switch reply {
        case .unavailable(let span) where !failsAlone: pause = span
        case .throttled(let span), .unavailable(let span):
            guards.pause(request.quota, for: span)
            fleetState.publish(pause: span, of: request.quota)
        case .contradiction(let contradiction): observe(.contradicted(endpoint, contradiction))
        case .answered, .refused, .refusedWithoutCode, .unauthorized, .failed: break
        }
        let outcome = failsAlone && !reply.provesKey ? .neutral : reply.guardOutcome(after: took)
        guards[endpoint].release(pass, outcome, pause: pause, observe)
        if let pause { fleetState.publish(.pause(pause), of: endpoint) }
    }

    /// The time of answers on this node's clock.
    var now: Timestamp { clock() }

    /// Reports an answer that is consistent by itself, and contradicts another answer.
    func report(_ contradiction: Contradiction, in environment: UpstreamEnvironment) {
        observe(.contradicted(UpstreamEndpoint(.serverAPI, environment), contradiction))
    }
}

// MARK: - Keys

extension ServerAPIClient {
    /// The keys that Apple rejects for an app, which are not used for now.
    package var pausedKeys: [PausedKey] {
        let keys = keys()
        return keyPauses.withLock { pauses in
            pauses.current(at: .now) { keys.key(forApp: $0.bundleID) == $0.key }
        }
    }

    /// Pauses a key for an app at a host, because no host that may know the app accepted it.
    func pause(_ key: ServerAPIKey, forApp bundleID: String, in environment: UpstreamEnvironment) {
        let subject = KeyPauses.Subject(key: key, bundleID: bundleID, environment: environment)
        guard let pause = keyPauses.withLock({ $0.recordRejection(of: subject, at: .now) }) else { return }
        log.rejected(subject, pause: pause)
    }
}

// MARK: - Clocks

extension ServerAPIClient {
    /// The difference of Apple's clock to this node's, as far as Apple's answers prove a difference. Positive if
    /// Apple's is ahead.
    package func clockSkew(in environment: UpstreamEnvironment) -> Duration { skew(in: environment).correction }

    private func skew(in environment: UpstreamEnvironment) -> ClockSkew {
        skews.withLock { $0[environment] } ?? ClockSkew()
    }

    private func recordDate(_ date: Timestamp, at now: Timestamp, took: Duration, _ environment: UpstreamEnvironment) {
        let report = skews.withLock { skews in
            skews[environment, default: ClockSkew()].record(date, receivedAt: now, after: took)
        }
        if let report { log.report(report, in: environment) }
    }
}

extension ServerAPIRequest {
    var endpoint: UpstreamEndpoint { UpstreamEndpoint(.serverAPI, environment) }

    var quota: ServerAPIQuota {
        ServerAPIQuota(bundleID: bundleID, environment: environment, operation: call.operation)
    }
}
