// SPDX-License-Identifier: Apache-2.0

import Synchronization
import Testing

@testable import Telemetry

/// Families whose series are listed at each scrape.
struct SeriesReadingTests {
    private static let family = MetricFamily(readAtScrape: "paused", "Paused.", labelNames: ["key", "app"])

    /// Returns the lines of the family.
    private static func lines(of registry: PrometheusRegistry) -> [Substring] {
        registry.text().split(separator: "\n").filter { $0.hasPrefix("paused") }
    }

    @Test func `the series follow what is read, sorted and escaped`() throws {
        let values = Mutex<[[String]: Double]>([:])
        let reading = SeriesReading(Self.family) { values.withLock(\.self) }
        let registry = try PrometheusRegistry([Self.family], series: [reading])
        #expect(registry.text().contains("# HELP paused Paused.\n# TYPE paused gauge\n"))
        #expect(Self.lines(of: registry) == [])
        values.withLock { $0 = [["b", "y"]: 1, ["a", "z\"\n"]: 0.5, ["a", "x"]: 1] }
        #expect(
            Self.lines(of: registry) == [
                #"paused{key="a",app="x"} 1"#, #"paused{key="a",app="z\"\n"} 0.5"#, #"paused{key="b",app="y"} 1"#,
            ])
        values.withLock { $0 = [:] }
        #expect(Self.lines(of: registry) == [])
    }

    @Test(arguments: [(MetricFamily.Limits.readSeries, 1000), (MetricFamily.Limits.readSeries + 1, 1000)])
    func `the number of series is limited`(_ number: Int, _ expected: Int) throws {
        let reading = SeriesReading(Self.family) {
            Dictionary(uniqueKeysWithValues: (0..<number).map { (["k", "app\($0)"], 1) })
        }
        let registry = try PrometheusRegistry([Self.family], series: [reading])
        #expect(Self.lines(of: registry).count == expected)
    }

    @Test func `values with another number of labels are left out`() throws {
        let reading = SeriesReading(Self.family) { [["a"]: 1, ["a", "b", "c"]: 1, ["a", "b"]: 1] }
        let registry = try PrometheusRegistry([Self.family], series: [reading])
        #expect(Self.lines(of: registry) == [#"paused{key="a",app="b"} 1"#])
    }

    @Test func `only a family that is read at a scrape has a reading of its series`() {
        let declared = MetricFamily("paused", .gauge, "Paused.", labelNames: ["key", "app"], labelSets: [["a", "b"]])
        let fault = CatalogueError(family: "paused", fault: .readingUndeclared)
        #expect(throws: fault) { try PrometheusRegistry([declared], series: [SeriesReading(declared) { [:] }]) }
        #expect(throws: fault) { try PrometheusRegistry([], series: [SeriesReading(Self.family) { [:] }]) }
        #expect(throws: fault) {
            try PrometheusRegistry([Self.family], readings: [MetricReading(Self.family, ["a", "b"]) { 1 }])
        }
    }

    @Test func `a handle of such a family is not exported`() throws {
        let registry = try PrometheusRegistry([Self.family])
        registry.gauge(Self.family, ["a", "b"]).set(1.0)
        #expect(Self.lines(of: registry) == [])
        #expect(registry.text().contains("prometheus_export_undeclared_total 1\n"))
    }
}
