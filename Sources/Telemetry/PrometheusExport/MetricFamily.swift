// SPDX-License-Identifier: Apache-2.0

/// A family of metrics, declared up front with its meaning and all of its series.
package struct MetricFamily: Hashable, Sendable {
    package enum Kind: Hashable, Sendable {
        case counter
        case gauge
        /// Counts of values up to each bound; the bounds ascend, without infinity.
        case histogram(buckets: [Double])
    }

    /// The name, with the unit last: `http_request_duration_seconds`, `requests_total`.
    package let name: String
    package let kind: Kind
    package let help: String
    package let labelNames: [String]
    /// The label values of each series, in the order of the label names. A family without labels has one series, `[]`.
    package let labelSets: [[String]]
    /// The series that are exported from the start, at 0; nil for all. The other series are exported once they are no
    /// longer 0. A rule sees the first event of a series only if the series was exported before.
    let presetLabelSets: Set<[String]>?
    /// True if a `SeriesReading` lists the series at each scrape, because their label values are not known before.
    package let isReadAtScrape: Bool

    package init(
        _ name: String, _ kind: Kind, _ help: String, labelNames: [String] = [], labelSets: [[String]] = [[]],
        presetLabelSets: [[String]]? = nil
    ) {
        (self.name, self.kind, self.help) = (name, kind, help)
        (self.labelNames, self.labelSets) = (labelNames, labelSets)
        self.presetLabelSets = presetLabelSets.map { Set($0) }
        isReadAtScrape = false
    }

    /// Declares a gauge, or a counter, whose series are read at each scrape.
    package init(readAtScrape name: String, _ help: String, labelNames: [String], kind: Kind = .gauge) {
        (self.name, self.kind, self.help, self.labelNames) = (name, kind, help, labelNames)
        (labelSets, presetLabelSets, isReadAtScrape) = ([], nil, true)
    }

    package func isPreset(_ labelValues: [String]) -> Bool { presetLabelSets?.contains(labelValues) ?? true }

    enum Limits {
        /// Series of one family: each adds a line to every scrape, or a line per bucket for a histogram.
        static let series = 4096
        static let readSeries = 1000
        static let buckets = 64
    }

    func check() throws(CatalogueError) {
        try require(name.isMetricName, else: .nameMalformed)
        try require(name.hasSuffix("_total") == (kind == .counter), else: .totalMisplaced)
        try require(!help.isEmpty, else: .helpMissing)
        try checkLabels()
        if case .histogram(let bounds) = kind { try check(bounds) }
    }

    private func checkLabels() throws(CatalogueError) {
        try require(labelNames.allSatisfy(\.isMetricName), else: .labelNameMalformed)
        try require(labelNames.allSatisfy { $0 != "le" && !$0.hasPrefix("__") }, else: .labelNameReserved)
        try require(Set(labelNames).count == labelNames.count, else: .labelNameRepeated)
        try require(isReadAtScrape || (1...Limits.series).contains(labelSets.count), else: .seriesCount)
        try require(labelSets.allSatisfy { $0.count == labelNames.count }, else: .labelSetIncomplete)
        try require(Set(labelSets).count == labelSets.count, else: .labelSetRepeated)
        try require(presetLabelSets?.isSubset(of: labelSets) ?? true, else: .presetUndeclared)
        try require(presetLabelSets == nil || kind != .gauge, else: .gaugeNotPreset)
    }

    private func check(_ bounds: [Double]) throws(CatalogueError) {
        try require(bounds.count <= Limits.buckets, else: .tooManyBuckets)
        let ascends = zip(bounds, bounds.dropFirst()).allSatisfy { $0 < $1 }
        try require(!bounds.isEmpty && ascends && bounds.allSatisfy(\.isFinite), else: .bucketsNotAscending)
    }

    var reservedNames: [String] {
        if case .histogram = kind { ["", "_bucket", "_sum", "_count"].map { name + $0 } } else { [name] }
    }

    func require(_ isAsItShouldBe: Bool, else fault: CatalogueError.Fault) throws(CatalogueError) {
        guard isAsItShouldBe else { throw CatalogueError(family: name, fault: fault) }
    }
}

/// The reason why a list of families cannot be exported.
package struct CatalogueError: Error, Hashable, Sendable {
    let family: String
    let fault: Fault

    /// A rule of the Prometheus data model and naming practices.
    enum Fault: Hashable, Sendable {
        /// The name has other characters than lower-case letters, digits and underscores, or begins with a digit.
        case nameMalformed
        /// Another family has lines of that name.
        case nameTaken
        case totalMisplaced
        case helpMissing
        case labelNameMalformed
        /// `le` and names with two leading underscores are reserved by Prometheus.
        case labelNameReserved
        case labelNameRepeated
        /// A label set does not have exactly one value per label.
        case labelSetIncomplete
        case labelSetRepeated
        case bucketsNotAscending
        /// A series is preset, and not declared.
        case presetUndeclared
        /// Not all series of a gauge are preset: 0 is a value of its own.
        case gaugeNotPreset
        /// The family has no series, or more than `MetricFamily.Limits.series`.
        case seriesCount
        case tooManyBuckets
        /// A reading names an undeclared series, a histogram, or a family of the other kind.
        case readingUndeclared
    }
}

extension String {
    fileprivate var isMetricName: Bool {
        guard let first = utf8.first, !(UInt8(ascii: "0")...UInt8(ascii: "9")).contains(first) else { return false }
        return utf8.allSatisfy(\.isMetricNameByte)
    }
}

extension UInt8 {
    var isMetricNameByte: Bool {
        switch self {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"): true
        default: false
        }
    }
}
