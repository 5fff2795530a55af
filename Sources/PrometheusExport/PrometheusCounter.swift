// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

public import CoreMetrics
internal import Synchronization

/// A counter. An increment is one relaxed atomic addition.
public final class PrometheusCounter: CounterHandler {
    private let count = Atomic<UInt64>(0)

    init() {}

    /// The current count.
    public var value: UInt64 { count.load(ordering: .relaxed) }

    /// Adds one.
    public func increment() {
        count.wrappingAdd(1, ordering: .relaxed)
    }

    /// Adds an amount; negative amounts are ignored, because a counter only increases.
    public func increment(by amount: Int64) {
        guard amount > 0 else { return }
        count.wrappingAdd(UInt64(amount), ordering: .relaxed)
    }

    /// Restarts at 0, as after a restart of the process.
    public func reset() {
        count.store(0, ordering: .relaxed)
    }
}
