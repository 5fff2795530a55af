// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import Telemetry

struct CatalogueTests {
    private static let good = MetricFamily("good_total", .counter, "Help.", labelNames: ["x"], labelSets: [["a"]])

    @Test(arguments: [
        (MetricFamily("", .gauge, "Help."), CatalogueError.Fault.nameMalformed),
        (MetricFamily("1a", .gauge, "Help."), .nameMalformed),
        (MetricFamily("a-b", .gauge, "Help."), .nameMalformed),
        (MetricFamily("aB", .gauge, "Help."), .nameMalformed),
        (MetricFamily("a{}", .gauge, "Help."), .nameMalformed),
        (MetricFamily("a", .counter, "Help."), .totalMisplaced),
        (MetricFamily("a_total", .gauge, "Help."), .totalMisplaced),
        (MetricFamily("a_total", .histogram(buckets: [1]), "Help."), .totalMisplaced),
        (MetricFamily("a", .gauge, ""), .helpMissing),
        (MetricFamily("a", .gauge, "Help.", labelNames: ["x y"], labelSets: [["1"]]), .labelNameMalformed),
        (MetricFamily("a", .gauge, "Help.", labelNames: [""], labelSets: [["1"]]), .labelNameMalformed),
        (MetricFamily("a", .gauge, "Help.", labelNames: ["le"], labelSets: [["1"]]), .labelNameReserved),
        (MetricFamily("a", .gauge, "Help.", labelNames: ["__x"], labelSets: [["1"]]), .labelNameReserved),
        (MetricFamily("a", .gauge, "Help.", labelNames: ["x", "x"], labelSets: [["1", "2"]]), .labelNameRepeated),
        (MetricFamily("a", .gauge, "Help.", labelNames: ["x"]), .labelSetIncomplete),
        (MetricFamily("a", .gauge, "Help.", labelNames: ["x"], labelSets: [["1", "2"]]), .labelSetIncomplete),
        (MetricFamily("a", .gauge, "Help.", labelNames: ["x"], labelSets: [["1"], ["1"]]), .labelSetRepeated),
        (MetricFamily("a", .gauge, "Help.", labelSets: []), .seriesCount),
        (
            MetricFamily(
                "a_total", .counter, "Help.", labelNames: ["x"], labelSets: [["1"]], presetLabelSets: [["2"]]),
            .presetUndeclared
        ),
        (
            MetricFamily("a", .gauge, "Help.", labelNames: ["x"], labelSets: [["1"]], presetLabelSets: []),
            .gaugeNotPreset
        ),
        (MetricFamily("a", .histogram(buckets: []), "Help."), .bucketsNotAscending),
        (MetricFamily("a", .histogram(buckets: [1, 1]), "Help."), .bucketsNotAscending),
        (MetricFamily("a", .histogram(buckets: [1, .infinity]), "Help."), .bucketsNotAscending),
        (MetricFamily("a", .histogram(buckets: [.nan]), "Help."), .bucketsNotAscending),
    ])
    func `a family that Prometheus would not read is rejected`(family: MetricFamily, fault: CatalogueError.Fault) {
        #expect(throws: CatalogueError(family: family.name, fault: fault)) {
            try PrometheusRegistry([Self.good, family])
        }
    }

    @Test(arguments: [["a", "a"], ["a", "a_sum"], ["a_bucket", "a"], ["a_count", "a"]])
    func `no two families have lines of one name`(names: [String]) {
        let families = names.map { name in
            MetricFamily(name, name == "a" ? .histogram(buckets: [1]) : .gauge, "Help.")
        }
        #expect(throws: CatalogueError(family: names[1], fault: .nameTaken)) { try PrometheusRegistry(families) }
    }

    @Test func `series are limited`() throws {
        func family(_ count: Int) -> MetricFamily {
            MetricFamily("a", .gauge, "Help.", labelNames: ["x"], labelSets: (0..<count).map { ["\($0)"] })
        }
        _ = try PrometheusRegistry([family(MetricFamily.Limits.series)])
        #expect(throws: CatalogueError(family: "a", fault: .seriesCount)) {
            try PrometheusRegistry([family(MetricFamily.Limits.series + 1)])
        }
    }

    @Test func `buckets are limited`() throws {
        func family(_ count: Int) -> MetricFamily {
            MetricFamily("a", .histogram(buckets: (0..<count).map(Double.init)), "Help.")
        }
        _ = try PrometheusRegistry([family(MetricFamily.Limits.buckets)])
        #expect(throws: CatalogueError(family: "a", fault: .tooManyBuckets)) {
            try PrometheusRegistry([family(MetricFamily.Limits.buckets + 1)])
        }
    }

    @Test func `only declared series can be read`() {
        let histogram = MetricFamily("timed_seconds", .histogram(buckets: [1]), "Help.")
        let catalogue = [Self.good, histogram]
        let strangers = [
            MetricReading(Self.good, ["b"]) { 1 }, MetricReading(histogram) { 1 },
            MetricReading(MetricFamily("stranger", .gauge, "Help.")) { 1 },
        ]
        for reading in strangers {
            #expect(throws: CatalogueError(family: reading.family.name, fault: .readingUndeclared)) {
                try PrometheusRegistry(catalogue, readings: [reading])
            }
        }
    }
}
