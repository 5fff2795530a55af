// SPDX-License-Identifier: Apache-2.0

/// The number of calls, of failures and of slow calls.
struct CallCounts: Hashable, Sendable {
    var calls = 0
    var failures = 0
    var slow = 0

    static func += (left: inout CallCounts, right: CallCounts) {
        left.calls += right.calls
        left.failures += right.failures
        left.slow += right.slow
    }
}

extension CallCounts {
    /// Counts one call; nil if its outcome says nothing about the upstream's health.
    init?(_ outcome: Outcome, slowAfter slowCall: Duration) {
        switch outcome {
        case .success(let took): self.init(calls: 1, slow: took > slowCall ? 1 : 0)
        case .failure(_, let took): self.init(calls: 1, failures: 1, slow: took > slowCall ? 1 : 0)
        case .throttled, .neutral: return nil
        }
    }
}

/// The recent calls: a ring of buckets, each for one period.
struct CallWindow: Hashable, Sendable {
    private struct Bucket: Hashable, Sendable {
        /// The number of its period, counted from the origin.
        var number: Int128
        var counts = CallCounts()
    }

    private let bucketWidth: Duration
    private var ring: [Bucket?]
    /// The time of the first call, from which periods are counted.
    private var origin: Instant?

    init(bucketWidth: Duration, bucketCount: Int) {
        self.bucketWidth = bucketWidth
        ring = Array(repeating: nil, count: bucketCount)
    }

    /// Counts a call and returns the sum of the window. A bucket of another time is replaced, even of a future time, so
    /// a clock that jumps cannot block the window.
    mutating func add(_ call: CallCounts, at now: Instant) -> CallCounts {
        let number = number(at: now)
        let place = place(of: number)
        if ring[place]?.number != number { ring[place] = Bucket(number: number) }
        ring[place]?.counts += call
        return sum(upTo: number)
    }

    mutating func removeAll() { for place in ring.indices { ring[place] = nil } }

    private func sum(upTo last: Int128) -> CallCounts {
        let first = last - Int128(ring.count - 1)
        return ring.reduce(into: CallCounts()) { sum, bucket in
            if let bucket, (first...last).contains(bucket.number) { sum += bucket.counts }
        }
    }

    /// Returns the number of a period. It is truncated, so that the first period extends to both sides of the origin.
    /// Times before it occur only if the clock went back, and need not be exact.
    private mutating func number(at now: Instant) -> Int128 {
        let start = origin ?? now
        origin = start
        return start.duration(to: now).attoseconds / bucketWidth.attoseconds
    }

    private func place(of number: Int128) -> Int {
        Int(number.magnitude % UInt128(ring.count))
    }
}
