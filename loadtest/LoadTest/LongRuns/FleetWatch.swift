// SPDX-License-Identifier: Apache-2.0

internal import Synchronization

/// Looks at a fleet while a run goes on: at its requests to Apple beside a budget, and at its memory.
final class FleetWatch: Sendable {
    private enum Limits {
        /// The interval at which the requests to Apple are counted; reading the memory takes longer.
        static let calls = Duration.milliseconds(50)
        static let memory = Duration.seconds(1)
    }

    private let state: Mutex<(meter: CallMeter, residentBytes: Int)>

    /// - Parameter budget: requests to Apple per second.
    init(budget: Double) { state = Mutex((CallMeter(budget: budget), 0)) }

    var meter: CallMeter { state.withLock(\.meter) }
    /// The memory of the largest gateway, at its maximum.
    var residentBytes: Int { state.withLock(\.residentBytes) }

    /// Looks until the body ends.
    func looking<Value: Sendable>(
        at fleet: RunningFleet, _ body: () async throws -> Value
    ) async rethrows -> Value {
        try await LongRun.meanwhile(every: Limits.calls) { [self] now in
            let calls = await fleet.questions
            state.withLock { $0.meter.record(calls, at: now.seconds) }
        } _: {
            try await LongRun.meanwhile(every: Limits.memory) { [self] _ in
                let bytes = await fleet.residentBytes
                state.withLock { $0.residentBytes = max($0.residentBytes, bytes) }
            } _: {
                try await body()
            }
        }
    }
}

/// The requests to Apple against a budget: a token bucket that holds the requests of one second. Time is an argument.
struct CallMeter: Hashable, Sendable {
    private enum Limits {
        /// The samples of one second that are kept.
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
    /// The maximum number of requests within a second.
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
