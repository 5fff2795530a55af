// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// The observations of a run of `deferred`.
struct DeferredOutcome: Hashable, Sendable {
    /// The answers to the requests by their statuses, and the requests without an answer.
    var statuses: [Int: Int] = [:]
    var unanswered = 0
    /// The time for posting alone.
    var postingSeconds = 0.0
    /// From the first request to Apple's return.
    var outageSeconds = 0.0
    /// The jobs in Redis at Apple's return, and at the end.
    var waiting = 0
    var left = 0
    /// From Apple's return until no job waited; nil if some still do.
    var drainSeconds: Double?
    var meter = CallMeter(budget: 1)
    var kills = 0
    /// The memory of the largest gateway, at its maximum.
    var residentBytes = 0
    /// The growth of Redis by all jobs.
    var redisBytes = 0
    /// The CPU of the gateways for all jobs; nil if some were killed, whose CPU is unknown.
    var cpuSeconds: Double?
    /// The jobs whose result was read, and the jobs among them without Apple's verdict.
    var checked = 0
    var wrong = 0
}
