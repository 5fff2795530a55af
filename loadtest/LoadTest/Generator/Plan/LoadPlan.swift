// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// What one run is to do.
struct LoadPlan: Sendable {
    /// Who is asked.
    var target: LoadTarget
    /// When requests are due; ignored where the loop is closed.
    var schedule = LoadSchedule(curve: RateCurve(stages: []), pattern: .constant, first: 0)
    /// Whether each connection sends as soon as its answer is there, whatever the schedule.
    var isClosed = false
    /// How long the recorded part of a closed loop takes; an open loop takes as long as its stages.
    var closedSeconds = 10.0
    /// What is sent before anything is recorded.
    var warmupSeconds = 0.0
    /// The recorded part ends after so many requests.
    var maximumRequests: Int?
    /// Over all workers.
    var connections = 64
    /// Requests under way on one connection.
    var pipelining = 1
    /// Threads that send and receive.
    var workers = 1
    /// Whether those threads leave the core to every other that wants it.
    var givesWay = false
    /// From the sending of a request to the end of its answer; and how long one waits for a connection.
    var timeout = Duration.seconds(10)
    /// Everything left to chance follows from it.
    var seed: UInt64 = 1
    var limits = GeneratorLimits()

    /// How long the recorded part takes; infinite if only a number of requests ends it.
    var seconds: Double {
        guard let maximumRequests, !isClosed else { return isClosed ? closedSeconds : schedule.curve.seconds }
        var cursor = RateCursor(schedule.curve)
        return cursor.time(ofCount: Double(maximumRequests)) ?? schedule.curve.seconds
    }
}

/// When requests are due.
struct LoadSchedule: Hashable, Sendable {
    let curve: RateCurve
    let pattern: ArrivalPattern
    /// Requests per second while warming up.
    let first: Double
}
