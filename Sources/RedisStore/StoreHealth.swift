// SPDX-License-Identifier: Apache-2.0

package import Redis
package import Resilience
internal import Synchronization

/// The state of the shared store for this node. The raw values appear in the API and in metrics.
package enum StoreCondition: String, CaseIterable, Hashable, Sendable {
    /// There is no Redis: all state is in this process.
    case embedded
    /// The node has not read the fleet's state yet, within the time for the first connection.
    case connecting
    case connected
    /// Redis does not answer; each node decides alone.
    case degraded
    /// Redis rejects the gateway's login or commands, or TLS with it fails for good; only an operator can fix it.
    case misconfigured
}

package final class StoreHealth: Sendable {
    private struct State {
        var breaker = CircuitBreaker(.sharedStore)
        /// True if the last exchange brought replies; nil before the first.
        var answers: Bool?
        /// True once the time for the first connection is over.
        var isSettled = false
        /// The faults of logins, and of TLS before them, that only an operator can fix.
        var failedLogins: [RedisConnectionRole: RedisConnectionFault] = [:]
        /// Commands or keys this user may not use: a handful, because all are constants of this program.
        var refusedCommands: [String: RedisRefusal] = [:]
        var hasServed = false
        /// The live nodes at the last heartbeats, newest last.
        var nodeCounts: [Int] = []

        var configurationFault: RedisConnectionFault? {
            failedLogins.values.first ?? refusedCommands.values.first.map { .refused($0) }
        }

        /// Notes that Redis answers and rejects nothing this gateway needs.
        mutating func recordService() {
            if answers == true, configurationFault == nil { hasServed = true }
        }

        mutating func permit() -> CircuitBreaker.Permit? {
            guard case .call(let permit) = breaker.permit(at: .now) else { return nil }
            return permit
        }

        mutating func record(_ result: Result<RedisValue, RedisError>, of command: RedisCommand) {
            switch result {
            case .failure(.refused(let refusal)) where refusal.isConfigurationFault:
                refusedCommands[command.permission] = refusal
            case .success, .failure(.refused):
                if !refusedCommands.isEmpty { refusedCommands[command.permission] = nil }
            case .failure: break
            }
        }
    }

    enum Limits {
        /// Heartbeats for which a number of nodes counts after it fell. A Redis that comes back empty, or after a
        /// freeze, has dropped live nodes, and each needs a heartbeat to return.
        static let rememberedBeats = 4
    }

    private let state = Mutex(State())
    private let nodes: Atomic<Int>
    private let isEmbedded: Bool

    package init(isEmbedded: Bool, expectedNodes: Int = 1) {
        self.isEmbedded = isEmbedded
        nodes = Atomic(isEmbedded ? 1 : max(1, expectedNodes))
    }

    package var condition: StoreCondition {
        if isEmbedded { return .embedded }
        return state.withLock { state in
            if state.configurationFault != nil { return .misconfigured }
            if !state.isSettled { return .connecting }
            return state.answers == true && state.breaker.state == .closed ? .connected : .degraded
        }
    }

    /// True if Redis has ever served everything this process sent.
    package var hasServed: Bool { state.withLock { $0.hasServed } }

    /// The fault that only an operator can fix.
    package var configurationFault: RedisConnectionFault? { state.withLock { $0.configurationFault } }

    package var breaker: CircuitBreaker.State.Name { state.withLock { $0.breaker.state.name } }

    /// The live nodes, this node included: the maximum of the last heartbeats, also while Redis is unavailable.
    package var liveNodes: Int { nodes.load(ordering: .relaxed) }

    /// Returns a permit for a request's exchange. Requests are never the probes of an open breaker: they would wait for
    /// an unavailable Redis.
    func permit() -> CircuitBreaker.Permit? {
        state.withLock { $0.breaker.state == .closed ? $0.permit() : nil }
    }

    func permitProbe() -> CircuitBreaker.Permit? { state.withLock { $0.permit() } }

    /// - Returns: the breaker's transitions since the last exchange.
    func record(
        _ outcome: Outcome, of permit: CircuitBreaker.Permit, _ commands: [RedisCommand],
        _ results: RedisResults
    ) -> [CircuitBreaker.Transition: Int] {
        var generator: any RandomNumberGenerator = SystemRandomNumberGenerator()
        return state.withLock { state in
            state.breaker.record(outcome, of: permit, at: .now, using: &generator)
            switch outcome {
            case .success: state.answers = true
            case .failure: state.answers = false
            case .throttled, .neutral: break
            }
            for (command, result) in zip(commands, results) { state.record(result, of: command) }
            if state.isSettled { state.recordService() }
            return state.breaker.takeTransitions()
        }
    }

    /// Records a login that failed for a fault of the configuration, or with nil an accepted login.
    func recordLogin(_ role: RedisConnectionRole, failed fault: RedisConnectionFault?) {
        state.withLock { $0.failedLogins[role] = fault }
    }

    /// Ends the time for the first connection, whatever its outcome.
    func settle() {
        state.withLock { state in
            state.isSettled = true
            state.recordService()
        }
    }

    func recordLiveNodes(_ count: Int) {
        state.withLock { state in
            state.nodeCounts = state.nodeCounts.suffix(Limits.rememberedBeats - 1) + [max(1, count)]
            nodes.store(state.nodeCounts.max() ?? 1, ordering: .relaxed)
        }
    }
}

extension CircuitBreaker.Policy {
    /// The policy of the shared store's breaker. A wrong opening is cheap, because probes do not delay requests: it
    /// opens soon and briefly.
    fileprivate static let sharedStore = CircuitBreaker.Policy(
        bucketWidth: .milliseconds(500), bucketCount: 6, minimumCalls: 10, failurePercent: 50, slowPercent: 100,
        slowCall: .seconds(10), hardFailuresInARow: 3, firstOpening: .milliseconds(500), longestOpening: .seconds(1),
        probes: 1, probeLease: .seconds(2))
}

extension RedisCommand {
    /// The ACL permission it needs: its name, and its key's prefix up to the first colon.
    fileprivate var permission: String { description + " " + (keyPrefix ?? "") }

    /// The key up to its first colon, which names a kind of data; nil without a key.
    var keyPrefix: String? {
        key.map { String(decoding: $0.bytes.prefix { $0 != UInt8(ascii: ":") }, as: UTF8.self) }
    }
}

/// Redis behind a circuit breaker: while Redis is unavailable, commands fail at once. All faults of the store are
/// counted here.
struct SharedStore: RedisCommands {
    let redis: any RedisCommands
    let health: StoreHealth
    let metrics: StoreMetrics

    func send(_ commands: [RedisCommand]) async -> RedisResults {
        if commands.isEmpty { return [] }
        guard let permit = health.permit() else {
            metrics.countRejected(commands.count)
            return commands.map { _ in .failure(.notConnected) }
        }
        return await exchange(commands, permit, isProbe: false)
    }

    /// Sends a PING if it is due, even while the circuit breaker is open.
    func probe() async {
        guard let permit = health.permitProbe() else { return }
        _ = await exchange([RedisCommand("PING")], permit, isProbe: true)
    }

    private func exchange(
        _ commands: [RedisCommand], _ permit: CircuitBreaker.Permit, isProbe: Bool
    ) async -> RedisResults {
        let start = Instant.now
        let results = await redis.send(commands)
        let took = start.duration(to: .now)
        let moves = health.record(Outcome(results, took: took, isProbe: isProbe), of: permit, commands, results)
        metrics.count(results, took: took)
        for (transition, times) in moves { metrics.breakerChanged(transition, times) }
        return results
    }
}

extension Outcome {
    /// Rates replies by the worst reply. A missing connection costs requests no time, and the other nodes of a cluster
    /// serve: only probes count it.
    fileprivate init(_ results: RedisResults, took: Duration, isProbe: Bool) {
        let faults = results.compactMap { result -> RedisError? in
            if case .failure(let error) = result { error } else { nil }
        }
        if faults.contains(.shutDown) {
            self = .neutral
        } else if faults.contains(.connectionLost) || faults.contains(.timeout) {
            self = .failure(.hard, took: took)
        } else if faults.contains(where: \.isUnavailable) {
            self = .failure(.soft, took: took)
        } else if faults.contains(.notConnected) {
            self = isProbe ? .failure(.hard, took: took) : .neutral
        } else {
            self = .success(took: took)
        }
    }
}

extension RedisError {
    /// True if the answer shows that Redis serves no requests now. A full memory or a failing disk rejects writes only;
    /// missing permissions do not pass by themselves.
    fileprivate var isUnavailable: Bool {
        switch self {
        case .pipelineFull, .protocolViolation: true
        case .refused(let refusal):
            [.clusterDown, .readOnly, .loading, .masterDown, .busy, .noAuth, .wrongPassword].contains(refusal.kind)
        case .notConnected, .connectionLost, .timeout, .shutDown: false
        }
    }
}
