// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import ReceiptForge
import Testing

@testable import LoadTest

struct ReportTests {
    private static let report = VerifyReport(cases: [
        VerifyCase(
            evidence: .receipt, purchases: 3, bytes: 6163, threads: 2, chain: .warm, receiptsPerSecond: 73_106.4,
            floorPerSecond: 82_000.5, cmsVerifyPerSecond: 2780.1, chainWalkPerSecond: nil, ratioToFloor: 0.8921,
            ratioToCMSVerify: 26.3, ratioToChainWalk: nil, nanosecondsPerReceipt: 27_358,
            base64BytesPerSecond: 885_000_000, receiptsPerSecondLowest: 70_001, receiptsPerSecondHighest: 75_999.6,
            scaling: 1.97, floorScaling: 1.99, scalingToFloor: 0.99),
        VerifyCase(
            evidence: .receipt, purchases: 187, bytes: 82_920, threads: 4, chain: .cold, receiptsPerSecond: 10,
            floorPerSecond: 100, cmsVerifyPerSecond: 8, chainWalkPerSecond: nil, ratioToFloor: 0.1,
            ratioToCMSVerify: 1.25, ratioToChainWalk: nil, nanosecondsPerReceipt: 400_000_000,
            base64BytesPerSecond: 1_000_000, receiptsPerSecondLowest: 9, receiptsPerSecondHighest: 11, scaling: nil,
            floorScaling: nil, scalingToFloor: nil),
    ])

    private static let jwsReport = VerifyReport(cases: [
        VerifyCase(
            evidence: .jws, purchases: 1, bytes: 5300, threads: 2, chain: .warm, receiptsPerSecond: 30_000,
            floorPerSecond: 33_000, cmsVerifyPerSecond: nil, chainWalkPerSecond: 1100, ratioToFloor: 0.91,
            ratioToCMSVerify: nil, ratioToChainWalk: 27.3, nanosecondsPerReceipt: 66_667, base64BytesPerSecond: nil,
            receiptsPerSecondLowest: 29_000, receiptsPerSecondHighest: 31_000, scaling: 1.95, floorScaling: 1.98,
            scalingToFloor: 0.985)
    ])

    @Test func `the table of signed transactions shows what applies to them`() {
        let lines = Self.jwsReport.table.split(separator: "\n", maxSplits: 2)
        #expect(lines[0].contains("chain walk/s") && !lines[0].contains("CMS_verify") && !lines[0].contains("base64"))
        #expect(
            lines[1].split(separator: " ").map(String.init) == [
                "5,300", "2", "warm", "30,000", "66,667", "33,000", "1,100", "91.0", "%", "27.3", "1.95", "1.98",
                "0.985", "29,000..31,000",
            ])
    }

    @Test func `the table of notifications has the same columns, and its own legend`() {
        func lines(_ evidence: ForgedEvidenceKind) -> [Substring] {
            let report = VerifyReport(cases: [
                VerifyCase(
                    evidence: evidence, purchases: 1, bytes: 21_000, threads: 1, chain: .warm,
                    receiptsPerSecond: 4000, floorPerSecond: 4500, cmsVerifyPerSecond: nil, chainWalkPerSecond: 300,
                    ratioToFloor: 0.89, ratioToCMSVerify: nil, ratioToChainWalk: 13, nanosecondsPerReceipt: 250_000,
                    base64BytesPerSecond: nil, receiptsPerSecondLowest: 3900, receiptsPerSecondHighest: 4100,
                    scaling: 1, floorScaling: 1, scalingToFloor: 1)
            ])
            return report.table.split(separator: "\n")
        }
        #expect(lines(.notification).prefix(2) == lines(.jws).prefix(2))
        #expect(lines(.notification).contains { $0.contains("three signed texts") })
        #expect(!lines(.jws).contains { $0.contains("three signed texts") })
    }

    @Test func `figures that do not apply are null, and every row names its evidence`() throws {
        let text = try JSONOutput.compact(Self.jwsReport)
        for member in [
            #""evidence":"jws""#, #""cms_verify_per_second":null"#, #""ratio_to_cms_verify":null"#,
            #""base64_bytes_per_second":null"#, #""chain_walk_per_second":1100"#, #""ratio_to_chain_walk":27.3"#,
        ] {
            #expect(text.contains(member), "\(member)")
        }
        #expect(try JSONOutput.compact(Self.report).contains(#""chain_walk_per_second":null"#))
    }

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
        let object = try JSONDecoder().decode(Document.self, from: Data(JSONOutput.of(Self.report).utf8))
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
        let report = try plan.run { turns = $0 }
        let object = try JSONDecoder().decode(Document.self, from: Data(JSONOutput.of(report).utf8))
        #expect(turns == plan.turns)
        #expect(object.cases.map(\.purchases) == [1, 1, 1, 1, 9, 9, 9, 9])
        #expect(object.cases.map(\.threads) == [1, 1, 2, 2, 1, 1, 2, 2])
        #expect(object.cases.map(\.chain) == Array(repeating: ["warm", "cold"], count: 4).flatMap(\.self))
        #expect(object.cases.allSatisfy { $0.receipts_per_second > 0 && $0.floor_per_second > 0 })
        #expect(object.cases.allSatisfy { $0.cms_verify_per_second > 0 && $0.base64_bytes_per_second > 0 })
    }

    @Test(arguments: [ForgedEvidenceKind.jws, .transactionReceipt, .notification])
    func `a tiny run of other evidence measures every case`(_ evidence: ForgedEvidenceKind) throws {
        let plan = VerifyPlan(
            evidence: evidence, purchases: [1], threads: [1, 2], duration: .milliseconds(9), receipts: 2)
        let cases = try plan.run().cases
        #expect(cases.map(\.threads) == [1, 1, 2, 2] && cases.map(\.chain) == [.warm, .cold, .warm, .cold])
        #expect(cases.allSatisfy { $0.evidence == evidence && $0.receiptsPerSecond > 0 && $0.floorPerSecond > 0 })
        #expect(cases.allSatisfy { ($0.chainWalkPerSecond ?? 0 > 0) == evidence.isJWS })
        #expect(cases.allSatisfy { $0.cmsVerifyPerSecond == nil && $0.floorScaling != nil })
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
