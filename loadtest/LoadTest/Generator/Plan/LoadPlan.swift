// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

struct LoadPlan: Sendable {
    var target: LoadTarget
    /// The certificates that the target may prove its name with, if the URL is https.
    var trust = TLSTrust.system
    /// The times of requests; ignored in a closed loop.
    var schedule = LoadSchedule(curve: RateCurve(stages: []), pattern: .constant, first: 0)
    /// True if each connection sends as soon as its answer is there, whatever the schedule.
    var isClosed = false
    /// The length of a closed loop's recorded part; an open loop takes as long as its stages.
    var closedSeconds = 10.0
    /// The time of sending before anything is recorded.
    var warmupSeconds = 0.0
    /// The number of requests that ends the recorded part.
    var maximumRequests: Int?
    /// The number of all workers together.
    var connections = 64
    /// The number of requests under way on one connection.
    var pipelining = 1
    /// The number of threads that send and receive.
    var workers = 1
    /// True if those threads leave the core to every other that wants it.
    var givesWay = false
    /// The longest time from the sending of a request to the end of its answer, and of the wait for a connection.
    var timeout = Duration.seconds(10)
    var seed: UInt64 = 1
    var limits = GeneratorLimits()
    /// Receives the end of each request, on the worker's thread; nil if only sums matter.
    var completion: (@Sendable (Completion) -> Void)?

    /// The length of the recorded part; infinite if only a number of requests ends it.
    var seconds: Double {
        guard let maximumRequests, !isClosed else { return isClosed ? closedSeconds : schedule.curve.seconds }
        var cursor = RateCursor(schedule.curve)
        return cursor.time(ofCount: Double(maximumRequests)) ?? schedule.curve.seconds
    }

    /// Returns the part of a number that falls to the worker with this number; all parts together make the number.
    func share(of total: Int, worker: Int) -> Int { total / workers + (worker < total % workers ? 1 : 0) }
}

struct Completion: Sendable {
    /// The time from the moment the request was due.
    let latency: Duration
    /// Nil without an answer.
    let status: Int?
    /// The beginning of the answer's body, of as many bytes as the plan's limits say.
    let opening: [UInt8]
}

struct LoadSchedule: Hashable, Sendable {
    let curve: RateCurve
    let pattern: ArrivalPattern
    /// The rate while warming up.
    let first: Double
}

/// The limits of the generator, and the bounds of lateness.
struct GeneratorLimits: Hashable, Sendable {
    /// The requests of one worker that wait for a connection; beyond it they fail.
    var maximumWaiting = 200_000
    /// The requests that are taken up at once; then answers are read.
    var maximumBatch = 1000
    /// The lateness beyond which a request counts as late.
    var late = Duration.milliseconds(5)
    /// The share of late requests up to which a schedule was kept.
    var maximumLateShare = 0.01
    /// The shortest sleep; within it work is taken up together.
    var shortestSleep = Duration.microseconds(20)
    /// The share of the response's 99th percentile up to which that of the lateness is tolerated.
    var maximumLagShare = 0.1
    /// The share of busy time beyond which workers have nothing left to give.
    var maximumBusyShare = 0.95
    /// The share of answered requests, and of the planned time, below which the generator is behind.
    var minimumDoneShare = 0.98
    /// The time until the first connections stand.
    var connectTimeout = Duration.seconds(5)
    /// The first pause between attempts to connect again, which doubles each time.
    var firstReconnectPause = Duration.milliseconds(10)
    var longestReconnectPause = Duration.seconds(1)
    var answer = AnswerLimits()
}

struct AnswerLimits: Hashable, Sendable {
    /// Bytes of the status line and all header fields, and again of the trailer.
    var maximumHeadBytes = 32 << 10
    var maximumLineBytes = 8 << 10
    /// Bytes of the body, chunks counted without their sizes.
    var maximumBodyBytes = 64 << 20
    /// Answers of the class 1xx before the final one.
    var maximumInterimAnswers = 8
    /// Kept bytes of the body's beginning, where a gateway names the source of its answer.
    var openingBytes = 192
}
