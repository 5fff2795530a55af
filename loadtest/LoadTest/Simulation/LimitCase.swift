// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import ReceiptForge
internal import Resilience

/// A client with one limit, its requests, and their way into the fleet.
struct LimitCase: Hashable, Sendable {
    /// The requests of the client, compared with its limit.
    enum Load: String, Hashable, Sendable, CaseIterable {
        /// Steadily seven tenths of the limit.
        case below
        /// Steadily half more than the limit.
        case above
        /// Nine tenths of the limit, a silence, and eight times the limit for a tenth of the time: the bucket fills while
        /// the nodes hold tokens in advance, and then all are spent at once.
        case bursts

        /// Returns the requests for each token that arrives.
        /// - Parameter phase: the part of the present cycle that is over, from 0 to below 1.
        func factor(at phase: Double) -> Double {
            switch self {
            case .below: 0.7
            case .above: 1.5
            case .bursts: phase < 0.9 ? 0.9 : 8
            }
        }
    }

    /// The nodes that the client reaches.
    enum Spread: String, Hashable, Sendable, CaseIterable {
        /// All nodes alike, as behind a load balancer that takes turns.
        case even
        /// All nodes, the k-th 1/k as often as the first.
        case uneven
        /// A hundredth of the nodes, unevenly: a client with few long connections.
        case few

        func node(of count: Int, using randomness: inout SplitMix64) -> Int {
            switch self {
            case .even: randomness.index(below: count)
            case .uneven: randomness.unevenIndex(below: count)
            case .few: randomness.unevenIndex(below: max(1, count / 100))
            }
        }
    }

    var policy: RatePolicy
    var load: Load
    var spread: Spread
    /// Seconds.
    var span: Double
    /// The seconds in which Redis does not answer; it comes back empty.
    var loss: Range<Double>?
    var fault: LimitedFleet.Fault?

    /// `1000/60s`.
    var limitName: String { "\(policy.quota)/\(Int(policy.window.seconds))s" }
}

extension LimitCase {
    private enum Limits {
        /// The tokens of a limit that arrive in the simulated time. A larger limit is simulated for a shorter time.
        static let tokens = 600_000.0
        /// The longest time from one burst to the next.
        static let cycle = 3600.0
        /// The time before and after a loss of Redis.
        static let margin = 300.0
    }

    private static let policies: [RatePolicy] = [
        RatePolicy(name: "minute", quota: 100, window: .seconds(60)),
        RatePolicy(name: "minute", quota: 400, window: .seconds(60)),
        RatePolicy(name: "day", quota: 200_000, window: .seconds(86_400)),
        RatePolicy(name: "second", quota: 100, window: .seconds(1)),
        RatePolicy(name: "second", quota: 1000, window: .seconds(1)),
        RatePolicy(name: "second", quota: 10_000, window: .seconds(1)),
    ]

    /// The length of a cycle of the load in seconds.
    var cycle: Double { min(Limits.cycle, 20 * policy.tokenBucket.timeToFill.seconds) }

    /// The silence in each cycle: half the life of tokens taken in advance.
    var silence: Range<Double> {
        let life = TokenLease.Policy(for: policy.tokenBucket)?.life.seconds ?? 0
        return load == .bursts ? 0.9 * cycle..<(0.9 * cycle + life / 2) : 0..<0
    }

    /// The limits under each load.
    static func day(seconds: Double) -> [LimitCase] {
        policies.flatMap { policy in
            let span = min(seconds, Limits.tokens * policy.tokenBucket.emissionInterval.seconds)
            return Load.allCases.map { load in
                LimitCase(policy: policy, load: load, spread: load == .bursts ? .few : .uneven, span: span)
            }
        }
    }

    /// Clients above their limits, some minutes before, in and after a loss of the shard with their buckets.
    static func losses(seconds: Double) -> [LimitCase] {
        [policies[0], policies[1], policies[3]].flatMap { policy in
            Spread.allCases.map { spread in
                LimitCase(
                    policy: policy, load: .above, spread: spread, span: 2 * Limits.margin + seconds,
                    loss: Limits.margin..<(Limits.margin + seconds))
            }
        }
    }
}
