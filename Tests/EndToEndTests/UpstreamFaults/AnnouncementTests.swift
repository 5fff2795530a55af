// SPDX-License-Identifier: Apache-2.0

import Testing
import TestSupport

/// Apple's announcements of the end of `verifyReceipt`, and the operator's metrics.
@Suite(.timeLimit(.patient)) struct AnnouncementTests {
    private var stage: Stage { .current }
    private static let (deprecated, ends) = (1_688_169_599.0, 2_366_841_599.0)

    @Test(arguments: [
        #"Sunset: "Sat, 31 Dec 2044 23:59:59 GMT", Deprecation: "@1688169599""#,
        #"sunset: "Saturday, 31-Dec-44 23:59:59 GMT", DEPRECATION: "Fri, 30 Jun 2023 23:59:59 GMT""#,
        #"SUNSET: "Sat Dec 31 23:59:59 2044", deprecation: "@1688169599;why=\"old\"""#,
        #"Sunset: ["soon", "Sun, 31 Dec 2045 23:59:59 GMT", "Sat, 31 Dec 2044 23:59:59 GMT"], Deprecation: ["@1688169599", "true"]"#,
        #"Sunset: "Sat, 31 Dec 2044 23:59:59 GMT", Deprecation: "@1688169599", Link: ["<https://a.example/>; rel=sunset", ";;<"]"#,
    ])
    func `the dates that Apple announces are in the metrics, in every spelling`(headers: String) async throws {
        try await withStage("faults: [{endpoint: production, headers: {\(headers)}}]") { stage in
            let before = try await Self.dates(stage)
            #expect(before == [0, 0])
            #expect(try await stage.verify(Sample.receipt(0)).isApples)
            #expect(try await Self.dates(stage) == [Self.deprecated, Self.ends])
            #expect(try await Self.dates(stage, "sandbox") == [0, 0])
        }
    }

    @Test(.stage(#"faults: [{headers: {Deprecation: "true"}}]"#))
    func `an endpoint deprecated without a date counts as deprecated`() async throws {
        #expect(try await stage.verify(Sample.receipt(0)).isApples)
        let date = try await Self.dates(stage)[0]
        #expect(date > 0 && date < Self.deprecated)
    }

    @Test func `an announcement in a failed answer counts, and an unreadable one is logged`() async throws {
        let headers = #"{Sunset: "Sat, 31 Dec 2044 23:59:59 GMT", Deprecation: "@-x"}"#
        try await withStage("faults: [{fault: {http_status: 410}, headers: \(headers)}]") { stage in
            #expect(try await stage.verify(Sample.receipt(0)).isLabelled)
            #expect(try await Self.dates(stage) == [0, Self.ends])
            try stage.play("faults: [{headers: \(headers)}]")
            #expect(try await stage.verify(Sample.receipt(1)).isApples)
            try await eventually("it is logged") {
                stage.gateway.transcript.lines.contains { $0.contains("Cannot parse a header of Apple's response") }
            }
        }
    }

    private static func dates(_ stage: Stage, _ environment: String = "production") async throws -> [Double] {
        let scrape = try await Scrape(stage.gateway)
        return try ["deprecation", "sunset"].map { name in
            try #require(
                scrape[#"upstream_\#(name)_timestamp_seconds{api="verify_receipt",environment="\#(environment)"}"#])
        }
    }
}
