// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

public import CoreMetrics
internal import Synchronization

/// Counts. An increment is one relaxed atomic addition.
public final class PrometheusCounter: CounterHandler {
    private let count = Atomic<UInt64>(0)

    /// A counter at 0.
    init() {}

    /// What was counted so far.
    public var value: UInt64 { count.load(ordering: .relaxed) }

    /// Counts one more.
    public func increment() {
        count.wrappingAdd(1, ordering: .relaxed)
    }

    /// Counts so many more; fewer than none are ignored, because a counter only grows.
    public func increment(by amount: Int64) {
        guard amount > 0 else { return }
        count.wrappingAdd(UInt64(amount), ordering: .relaxed)
    }

    /// Begins at 0 again, as after a restart.
    public func reset() {
        count.store(0, ordering: .relaxed)
    }
}
