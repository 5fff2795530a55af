// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

package import Redis
package import Resilience
internal import Synchronization

/// How this node stands with the shared store. The raw values are those of the API and of metrics.
package enum StoreCondition: String, CaseIterable, Hashable, Sendable {
    /// There is none: everything is kept in this process.
    case embedded
    /// The node has not heard yet what the fleet knows, and there is still time.
    case connecting
    /// It answers.
    case connected
    /// It does not; every node decides for itself meanwhile.
    case degraded
    /// It refuses the gateway, and only an operator can mend that.
    case misconfigured
}

/// What is known of the shared store: whether it is asked, whether it answers, and how many nodes share it.
package final class StoreHealth: Sendable {
    fileprivate struct State {
        var breaker = CircuitBreaker(.sharedStore)
        /// Whether the last exchange brought replies; nil before the first.
        var answers: Bool?
        /// Whether enough time was given to the first connection.
        var isSettled = false
        /// What refused the login, by what the connection is for.
        var refusedLogins: [RedisConnectionRole: RedisRefusal] = [:]
        /// Commands this user may not use, or not on such keys: a handful, as all stand in this program.
        var refusedCommands: [String: RedisRefusal] = [:]
        /// Whether it has ever done all that was asked of it.
        var hasServed = false
        /// How many nodes were alive at the last beats, newest last.
        var nodeCounts: [Int] = []
    }

    /// How much of the past counts.
    enum Limits {
        /// Beats for which a number of nodes counts after it fell: a Redis that comes back empty, or from the ice, has
        /// forgotten nodes that are alive, and each of them needs a beat to be known again.
        static let rememberedBeats = 4
    }

    private let state = Mutex(State())
    private let nodes: Atomic<Int>
    private let isEmbedded: Bool

    /// - Parameters:
    ///   - isEmbedded: whether there is no shared store.
    ///   - expectedNodes: how many nodes to reckon with until the store has told.
    package init(isEmbedded: Bool, expectedNodes: Int = 1) {
        self.isEmbedded = isEmbedded
        nodes = Atomic(isEmbedded ? 1 : max(1, expectedNodes))
    }

    /// How it stands.
    package var condition: StoreCondition {
        if isEmbedded { return .embedded }
        return state.withLock { state in
            if state.configurationFault != nil { return .misconfigured }
            if !state.isSettled { return .connecting }
            return state.answers == true && state.breaker.state == .closed ? .connected : .degraded
        }
    }

    /// Whether it has ever done all that this process asked of it.
    package var hasServed: Bool { state.withLock { $0.hasServed } }

    /// What only an operator can mend.
    package var configurationFault: RedisRefusal? { state.withLock { $0.configurationFault } }

    /// What the circuit breaker does.
    package var breaker: CircuitBreaker.State.Name { state.withLock { $0.breaker.state.name } }

    /// Nodes of the fleet that are alive, this one included: the most of the last beats, also while nobody can tell.
    package var liveNodes: Int { nodes.load(ordering: .relaxed) }
}

extension CircuitBreaker.Policy {
    /// Of the shared store. Being wrong is cheap, for probes are sent behind everybody's back, so it opens soon and for
    /// a short time.
    fileprivate static let sharedStore = CircuitBreaker.Policy(
        bucketWidth: .milliseconds(500), bucketCount: 6, minimumCalls: 10, failurePercent: 50, slowPercent: 100,
        slowCall: .seconds(10), hardFailuresInARow: 3, firstOpening: .milliseconds(500), longestOpening: .seconds(1),
        probes: 1, probeLease: .seconds(2))
}

extension StoreHealth.State {
    fileprivate var configurationFault: RedisRefusal? { refusedLogins.values.first ?? refusedCommands.values.first }
}

// MARK: - Learning

extension StoreHealth {
    /// The leave for one exchange on a request's behalf. Requests never are the probes of an open breaker: they would wait
    /// for a store that is away.
    func permit() -> CircuitBreaker.Permit? {
        state.withLock { $0.breaker.state == .closed ? $0.permit() : nil }
    }

    /// The leave for a probe.
    func permitProbe() -> CircuitBreaker.Permit? { state.withLock { $0.permit() } }

    /// Learns from an exchange.
    /// - Returns: how the breaker moved since the last one.
    func record(
        _ outcome: Outcome, of permit: CircuitBreaker.Permit, _ commands: [RedisCommand],
        _ results: [Result<RedisValue, RedisError>]
    ) -> [CircuitBreaker.Transition: Int] {
        var generator = SystemRandomNumberGenerator()
        return state.withLock { state in
            state.breaker.record(outcome, of: permit, at: .now, using: &generator)
            switch outcome {
            case .success: state.answers = true
            case .failure: state.answers = false
            case .throttled, .neutral: break
            }
            for (command, result) in zip(commands, results) { state.note(result, of: command) }
            if state.isSettled { state.noteService() }
            return state.breaker.takeTransitions()
        }
    }

    /// Redis refused a login, or accepted one with nil.
    func noteLogin(_ role: RedisConnectionRole, refused refusal: RedisRefusal?) {
        state.withLock { $0.refusedLogins[role] = refusal }
    }

    /// The first connection had its time, whatever came of it.
    func settle() {
        state.withLock { state in
            state.isSettled = true
            state.noteService()
        }
    }

    /// So many nodes are alive, this one included.
    func noteLiveNodes(_ count: Int) {
        state.withLock { state in
            state.nodeCounts = state.nodeCounts.suffix(Limits.rememberedBeats - 1) + [max(1, count)]
            nodes.store(state.nodeCounts.max() ?? 1, ordering: .relaxed)
        }
    }
}

extension StoreHealth.State {
    /// It serves where it answers and refuses nothing that this gateway needs.
    fileprivate mutating func noteService() {
        if answers == true, configurationFault == nil { hasServed = true }
    }

    fileprivate mutating func permit() -> CircuitBreaker.Permit? {
        guard case .call(let permit) = breaker.permit(at: .now) else { return nil }
        return permit
    }

    fileprivate mutating func note(_ result: Result<RedisValue, RedisError>, of command: RedisCommand) {
        switch result {
        case .failure(.refused(let refusal)) where refusal.isConfigurationFault:
            refusedCommands[command.permission] = refusal
        case .success, .failure(.refused):
            if !refusedCommands.isEmpty { refusedCommands[command.permission] = nil }
        case .failure: break
        }
    }
}

extension RedisCommand {
    /// What a user needs to be allowed for it: its name, and the beginning of its key up to the first colon.
    fileprivate var permission: String {
        let prefix = key.map { String(decoding: $0.bytes.prefix { $0 != UInt8(ascii: ":") }, as: UTF8.self) }
        return description + " " + (prefix ?? "")
    }
}
