// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// Everything that was recorded of a run, by one worker or by all.
struct LoadMeasurements: Sendable {
    var counts = RequestCounts()
    /// From the moment a request was due to the end of its answer, or to the moment its patience ended.
    var response = Latencies()
    /// From the moment a request was sent.
    var service = Latencies()
    /// From the moment a request was due to the moment its worker took it up, with a connection free or not.
    var sendLag = Latencies()
    /// The response by outcome, in the order of all cases.
    var byOutcome = Outcome.allCases.map { _ in Latencies() }
    /// Answers by status.
    var statuses: [Int: Int] = [:]
    var failures: [Failure: Int] = [:]
    /// Processor time of the workers' threads, in seconds.
    var cpuSeconds = 0.0
    /// How long those threads were ready to run while others had the cores, in seconds.
    var readySeconds = 0.0
    /// Connections that were made again.
    var reconnects = 0
    /// From the beginning of the recorded part to the last answer, in seconds.
    var seconds = 0.0

    mutating func add(_ other: LoadMeasurements) {
        counts.add(other.counts)
        response.merge(other.response)
        service.merge(other.service)
        sendLag.merge(other.sendLag)
        for index in byOutcome.indices { byOutcome[index].merge(other.byOutcome[index]) }
        statuses.merge(other.statuses, uniquingKeysWith: +)
        failures.merge(other.failures, uniquingKeysWith: +)
        cpuSeconds += other.cpuSeconds
        readySeconds += other.readySeconds
        reconnects += other.reconnects
        seconds = max(seconds, other.seconds)
    }
}
