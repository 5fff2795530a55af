// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// A series whose value somebody else keeps: it is read at each scrape.
public struct MetricReading: Sendable {
    let family: MetricFamily
    let labelValues: [String]
    let value: @Sendable () -> Double

    /// Reads the series of a counter or gauge with these labels. The value of a counter must only grow.
    public init(
        _ family: MetricFamily, _ labelValues: [String] = [], value: @escaping @Sendable () -> Double
    ) {
        self.family = family
        self.labelValues = labelValues
        self.value = value
    }
}
