// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import Redis
internal import Resilience

/// Redis behind a circuit breaker: while Redis is unavailable, commands fail at once. All faults of the store are
/// counted here.
final class SharedStore: RedisCommands {
    private let redis: any RedisCommands
    private let health: StoreHealth
    private let metrics: StoreMetrics

    init(_ redis: any RedisCommands, health: StoreHealth, metrics: StoreMetrics) {
        self.redis = redis
        self.health = health
        self.metrics = metrics
    }

    func send(_ commands: [RedisCommand]) async -> RedisResults {
        if commands.isEmpty { return [] }
        guard let permit = health.permit() else {
            metrics.countRejected(commands.count)
            return commands.map { _ in .failure(.notConnected) }
        }
        return await exchange(commands, permit, isProbe: false)
    }

    /// Sends a PING if one is due, even while the circuit breaker is open.
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
    /// Rates replies by the worst of them. A missing connection costs requests no time, and the other nodes of a
    /// cluster serve: only probes count it.
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
