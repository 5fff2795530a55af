// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// A series whose value is stored elsewhere and read at each scrape.
public struct MetricReading: Sendable {
    let family: MetricFamily
    let labelValues: [String]
    let value: @Sendable () -> Double

    /// Declares a reading for a series of a counter or gauge. The value of a counter must only increase.
    public init(
        _ family: MetricFamily, _ labelValues: [String] = [], value: @escaping @Sendable () -> Double
    ) {
        self.family = family
        self.labelValues = labelValues
        self.value = value
    }
}
