// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// One family of metrics, declared before anything is counted: what it means, and every series it will ever have.
public struct MetricFamily: Hashable, Sendable {
    /// What the values of a family are.
    public enum Kind: Hashable, Sendable {
        /// A count that only grows.
        case counter
        /// A value that goes up and down.
        case gauge
        /// Counts of values up to each of these bounds, ascending, without the infinite one.
        case histogram(buckets: [Double])
    }

    /// The name, with the unit as its last word: `http_request_duration_seconds`, `requests_total`.
    public let name: String
    /// What its values are.
    public let kind: Kind
    /// One sentence for whoever reads the metric.
    public let help: String
    /// The names of its labels.
    public let labelNames: [String]
    /// The values of the labels, in the order of their names: one array for each series. A family without labels has
    /// one series, `[]`.
    public let labelSets: [[String]]

    /// A family with these series.
    public init(
        _ name: String, _ kind: Kind, _ help: String, labelNames: [String] = [], labelSets: [[String]] = [[]]
    ) {
        self.name = name
        self.kind = kind
        self.help = help
        self.labelNames = labelNames
        self.labelSets = labelSets
    }
}

extension MetricFamily {
    /// What a family may have.
    public enum Limits {
        /// Series of one family: each costs every scrape a line, a histogram's a line for each bucket.
        public static let series = 4096
        /// Bounds of a histogram.
        public static let buckets = 64
    }
}
