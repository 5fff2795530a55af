// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

import Gateway
import Receipts
import Synchronization

/// Apple from a script: replies in their order, the last one for ever. Counts what it was asked.
final class ScriptedUpstream: Upstream {
    typealias Script = [UpstreamEnvironment: [UpstreamReply]]

    private struct State {
        var script: Script
        var secret: SharedSecret?
        var questions: [(environment: UpstreamEnvironment, question: UpstreamQuestion)] = []
    }

    private let state: Mutex<State>
    /// Questions wait here for their answers.
    let gate: Gate?

    init(_ script: Script, hasSecret: Bool = true, gate: Gate? = nil) {
        state = Mutex(State(script: script, secret: hasSecret ? SharedSecret("configured") : nil))
        self.gate = gate
    }

    /// Replies from now on.
    func rewrite(_ script: Script) { state.withLock { $0.script = script } }

    /// The endpoints in the order in which they were asked.
    var asked: [UpstreamEnvironment] { state.withLock { $0.questions.map(\.environment) } }
    var questions: [UpstreamQuestion] { state.withLock { $0.questions.map(\.question) } }

    func secret(forApp bundleID: String) -> SharedSecret? { state.withLock { $0.secret } }

    /// Every app has this secret from now on.
    func share(_ secret: SharedSecret?) { state.withLock { $0.secret = secret } }

    func ask(
        _ question: UpstreamQuestion, in environment: UpstreamEnvironment, deadline: ContinuousClock.Instant
    ) async -> UpstreamReply {
        let reply = state.withLock { state in
            state.questions.append((environment, question))
            let replies = state.script[environment] ?? []
            if replies.count > 1 { state.script[environment]?.removeFirst() }
            return replies.first ?? .failure(.unreachable)
        }
        await gate?.pass()
        return reply
    }
}

/// Holds everybody until it is opened.
final class Gate: Sendable {
    private struct State {
        var isOpen = false
        var waiting: [CheckedContinuation<Void, Never>] = []
    }

    private let state = Mutex(State())

    /// How many are held now.
    var waitingCount: Int { state.withLock { $0.waiting.count } }

    func pass() async {
        await withCheckedContinuation { continuation in
            let isOpen = state.withLock { state in
                if !state.isOpen { state.waiting.append(continuation) }
                return state.isOpen
            }
            if isOpen { continuation.resume() }
        }
    }

    /// Holds those who come from now on.
    func close() { state.withLock { $0.isOpen = false } }

    func open() {
        let waiting = state.withLock { state in
            defer { state.waiting = [] }
            state.isOpen = true
            return state.waiting
        }
        for continuation in waiting { continuation.resume() }
    }
}

/// Writes down what happens.
final class EventLog: GatewayObserver {
    private let events = Mutex<[GatewayEvent]>([])

    func observe(_ event: GatewayEvent) { events.withLock { $0.append(event) } }

    /// What happened, in words without times.
    var lines: [String] { events.withLock { $0.map(\.line) } }
}

extension GatewayEvent {
    var line: String {
        switch self {
        case .asked(let environment, let outcome, _): "asked \(environment) \(outcome)"
        case .heldBack(let environment, let reason): "held back \(environment) \(reason)"
        case .retried(let environment): "retried \(environment)"
        case .breakerMoved(let environment, let transition): "breaker \(environment) \(transition)"
        case .disagreed(let environment, let refusal): "disagreed \(environment) \(refusal)"
        case .contradicted(let environment, let contradiction): "contradicted \(environment) \(contradiction)"
        case .unproven(let environment): "unproven \(environment)"
        case .joinedFlight: "joined"
        case .lookedUp(let result): "looked up \(result)"
        case .refreshedEarly: "refreshed early"
        case .purged: "purged"
        case .leased(let outcome): "leased \(outcome)"
        case .degraded(let reason): "degraded \(reason)"
        }
    }
}

/// A clock that a test sets.
final class TestClock: Sendable {
    private let now: Mutex<Timestamp>

    init(_ now: Timestamp) { self.now = Mutex(now) }

    var time: Timestamp { now.withLock(\.self) }
    func set(_ time: Timestamp) { now.withLock { $0 = time } }
}
