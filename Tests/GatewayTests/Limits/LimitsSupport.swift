// SPDX-License-Identifier: Apache-2.0

import ReceiptForge
import Resilience
import Synchronization
import TestSupport

/// A monotonic clock, set by a test.
final class SteadyClock: Sendable {
    private let instant = Mutex(ContinuousClock.now)

    var now: Instant { instant.withLock(\.self) }
    func advance(by span: Duration) { instant.withLock { $0 += span } }
}

/// The reference implementation of shared buckets in memory, independent of the script.
final class ModelBuckets: SharedBuckets {
    /// The behaviour that a test may set.
    struct Manners: Sendable {
        var fault: SharedBucketsFault?
        var gate: Gate?
        /// The latency of a request to the store and of its reply.
        var way: @Sendable () -> (there: Duration, back: Duration) = { (.zero, .zero) }
    }

    private let clock: SteadyClock
    private let fullAt = Mutex<[RateBucket: Instant]>([:])
    private let manners = Mutex(Manners())
    private let log = Mutex<[(order: TokenRequest, instant: Instant)]>([])
    private let failures = Mutex(0)

    init(_ clock: SteadyClock) {
        self.clock = clock
    }

    /// The executed requests and their times.
    var orders: [(order: TokenRequest, instant: Instant)] { log.withLock(\.self) }

    /// The number of failed requests.
    var faults: Int { failures.withLock(\.self) }

    func behave(_ change: (inout Manners) -> Void) { manners.withLock { change(&$0) } }

    /// Removes everything, like a Redis that was restarted.
    func flush() { fullAt.withLock { $0 = [:] } }

    func take(_ order: TokenRequest) async throws(SharedBucketsFault) -> TokenGrant {
        let manners = manners.withLock(\.self)
        let way = manners.way()
        clock.advance(by: way.there)
        defer { clock.advance(by: way.back) }
        await manners.gate?.pass()
        if let fault = manners.fault {
            failures.withLock { $0 += 1 }
            throw fault
        }
        let now = clock.now
        log.withLock { $0.append((order, now)) }
        return fullAt.withLock { Self.carryOut(order, on: &$0, at: now) }
    }

    static func carryOut(
        _ order: TokenRequest, on fullAt: inout [RateBucket: Instant], at now: Instant
    ) -> TokenGrant {
        let levels = order.lines.map { Level($0, fullAt: fullAt[$0.charge.bucket], requests: order.requests, at: now) }
        let enforced = zip(order.lines, levels).filter { !$0.0.charge.bucket.policy.isShadow }.map(\.1.requests)
        let admitted = ([order.requests] + enforced).min() ?? 0
        var lines: [TokenGrant.Line] = []
        for (line, var level) in zip(order.lines, levels) {
            lines.append(level.give(admitted: admitted, of: order.requests, for: line, at: now))
            fullAt[line.charge.bucket] = level.fullAt
        }
        return TokenGrant(admitted: admitted, lines: lines)
    }

    private struct Level {
        let policy: TokenBucket.Policy
        var fullAt: Instant
        let requests: Int

        init(_ line: TokenRequest.Line, fullAt: Instant?, requests: Int, at now: Instant) {
            policy = line.charge.bucket.policy.tokenBucket
            self.fullAt = max(now, fullAt ?? now)
            let tokens = Int((policy.timeToFill - now.duration(to: self.fullAt)).attoseconds / interval(policy))
            self.requests = min(requests, (tokens + line.prepaid) / line.charge.cost)
        }

        func tokens(at now: Instant) -> Int {
            Int((policy.timeToFill - now.duration(to: fullAt)).attoseconds / interval(policy))
        }

        mutating func give(
            admitted: Int, of all: Int, for line: TokenRequest.Line, at now: Instant
        ) -> TokenGrant.Line {
            let paid = min(admitted, requests) * line.charge.cost
            let price = policy.emissionInterval * max(0, paid - line.prepaid)
            var advance = 0
            if line.inAdvance > 0, admitted == all, requests == all {
                var lowered = self
                lowered.fullAt = max(fullAt, now + line.life) + price
                advance = max(0, min(line.inAdvance, lowered.tokens(at: now) / 2))
                if advance > 0 { fullAt = lowered.fullAt + policy.emissionInterval * advance - price }
            }
            fullAt += price
            let short = line.charge.cost - max(0, line.prepaid - paid)
            let wait = policy.emissionInterval * short - (policy.timeToFill - now.duration(to: fullAt))
            return TokenGrant.Line(
                requests: requests, inAdvance: advance,
                timeUntilFull: now.duration(to: fullAt), timeUntilNext: max(.zero, wait))
        }
    }
}

private func interval(_ policy: TokenBucket.Policy) -> Int128 { policy.emissionInterval.attoseconds }

/// The tokens taken, to check the limit in every interval.
struct Ledger {
    private let policy: TokenBucket.Policy
    private var takings: [(instant: Instant, tokens: Int)] = []

    init(_ policy: RatePolicy) {
        self.policy = policy.tokenBucket
    }

    var total: Int { takings.reduce(0) { $0 + $1.tokens } }

    func forEach(_ body: (Instant, Int) -> Void) { for taking in takings { body(taking.instant, taking.tokens) } }

    mutating func record(_ tokens: Int, at instant: Instant) { takings.append((instant, tokens)) }

    /// The maximum by which any interval exceeds its limit; negative if none does. The worst interval ending here
    /// extends the worst one ending at the taking before, or begins here.
    var worstExcess: Duration {
        var (worst, level, last) = (Duration.zero - policy.timeToFill, Duration.zero, Instant?.none)
        for taking in takings.sorted(by: { $0.instant < $1.instant }) {
            let passed = (last ?? taking.instant).duration(to: taking.instant)
            level = max(.zero, level - passed) + policy.emissionInterval * taking.tokens
            (worst, last) = (max(worst, level - policy.timeToFill), taking.instant)
        }
        return worst
    }
}

extension SplitMix64 {
    mutating func number(_ range: ClosedRange<Int>) -> Int { .random(in: range, using: &self) }
    mutating func randomness(_ percent: Int) -> Bool { number(1...100) <= percent }
    mutating func span(upTo longest: Duration) -> Duration {
        .microseconds(number(0...Int(longest / .microseconds(1))))
    }
}

extension RateAdmission {
    var sources: [Source] { outcomes.map(\.source) }
}
