// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// What a fleet is measured with.
struct FleetPlan: Hashable, Sendable {
    /// Of each load, in seconds.
    let duration: Double
    /// The most gateways.
    let nodes: Int
    /// Of the whole fleet together.
    let connections: Int
    /// Distinct receipts, used in turn.
    let receipts: Int

    /// Whether gateways take tokens in advance.
    enum Leases: String, CaseIterable, Encodable, Sendable {
        /// No policy at all.
        case unlimited
        /// Each request asks the store for its tokens.
        case without
        /// Nodes take tokens in advance.
        case with

        /// The policies of the client, as the clients file has them: so much that nobody is refused, in three tiers.
        var limits: String {
            guard self != .unlimited else { return "" }
            let rule = self == .with ? "auto" : "never"
            return """
                    limits:
                      - {name: second, quota: 1000000, window: 1s, lease: \(rule)}
                      - {name: minute, quota: 10000000, window: 60s, lease: \(rule)}
                      - {name: day, quota: 10000000, window: 86400s, burst: 10000000, lease: \(rule)}

                """
        }
    }

    /// Who answers a request.
    enum Way: String, CaseIterable, Encodable, Sendable {
        /// Apple.
        case miss
        /// This node's memory.
        case near
        /// Redis.
        case shared
    }
}

/// Why a fleet cannot be measured.
enum FleetError: Error, Hashable, CustomStringConvertible {
    /// Redis or its client said something else than was expected.
    case redis(said: String)
    /// No API key could be made.
    case noKey(said: String)
    /// Requests without an answer, or with another status than 200.
    case failures(count: Int, of: Int)
    /// Verdicts from elsewhere than where they were to come from.
    case otherwiseAnswered(FleetPlan.Way, count: Int, of: Int)

    var description: String {
        switch self {
        case .redis(let said): "Redis (redis-server, redis-cli, redis-benchmark) cannot be used: \(said)"
        case .noKey(let said): "The gateway made no API key: \(said)"
        case .failures(let count, let all): "\(count.grouped) of \(all.grouped) requests failed; nothing was measured."
        case .otherwiseAnswered(let way, let count, let all):
            "\(count.grouped) of \(all.grouped) requests were not answered by \(way.rawValue); nothing was measured."
        }
    }
}
