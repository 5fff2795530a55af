// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// A family of metrics, declared up front with its meaning and all of its series.
public struct MetricFamily: Hashable, Sendable {
    /// The type of a family's values.
    public enum Kind: Hashable, Sendable {
        /// A count that only increases.
        case counter
        /// A value that goes up and down.
        case gauge
        /// Counts of values up to each bound; the bounds ascend, without the infinite one.
        case histogram(buckets: [Double])
    }

    /// The name, with the unit last: `http_request_duration_seconds`, `requests_total`.
    public let name: String
    /// The type.
    public let kind: Kind
    /// The help text: one sentence.
    public let help: String
    /// The names of its labels.
    public let labelNames: [String]
    /// The label values of each series, in the order of the label names. A family without labels has one series, `[]`.
    public let labelSets: [[String]]

    /// Declares a family.
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
    /// The bounds of a family.
    public enum Limits {
        /// Series of one family: each adds a line to every scrape, or one per bucket for a histogram.
        public static let series = 4096
        /// Bounds of a histogram.
        public static let buckets = 64
    }
}
