// SPDX-License-Identifier: Apache-2.0

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

    /// Adds a sample: the number of all requests until now, and the time since the first sample.
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
