// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import Synchronization

/// How requests went.
struct LoadResult: Hashable, Sendable {
    private(set) var latencies = LatencyHistogram()
    /// Requests without an answer, or with another status than 200.
    private(set) var failures = 0

    mutating func record(_ outcome: LoadDriver.Outcome) {
        latencies.record(outcome.latency)
        guard case .success(let reply) = outcome.reply, reply.status == 200 else { return failures += 1 }
    }
}

/// A result that several threads add to.
final class SharedLoadResult: Sendable {
    private let state = Mutex(LoadResult())

    func record(_ outcome: LoadDriver.Outcome) {
        state.withLock { $0.record(outcome) }
    }

    var result: LoadResult { state.withLock(\.self) }
}
