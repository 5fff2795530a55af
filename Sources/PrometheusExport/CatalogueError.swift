// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// Why a list of families cannot be exported.
public struct CatalogueError: Error, Hashable, Sendable {
    /// The name of the family at fault.
    public let family: String
    /// What is wrong with it.
    public let fault: Fault

    /// What can be wrong with a family. The rules are those of the Prometheus data model and naming practices.
    public enum Fault: Hashable, Sendable {
        /// The name is not of lower-case letters, digits and underscores, or begins with a digit.
        case nameMalformed
        /// Another family writes lines of that name.
        case nameTaken
        /// A counter's name ends in `_total`, and no other name does.
        case totalMisplaced
        /// There is no help.
        case helpMissing
        /// A label's name is not of lower-case letters, digits and underscores, or begins with a digit.
        case labelNameMalformed
        /// `le` and names that begin with two underscores mean something to Prometheus.
        case labelNameReserved
        /// Two labels have the same name.
        case labelNameRepeated
        /// A label set has not exactly one value for each label.
        case labelSetIncomplete
        /// Two series have the same labels.
        case labelSetRepeated
        /// A histogram has no buckets, or they do not ascend, or one of them is not finite.
        case bucketsNotAscending
        /// There are more series than `MetricFamily.Limits.series`, or none.
        case seriesCount
        /// There are more buckets than `MetricFamily.Limits.buckets`.
        case tooManyBuckets
        /// A value is read for a series that is not declared, or for a histogram.
        case readingUndeclared
    }
}

extension MetricFamily {
    /// Checks the family by itself.
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
        try require((1...Limits.series).contains(labelSets.count), else: .seriesCount)
        try require(labelSets.allSatisfy { $0.count == labelNames.count }, else: .labelSetIncomplete)
        try require(Set(labelSets).count == labelSets.count, else: .labelSetRepeated)
    }

    private func check(_ bounds: [Double]) throws(CatalogueError) {
        try require(bounds.count <= Limits.buckets, else: .tooManyBuckets)
        let ascends = zip(bounds, bounds.dropFirst()).allSatisfy { $0 < $1 }
        try require(!bounds.isEmpty && ascends && bounds.allSatisfy(\.isFinite), else: .bucketsNotAscending)
    }

    /// The names no other family may use: its own, and those at the beginning of a histogram's lines.
    var reservedNames: [String] {
        if case .histogram = kind { ["", "_bucket", "_sum", "_count"].map { name + $0 } } else { [name] }
    }

    /// Throws the fault unless the family is as it should be.
    func require(_ isAsItShouldBe: Bool, else fault: CatalogueError.Fault) throws(CatalogueError) {
        guard isAsItShouldBe else { throw CatalogueError(family: name, fault: fault) }
    }
}

extension String {
    fileprivate var isMetricName: Bool {
        guard let first = utf8.first, !(UInt8(ascii: "0")...UInt8(ascii: "9")).contains(first) else { return false }
        return utf8.allSatisfy(\.isMetricNameByte)
    }
}

extension UInt8 {
    /// A lower-case letter, a digit or an underscore.
    var isMetricNameByte: Bool {
        switch self {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"): true
        default: false
        }
    }
}
