// SPDX-License-Identifier: Apache-2.0

/// Counts and times the requests of one worker: all requests second by second, and the requests after the warm-up in
/// sum.
struct Recorder: Sendable {
    private(set) var measurements = LoadMeasurements()
    private var slice = SecondSlice(second: 0)
    private let late: Int64

    init(limits: GeneratorLimits) {
        late = limits.late.nanoseconds
    }

    mutating func turn(to second: Int) -> SecondSlice? {
        guard second > slice.second else { return nil }
        defer { slice = SecondSlice(second: second) }
        return slice
    }

    mutating func finish(_ time: ThreadTime, seconds: Double) -> SecondSlice? {
        (measurements.cpuSeconds, measurements.readySeconds) = (time.running, time.waiting)
        measurements.seconds = seconds
        return turn(to: slice.second + 1)
    }

    /// Records that a request was due and is taken up so many nanoseconds later.
    mutating func took(_ role: Role, lag: Int64) {
        let isLate = lag > late
        count(role) { counts in
            counts.intended += 1
            if isLate { counts.late += 1 }
        }
        slice.sendLag.record(lag)
        if role == .measured { measurements.sendLag.record(lag) }
    }

    mutating func sent(_ role: Role, bytes: Int) {
        count(role) { counts in
            counts.sent += 1
            counts.sentBytes += bytes
        }
    }

    mutating func received(_ role: Role, bytes: Int) {
        count(role) { $0.receivedBytes += bytes }
    }

    /// Records a complete answer; times in nanoseconds.
    mutating func answered(_ role: Role, _ answer: LoadAnswer, response: Int64, service: Int64) {
        count(role) { counts in
            switch answer.outcome {
            case .shed: counts.shed += 1
            case .error: counts.failed += 1
            default: counts.answered += 1
            }
        }
        record(role, answer.outcome, response)
        time(role, response, service)
        if role == .measured { measurements.statuses[answer.status, default: 0] += 1 }
    }

    /// Records that there will be no answer. A vain wait counts with its length: a tail without it would look too
    /// short.
    mutating func failed(_ role: Role, _ failure: RequestFailure, after response: Int64, service: Int64?) {
        count(role) { counts in
            switch failure {
            case .timeout: counts.timedOut += 1
            case .connectionEnded, .badAnswer: counts.failed += 1
            case .noConnection, .queueFull: counts.unsent += 1
            }
        }
        record(role, .error, response)
        if failure == .timeout || failure == .noConnection { time(role, response, service) }
        if role == .measured { measurements.failures[failure, default: 0] += 1 }
    }

    mutating func abandoned(_ requests: Int) {
        count(.measured) { $0.abandoned += requests }
    }

    private mutating func count(_ role: Role, _ change: (inout RequestCounts) -> Void) {
        change(&slice.counts)
        if role == .measured { change(&measurements.counts) }
    }

    private mutating func record(_ role: Role, _ outcome: LoadOutcome, _ response: Int64) {
        count(role) { $0.outcomes[outcome.index] += 1 }
        if role == .measured { measurements.byOutcome[outcome.index].record(response) }
    }

    private mutating func time(_ role: Role, _ response: Int64, _ service: Int64?) {
        slice.response.record(response)
        guard role == .measured else { return }
        measurements.response.record(response)
        if let service { measurements.service.record(service) }
    }

    enum Role {
        case measured
        /// To warm the server up: it stands in the seconds, and in no sum.
        case warmup
    }
}

extension Duration {
    var nanoseconds: Int64 { Int64(self / .nanoseconds(1)) }
}
