// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

public import CoreMetrics
internal import Synchronization

/// A value that goes up and down.
public final class PrometheusGauge: RecorderHandler, MeterHandler {
    private let current = Atomic<Double>(0)

    init() {}

    /// The current value.
    public var value: Double { current.load(ordering: .relaxed) }

    /// Sets the value.
    public func set(_ value: Double) {
        current.store(value, ordering: .relaxed)
    }

    /// Sets the value.
    public func set(_ value: Int64) { set(Double(value)) }

    /// Adds an amount.
    public func increment(by amount: Double) {
        current.add(amount)
    }

    /// Subtracts an amount.
    public func decrement(by amount: Double) {
        current.add(-amount)
    }

    /// Sets the value.
    public func record(_ value: Int64) { set(Double(value)) }

    /// Sets the value.
    public func record(_ value: Double) { set(value) }
}

extension Atomic<Double> {
    /// Adds without a lock: a thread that loses the race retries, and one always wins.
    func add(_ amount: Double) {
        var seen = load(ordering: .relaxed)
        while true {
            let (isDone, found) = weakCompareExchange(expected: seen, desired: seen + amount, ordering: .relaxed)
            if isDone { return }
            seen = found
        }
    }
}
