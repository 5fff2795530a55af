// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Testing

@testable import LoadTest

struct ReportTests {
    private static let report = VerifyReport(cases: [
        VerifyCase(
            purchases: 3, bytes: 6163, threads: 2, chain: .warm, receiptsPerSecond: 73_106.4, floorPerSecond: 82_000.5,
            cmsVerifyPerSecond: 2780.1, ratioToFloor: 0.8921, ratioToCMSVerify: 26.3, nanosecondsPerReceipt: 27_358,
            base64BytesPerSecond: 885_000_000, receiptsPerSecondLowest: 70_001, receiptsPerSecondHighest: 75_999.6,
            scaling: 1.97),
        VerifyCase(
            purchases: 187, bytes: 82_920, threads: 4, chain: .cold, receiptsPerSecond: 10, floorPerSecond: 100,
            cmsVerifyPerSecond: 8, ratioToFloor: 0.1, ratioToCMSVerify: 1.25, nanosecondsPerReceipt: 400_000_000,
            base64BytesPerSecond: 1_000_000, receiptsPerSecondLowest: 9, receiptsPerSecondHighest: 11, scaling: nil),
    ])

    @Test func `the table has a line for each case`() {
        let lines = Self.report.table.split(separator: "\n", maxSplits: 3)
        let columns = lines.prefix(3).map { $0.split(separator: " ").map(String.init) }
        #expect(columns[0].prefix(5) == ["purchases", "bytes", "threads", "chain", "receipts/s"])
        #expect(
            columns[1] == [
                "3", "6,163", "2", "warm", "73,106", "27,358", "82,001", "2,780", "89.2", "%", "26.3", "1.97",
                "70,001..76,000", "885",
            ])
        #expect(
            columns[2] == [
                "187", "82,920", "4", "cold", "10", "400,000,000", "100", "8", "10.0", "%", "1.3", "-", "9..11", "1",
            ])
        #expect(Set(lines.prefix(3).map(\.count)).count == 1)
    }

    @Test func `JSON has the keys that programs rely on`() throws {
        let object = try JSONDecoder().decode(Document.self, from: Data(JSONText.of(Self.report).utf8))
        let first = try #require(object.cases.first)
        #expect(first.purchases == 3 && first.bytes == 6163 && first.threads == 2 && first.chain == "warm")
        #expect(first.receipts_per_second == 73_106.4 && first.floor_per_second == 82_000.5)
        #expect(first.cms_verify_per_second == 2780.1)
        #expect(first.ratio_to_floor == 0.8921 && first.ratio_to_cms_verify == 26.3)
        #expect(first.nanoseconds_per_receipt == 27_358 && first.base64_bytes_per_second == 885_000_000)
        #expect(first.scaling == 1.97 && object.cases.last?.scaling == nil)
    }

    @Test func `a tiny run measures every case`() throws {
        let plan = VerifyPlan(
            purchases: [1, 9], threads: [1, 2], duration: .milliseconds(9), receipts: 2, seed: 1)
        var turns = 0
        let report = try VerifyBenchmark(plan: plan).run { turns = $0 }
        let object = try JSONDecoder().decode(Document.self, from: Data(JSONText.of(report).utf8))
        #expect(turns == plan.turns)
        #expect(object.cases.map(\.purchases) == [1, 1, 1, 1, 9, 9, 9, 9])
        #expect(object.cases.map(\.threads) == [1, 1, 2, 2, 1, 1, 2, 2])
        #expect(object.cases.map(\.chain) == Array(repeating: ["warm", "cold"], count: 4).flatMap(\.self))
        #expect(object.cases.allSatisfy { $0.receipts_per_second > 0 && $0.floor_per_second > 0 })
        #expect(object.cases.allSatisfy { $0.cms_verify_per_second > 0 && $0.base64_bytes_per_second > 0 })
    }

    /// The members of `verify --format json`.
    private struct Document: Decodable {
        struct Case: Decodable {
            let purchases, bytes, threads: Int
            let chain: String
            let receipts_per_second, floor_per_second, cms_verify_per_second: Double
            let ratio_to_floor, ratio_to_cms_verify: Double
            let nanoseconds_per_receipt, base64_bytes_per_second: Double
            let scaling: Double?
        }

        let cases: [Case]
    }
}
