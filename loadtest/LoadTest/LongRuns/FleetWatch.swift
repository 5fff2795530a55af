// SPDX-License-Identifier: Apache-2.0

internal import Synchronization

/// The observations of a fleet during a run: its requests to Apple beside a budget, and its memory.
final class FleetWatch: Sendable {
    private enum Limits {
        /// The interval at which the requests to Apple are counted; reading the memory takes longer.
        static let calls = Duration.milliseconds(50)
        static let memory = Duration.seconds(1)
    }

    private let calls: Mutex<CallMeter>
    /// The memory of the largest gateway.
    let memory = MemoryWatch()

    /// - Parameter budget: requests to Apple per second.
    init(budget: Double) { calls = Mutex(CallMeter(budget: budget)) }

    var meter: CallMeter { calls.withLock(\.self) }

    /// Looks until the body ends.
    func looking<Value: Sendable>(
        at fleet: RunningFleet, _ body: () async throws -> Value
    ) async rethrows -> Value {
        try await LongRun.meanwhile(every: Limits.calls) { [self] now in
            let count = await fleet.questions
            calls.withLock { $0.record(count, at: now.seconds) }
        } _: {
            try await memory.looking(every: Limits.memory, at: { await fleet.residentBytes }, body)
        }
    }
}

final class MemoryWatch: Sendable {
    private let recorded = Mutex<[MemoryPoint]>([])

    var points: [MemoryPoint] { recorded.withLock(\.self) }
    var maximumBytes: Int { points.map(\.residentBytes).max() ?? 0 }

    /// Looks at intervals until the body ends.
    func looking<Value: Sendable>(
        every interval: Duration, at residentBytes: @escaping @Sendable () async -> Int,
        _ body: () async throws -> Value
    ) async rethrows -> Value {
        try await LongRun.meanwhile(every: interval) { [self] now in
            let point = MemoryPoint(seconds: now.seconds, residentBytes: await residentBytes())
            recorded.withLock { $0.append(point) }
        } _: {
            try await body()
        }
    }
}

struct MemoryPoint: Hashable, Sendable {
    let seconds: Double
    let residentBytes: Int

    /// The slope by least squares, without the first fifth, when pools still fill; 0 for fewer than two points.
    static func bytesPerMinute(_ points: [MemoryPoint]) -> Double {
        let settled = points.dropFirst(points.count / 5), count = Double(max(1, settled.count))
        let meanTime = settled.map(\.seconds).reduce(0, +) / count
        let meanBytes = settled.map { Double($0.residentBytes) }.reduce(0, +) / count
        let spread = settled.map { ($0.seconds - meanTime) * ($0.seconds - meanTime) }.reduce(0, +)
        let common = settled.map { ($0.seconds - meanTime) * (Double($0.residentBytes) - meanBytes) }.reduce(0, +)
        return spread > 0 ? (60 * common / spread).rounded() : 0
    }
}

/// The requests to Apple against a budget: a token bucket that holds the requests of one second. Time is an argument.
struct CallMeter: Hashable, Sendable {
    private enum Limits {
        static let samples = 1000
    }

    private struct Sample: Hashable, Sendable {
        let seconds: Double
        let calls: Int
    }

    /// Requests per second.
    let budget: Double
    private var samples: [Sample] = []
    private var level = 0.0
    private(set) var maximumPerSecond = 0
    /// The maximum number of requests that the bucket must have held. It is never more than the gateways really took.
    private(set) var maximumBurst = 0.0

    init(budget: Double) { self.budget = budget }

    /// Adds a sample.
    /// - Parameters:
    ///   - calls: all requests until now.
    ///   - seconds: the time since the first sample.
    mutating func record(_ calls: Int, at seconds: Double) {
        if let last = samples.last {
            // The new requests may have been the first of the interval, so that the bucket refilled after them.
            level = max(0, level + Double(calls - last.calls) - budget * (seconds - last.seconds))
            maximumBurst = max(maximumBurst, level)
        }
        samples.append(Sample(seconds: seconds, calls: calls))
        let first = samples.firstIndex { $0.seconds >= seconds - 1 } ?? 0
        samples.removeFirst(max(first, samples.count - Limits.samples))
        maximumPerSecond = max(maximumPerSecond, calls - samples[0].calls)
    }

    /// The most requests at once that a budget permits: a second's, and a tenth of a second's for the clock.
    var permittedBurst: Double { 1.1 * budget + 1 }
}
