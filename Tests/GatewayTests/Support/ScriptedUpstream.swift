// SPDX-License-Identifier: Apache-2.0

import Cryptography
import Gateway
import Receipts
import Synchronization
import TestSupport

/// A scripted upstream: replies in order, then the last one again and again. Records the requests.
final class ScriptedUpstream: Upstream {
    typealias Script = [UpstreamEnvironment: [UpstreamReply]]

    private struct State {
        var script: Script
        var secret: Secret?
        var questions: [(environment: UpstreamEnvironment, options: UpstreamRequest)] = []
    }

    private let state: Mutex<State>
    /// Requests wait here for their replies.
    let gate: Gate?

    init(_ script: Script, hasSecret: Bool = true, gate: Gate? = nil) {
        state = Mutex(State(script: script, secret: hasSecret ? Secret("configured") : nil))
        self.gate = gate
    }

    /// Replaces the script.
    func rewrite(_ script: Script) { state.withLock { $0.script = script } }

    /// The endpoints in the order of the requests.
    var asked: [UpstreamEnvironment] { state.withLock { $0.questions.map(\.environment) } }
    var questions: [UpstreamRequest] { state.withLock { $0.questions.map(\.options) } }

    func secret(forApp bundleID: String?) -> Secret? { state.withLock { $0.secret } }

    /// Sets the secret of every app.
    func share(_ secret: Secret?) { state.withLock { $0.secret = secret } }

    func send(
        _ options: UpstreamRequest, at endpoint: UpstreamEndpoint, deadline: ContinuousClock.Instant
    ) async -> UpstreamResponse {
        let reply = state.withLock { state in
            state.questions.append((endpoint.environment, options))
            let replies = state.script[endpoint.environment] ?? []
            if replies.count > 1 { state.script[endpoint.environment]?.removeFirst() }
            return replies.first ?? .failure(.unreachable)
        }
        await gate?.pass()
        return UpstreamResponse(reply, status: reply.status)
    }
}

extension UpstreamReply {
    /// Apple's status code for such a reply.
    fileprivate var status: Int? {
        switch self {
        case .answer: 0
        case .otherEnvironment: 21007
        case .refusal(.malformed): 21002
        case .refusal(.notAuthenticated): 21003
        case .refusal(.secretRejected): 21004
        case .refusal(.accountNotFound): 21010
        case .refusal(.brokenRecord): 21100
        case .throttled, .failure: nil
        }
    }
}

extension UpstreamEndpoint {
    static let production = UpstreamEndpoint(.verifyReceipt, .production)
    static let sandbox = UpstreamEndpoint(.verifyReceipt, .sandbox)
}

/// Records events.
final class EventLog: Sendable {
    private let events = Mutex<[UpstreamEvent]>([])

    func observe(_ event: UpstreamEvent) { events.withLock { $0.append(event) } }

    /// The events as text without durations.
    var lines: [String] { events.withLock { $0.map(\.line) } }
}

extension UpstreamEvent {
    var line: String {
        switch self {
        case .completed(let endpoint, let outcome, _): "asked \(endpoint.environment) \(outcome)"
        case .rejected(let endpoint, let reason): "held back \(endpoint.environment) \(reason)"
        case .retried(let endpoint): "retried \(endpoint.environment)"
        case .breakerChanged(let endpoint, let transition): "breaker \(endpoint.environment) \(transition)"
        case .disagreed(let endpoint, let refusal): "disagreed \(endpoint.environment) \(refusal)"
        case .contradicted(let endpoint, let contradiction): "contradicted \(endpoint.environment) \(contradiction)"
        case .leftOut(let endpoint, let item): "left out \(endpoint.environment) \(item.fault)"
        case .unproven(let endpoint): "unproven \(endpoint.environment)"
        case .joinedFlight: "joined"
        case .lookedUp(let result): "looked up \(result)"
        case .refreshedEarly: "refreshed early"
        case .purged: "purged"
        case .leased(let outcome): "leased \(outcome)"
        case .degraded(let reason): "degraded \(reason)"
        case .called(let operation, let environment, let outcome): "called \(operation) \(environment) \(outcome)"
        case .unknownTransaction: "unknown transaction"
        }
    }
}

final class TestClock: Sendable {
    private let now: Mutex<Timestamp>

    init(_ now: Timestamp) { self.now = Mutex(now) }

    var time: Timestamp { now.withLock(\.self) }
    func set(_ time: Timestamp) { now.withLock { $0 = time } }
}

extension UpstreamTimeouts {
    /// Time limits that no test reaches, even on a busy machine.
    static let unhurried: UpstreamTimeouts = {
        var timeouts = UpstreamTimeouts()
        (timeouts.deadline, timeouts.softTimeout) = (.seconds(600), .seconds(600))
        return timeouts
    }()
}
