// SPDX-License-Identifier: Apache-2.0

import AppleSimulator
import Foundation
import Testing
import TestSupport

/// Secrets and receipts in logs and metrics.
@Suite(.timeLimit(.patient)) struct SecretTests {
    private static let applesSecret = "a991e5a991e5a991e5a991e5a991e5a9"

    @Test func `a secret that Apple rejects is logged as a warning, and neither it nor a receipt is shown`()
        async throws
    {
        let settings = ["GATEWAY_LOG_LEVEL": "trace", "GATEWAY_LOG_REQUESTS": "all"]
        try await withStage("shared_secret: \(Self.applesSecret)", settings) { stage in
            let receipt = Sample.receipt(0), forged = Sample.forged(0)
            let auto = try await stage.verify(receipt)
            #expect(auto.isLabelled("shared_secret_rejected"), "\(auto)")
            let apple = try await stage.verify(receipt, mode: "apple")
            #expect(apple.verdict == "undecided" && apple.degradedReasons == ["shared_secret_rejected"], "\(apple)")
            #expect(try await stage.verify(forged).verdict == "rejected")
            #expect(stage.apple.statsDetails.outcomes["production"] == ["status_21004": 2])
            // Faults of Apple are logged, too.
            try stage.play("faults: [{fault: truncated}]")
            #expect(try await stage.verify(receipt).isLabelled("upstream_unusable_answer"))
            let metrics = try await Scrape(stage.gateway).text
            #expect(await stage.gateway.stop() == 0)
            try await eventually("the log is complete") { stage.gateway.transcript.isComplete }
            let lines = stage.gateway.transcript.lines
            #expect(lines.filter { $0.contains(#""level":"warning""#) && $0.contains("21004") }.count == 2, "\(lines)")
            Self.expectNothing(of: [receipt, forged], in: lines.joined(separator: "\n") + metrics)
        }
    }

    private static func expectNothing(of receipts: [String], in output: String) {
        for word in [Sample.secret, applesSecret, Sample.bundleID, Sample.transactionID(0)] {
            #expect(!output.contains(word), "\(word)")
        }
        for receipt in receipts {
            // Any 31 consecutive characters of it contain one of these.
            let pieces = stride(from: 0, to: receipt.count - 16, by: 16).map { receipt.dropFirst($0).prefix(16) }
            #expect(pieces.count > 100 && pieces.allSatisfy { !output.contains($0) })
        }
    }
}
