// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import Resilience

/// One token bucket in Redis: the rules of the script in `RedisTokenBuckets`, with the gateway's `TokenBucket`.
struct SimulatedBucket: Sendable {
    private let policy: TokenBucket.Policy
    /// False for a Redis without the rule of `TokenLease`, which a test detects. Tokens taken in advance are then not
    /// paid for by the tokens that arrive in their life.
    private let agesBeforeLeases: Bool
    private var bucket: TokenBucket

    init(_ policy: RatePolicy, agesBeforeLeases: Bool = true) {
        self.policy = policy.tokenBucket
        self.agesBeforeLeases = agesBeforeLeases
        bucket = TokenBucket(policy.tokenBucket)
    }

    /// Returns to the state of a Redis that lost its data: a full bucket.
    mutating func lose() { bucket = TokenBucket(policy) }

    /// Takes the tokens of equal requests.
    mutating func take(_ request: TokenRequest, at now: Instant) -> TokenGrant {
        let lines = request.lines.map { take(request.requests, of: $0, at: now) }
        return TokenGrant(admitted: lines.map(\.requests).min() ?? request.requests, lines: lines)
    }

    private mutating func take(_ requests: Int, of line: TokenRequest.Line, at now: Instant) -> TokenGrant.Line {
        let cost = line.charge.cost
        let admitted = min(requests, (bucket.remaining(at: now) + line.prepaid) / cost)
        let paid = max(0, admitted * cost - line.prepaid)
        let advance = admitted == requests ? takeInAdvance(line, beside: paid, at: now) : 0
        _ = bucket.take(paid, at: now)
        let lacking = cost - max(0, line.prepaid - admitted * cost)
        let wait = policy.emissionInterval * lacking - (policy.timeToFill - bucket.timeUntilFull(at: now))
        return TokenGrant.Line(
            requests: admitted, inAdvance: advance, timeUntilFull: bucket.timeUntilFull(at: now),
            timeUntilNext: max(.zero, wait))
    }

    /// Takes tokens in advance, at most half of what is left, after the bucket has lost what arrives in their life.
    private mutating func takeInAdvance(_ line: TokenRequest.Line, beside paid: Int, at now: Instant) -> Int {
        guard line.inAdvance > 0 else { return 0 }
        let life = agesBeforeLeases ? line.life : .zero
        var aged = TokenBucket(policy, timeUntilFull: max(bucket.timeUntilFull(at: now), life), at: now)
        let count = max(0, min(line.inAdvance, (aged.remaining(at: now) - paid) / 2))
        guard count > 0, aged.take(count, at: now) == .admitted else { return 0 }
        bucket = aged
        return count
    }
}
