// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// The requests about an app's customers, and the calls to Apple for them.
struct CustomerOutcome: Hashable, Sendable {
    /// The origin of an answer.
    enum Answer: Hashable, Sendable, CaseIterable {
        case near
        case shared
        /// This node's copy of a cached answer, without Redis.
        case copy
        /// Apple, asked for this request.
        case refreshed
        /// The signed data alone: the budget is used up.
        case degraded

        var isHit: Bool { self == .near || self == .shared || self == .copy }
    }

    private(set) var answers: [Answer: Int] = [:]
    /// The near-cache hits if each customer's requests reached one node.
    var nearIfRouted = 0
    /// Commands to Redis for look-ups and refreshes.
    var cacheCommands = 0
    /// Script calls for Apple's budget.
    var budgetCommands = 0
    /// The fresh answers in Redis when a shard was lost, and the lost answers among them.
    var answersBeforeLoss = 0
    var lostAnswers = 0
    /// By minute.
    private(set) var requests: [Int]
    private(set) var hits: [Int]
    private(set) var degraded: [Int]
    /// By second, for each operation.
    private(set) var calls: [[Int32]]

    init(seconds: Int) {
        let minutes = Array(repeating: 0, count: seconds / 60 + 1)
        (requests, hits, degraded) = (minutes, minutes, minutes)
        calls = Array(
            repeating: Array(repeating: 0, count: seconds + 1), count: SimulatedBudget.Operation.allCases.count)
    }

    mutating func add(_ answer: Answer, at second: Int) {
        answers[answer, default: 0] += 1
        requests[second / 60] += 1
        if answer.isHit { hits[second / 60] += 1 }
        if answer == .degraded { degraded[second / 60] += 1 }
    }

    mutating func addCall(_ operation: SimulatedBudget.Operation, at second: Int) {
        calls[operation.rawValue][second] += 1
    }
}

extension CustomerOutcome {
    var requestCount: Int { requests.reduce(0, +) }
    var callCount: Int { calls.joined().reduce(0) { $0 + Int($1) } }

    func share(of answer: Answer) -> Double { Double(answers[answer] ?? 0) / Double(max(1, requestCount)) }

    /// The most calls of one operation in a second.
    var peakCallsPerSecond: Int { calls.map { Int($0.max() ?? 0) }.max() ?? 0 }

    /// The most calls of one operation in any hour.
    var peakCallsPerHour: Int { calls.map { Self.largestSum(of: $0, width: 3600) }.max() ?? 0 }

    /// The requests in the busiest minute, per second.
    var peakRequestsPerSecond: Double { Double(requests.max() ?? 0) / 60 }

    private static func largestSum(of counts: [Int32], width: Int) -> Int {
        var (sum, largest) = (0, 0)
        for index in counts.indices {
            sum += Int(counts[index])
            if index >= width { sum -= Int(counts[index - width]) }
            largest = max(largest, sum)
        }
        return largest
    }

    /// Returns the calls of one operation from a second to before another, at most those simulated.
    func callCount(in seconds: Range<Double>) -> Int {
        let range = Int(seconds.lowerBound)..<min(calls[0].count, Int(seconds.upperBound))
        return calls.reduce(0) { $0 + $1[range].reduce(0) { $0 + Int($1) } }
    }
}

/// The effects of losing a shard, by comparison with the same requests without the loss. Shares have four decimals.
struct LossEffects: Hashable, Sendable, Encodable {
    let lost: LostShard
    /// The share of the fresh answers that were lost.
    let lostAnswers: Double
    /// The share of requests that were served from a cache: without the loss, and in the worst minute of the loss.
    let usualHitRate: Double
    let worstHitRate: Double
    /// The share of requests in the loss that got the signed data alone, for want of budget.
    let degraded: Double
    /// The additional calls to Apple because of the loss, in the loss and the hour after it.
    let extraCalls: Int
    /// The most calls of one operation in any hour.
    let peakCallsPerHour: Int
    /// The minutes from the end of the loss until the hit rate is within a point of the usual hit rate; nil if it never
    /// is.
    let recoveryMinutes: Int?

    private enum Limits {
        static let point = 0.01
        /// The time after the loss in which calls are compared.
        static let after = 3600.0
    }

    init(of run: CustomerOutcome, losing lost: LostShard, in loss: Range<Double>, comparedWith usual: CustomerOutcome) {
        let minutes = Int(loss.lowerBound / 60)..<max(Int(loss.lowerBound / 60) + 1, Int(loss.upperBound / 60))
        func rate(_ outcome: CustomerOutcome, _ minute: Int) -> Double {
            Double(outcome.hits[minute]) / Double(max(1, outcome.requests[minute]))
        }
        self.lost = lost
        func share(_ part: Int, of whole: Int) -> Double {
            (Double(part) / Double(max(1, whole))).rounded(toDecimals: 4)
        }
        lostAnswers = share(run.lostAnswers, of: run.answersBeforeLoss)
        usualHitRate = (minutes.map { rate(usual, $0) }.reduce(0, +) / Double(minutes.count)).rounded(toDecimals: 4)
        worstHitRate = (minutes.map { rate(run, $0) }.min() ?? 0).rounded(toDecimals: 4)
        degraded = share(
            minutes.reduce(0) { $0 + run.degraded[$1] }, of: minutes.reduce(0) { $0 + run.requests[$1] })
        let compared = loss.lowerBound..<(loss.upperBound + Limits.after)
        extraCalls = run.callCount(in: compared) - usual.callCount(in: compared)
        peakCallsPerHour = run.peakCallsPerHour
        recoveryMinutes = (minutes.upperBound..<run.requests.count)
            .first { rate(run, $0) >= rate(usual, $0) - Limits.point }.map { $0 - minutes.upperBound }
    }
}
