// SPDX-License-Identifier: Apache-2.0

import AppleSimulator
import Testing
import TestSupport

/// Late answers from Apple.
@Suite(.timeLimit(.patient)) struct SlownessTests {
    @Test func `no client waits beyond the soft timeout, and the late answer is cached for the next`()
        async throws
    {
        // It passes: the soft timeout.
        let settings = ["GATEWAY_APPLE_SOFT_TIMEOUT": "200ms", "GATEWAY_APPLE_DEADLINE": Patience.operationSetting]
        try await withStage("faults: [{latency: 20}]", settings) { stage in
            // After the full deadline the label would be `upstream_timeout`.
            let verdict = try await stage.verify(Sample.receipt(0))
            #expect(verdict.isLabelled("upstream_slow"), "\(verdict)")
            try stage.play("faults: [{latency: 10}]")
            let second = try await stage.verify(Sample.receipt(1))
            #expect(second.isLabelled("upstream_slow"), "\(second)")
            try await eventually("the late answer is found") {
                let verdict = try await stage.verify(Sample.receipt(1))
                #expect(verdict.isApples || verdict.isLabelled("upstream_slow"), "\(verdict)")
                return verdict.isApples && verdict.cache == "shared"
            }
            #expect(stage.apple.stats.production == 2)
        }
    }
}
