// SPDX-License-Identifier: Apache-2.0

internal import Histogram

/// The numbers of requests. `intended` is the sum of `answered`, `shed`, `failed`, `timedOut`, `unsent` and
/// `abandoned`.
struct RequestCounts: Hashable, Sendable {
    /// Requests that were due.
    var intended = 0
    var sent = 0
    /// Requests with an answer other than 429, 503 and an error of the server's.
    var answered = 0
    /// Requests that were answered 429 or 503.
    var shed = 0
    /// Requests that got another error of the server's, or lost their connection.
    var failed = 0
    var timedOut = 0
    var unsent = 0
    /// Requests that the early end of the run cut off.
    var abandoned = 0
    /// Requests that their worker took up late.
    var late = 0
    var sentBytes = 0
    var receivedBytes = 0
    /// Answers by outcome, in the order of all cases.
    var outcomes = [Int](repeating: 0, count: LoadOutcome.allCases.count)

    /// Requests without a usable answer, except requests that the end of the run cut off.
    var errors: Int { failed + timedOut + unsent }

    subscript(_ outcome: LoadOutcome) -> Int { outcomes[outcome.index] }

    mutating func add(_ other: RequestCounts) {
        for counter in Self.counters { self[keyPath: counter] += other[keyPath: counter] }
        for index in outcomes.indices { outcomes[index] += other.outcomes[index] }
    }

    private static var counters: [WritableKeyPath<RequestCounts, Int>] {
        [
            \.intended, \.sent, \.answered, \.shed, \.failed, \.timedOut, \.unsent, \.abandoned, \.late, \.sentBytes,
            \.receivedBytes,
        ]
    }
}

/// A histogram of latencies, each right to a thousandth and from 64 ns on.
struct Latencies: Sendable {
    /// In nanoseconds.
    private(set) var histogram = Histogram<UInt32>(
        lowestDiscernibleValue: 100, highestTrackableValue: longest, numberOfSignificantValueDigits: .three)

    /// An hour; longer latencies count as an hour.
    private static let longest: UInt64 = 3_600_000_000_000

    var count: Int { Int(histogram.totalCount) }

    /// Adds a latency; less than none counts as none.
    mutating func record(_ nanoseconds: Int64) {
        histogram.record(min(UInt64(max(0, nanoseconds)), Self.longest))
    }

    mutating func merge(_ other: Latencies) {
        guard other.count > 0 else { return }
        histogram.add(other.histogram)
    }

    /// Returns a percentile in milliseconds; nil if nothing was recorded.
    func milliseconds(atPercentile percentile: Double) -> Double? {
        count > 0 ? Double(histogram.valueAtPercentile(percentile)) / 1e6 : nil
    }

    var mean: Double? { count > 0 ? histogram.mean / 1e6 : nil }
    /// The least in milliseconds.
    var shortest: Double? { count > 0 ? Double(histogram.min) / 1e6 : nil }
    var longest: Double? { milliseconds(atPercentile: 100) }
}

/// One second of a run, as seen by one worker or by all.
struct SecondSlice: Sendable {
    /// The number of the second from 0 on, which begins with the first request, be it for warming up.
    let second: Int
    var counts = RequestCounts()
    var response = Latencies()
    /// The lateness of the requests that were taken up in it.
    var sendLag = Latencies()

    mutating func add(_ other: SecondSlice) {
        counts.add(other.counts)
        response.merge(other.response)
        sendLag.merge(other.sendLag)
    }
}

struct LoadMeasurements: Sendable {
    var counts = RequestCounts()
    /// The times from the moment a request was due to the end of its answer, or to its timeout.
    var response = Latencies()
    /// The times from the sending of a request.
    var service = Latencies()
    /// The times from the moment a request was due to the moment its worker took it up, with a connection free or not.
    var sendLag = Latencies()
    var byOutcome = LoadOutcome.allCases.map { _ in Latencies() }
    var statuses: [Int: Int] = [:]
    var failures: [RequestFailure: Int] = [:]
    var cpuSeconds = 0.0
    /// The time for which the workers were ready to run while other threads had the cores.
    var readySeconds = 0.0
    /// The time from the beginning of the recorded part to the last answer.
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
        seconds = max(seconds, other.seconds)
    }

    var answersPerSecond: Double? { seconds > 0 ? Double(counts.answered) / seconds : nil }

    var lateShare: Double { counts.intended > 0 ? Double(counts.late) / Double(counts.intended) : 0 }

    /// Returns the processor time of the workers, as a share of a core for each.
    func cpuShare(workers: Int) -> Double { seconds > 0 ? cpuSeconds / seconds / Double(workers) : 0 }

    /// Returns the share of the time in which the workers worked, or would have if other threads had left them a core.
    func busyShare(workers: Int) -> Double {
        seconds > 0 ? (cpuSeconds + readySeconds) / seconds / Double(workers) : 0
    }

    /// Returns true if nearly all requests were taken up when they were due, and the workers had time left.
    func keptSchedule(of plan: LoadPlan) -> Bool {
        plan.isClosed || !(lateShare > plan.limits.maximumLateShare || isExhausted(plan))
    }

    /// Returns true if the latencies say more about the generator than about the server.
    func areAboutGenerator(_ plan: LoadPlan) -> Bool {
        !plan.isClosed && (isDistorted(plan.limits) || isExhausted(plan))
    }

    /// Returns true if too many were taken up too late, and not by little beside the measured latencies.
    func isDistorted(_ limits: GeneratorLimits) -> Bool {
        guard lateShare > limits.maximumLateShare else { return false }
        guard let lag = sendLag.milliseconds(atPercentile: 99), let wait = response.milliseconds(atPercentile: 99)
        else {
            return true
        }
        return lag > limits.maximumLagShare * wait
    }

    /// Returns true if the workers were busy all the time and fell behind: then slow answers may be their fault.
    func isExhausted(_ plan: LoadPlan) -> Bool {
        let done = counts.answered + counts.shed + counts.failed
        let isBehind =
            Double(done) < plan.limits.minimumDoneShare * Double(counts.intended)
            || seconds > plan.seconds / plan.limits.minimumDoneShare
        return isBehind && busyShare(workers: plan.workers) > plan.limits.maximumBusyShare
    }
}
