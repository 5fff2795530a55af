// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

public import CoreMetrics
internal import Synchronization

/// Holds a value that goes up and down.
public final class PrometheusGauge: RecorderHandler, MeterHandler {
    private let current = Atomic<Double>(0)

    /// A gauge at 0.
    init() {}

    /// The value now.
    public var value: Double { current.load(ordering: .relaxed) }

    /// Holds another value from now on.
    public func set(_ value: Double) {
        current.store(value, ordering: .relaxed)
    }

    /// Holds another value from now on.
    public func set(_ value: Int64) { set(Double(value)) }

    /// Goes up by so much.
    public func increment(by amount: Double) {
        current.add(amount)
    }

    /// Goes down by so much.
    public func decrement(by amount: Double) {
        current.add(-amount)
    }

    /// Holds another value from now on.
    public func record(_ value: Int64) { set(Double(value)) }

    /// Holds another value from now on.
    public func record(_ value: Double) { set(value) }
}

extension Atomic<Double> {
    /// Adds without a lock: whoever loses a race tries again, and somebody always wins.
    func add(_ amount: Double) {
        var seen = load(ordering: .relaxed)
        while true {
            let (isDone, found) = weakCompareExchange(expected: seen, desired: seen + amount, ordering: .relaxed)
            if isDone { return }
            seen = found
        }
    }
}
