// SPDX-License-Identifier: Apache-2.0

import AppleSimulator
import Foundation
import NIOCore
import Testing
import TestSupport

/// Memory of requests whose clients have gone, while Apple is slow.
@Suite(.serialized, .timeLimit(.patient)) struct HeldMemoryTests {
    private var stage: Stage { .current }
    private static let reserved = "http_bodies_in_flight_bytes"
    private static let settings = [
        "GATEWAY_APPLE_SOFT_TIMEOUT": "20s", "GATEWAY_APPLE_DEADLINE": "20s", "GATEWAY_APPLE_BREAKER": "forced_closed",
        "GATEWAY_HTTP_LIMITS_BODIES_IN_FLIGHT": "64MiB",
    ]
    private static let limit = 64 << 20
    /// Together far beyond the limit and the allowance.
    private static let requests = 16
    private static let bodyBytes = 11 << 20
    /// More than a sample, its parsed form and a call to Apple take together.
    private static let receiptBytes = 32 << 10
    /// In addition to `bodies_in_flight`: the process itself, and the current verifications.
    private static let allowance = 64 << 20

    @Test(.stage("faults: [{latency: 60}]", settings))
    func `large bodies that are reset while Apple is slow stay within their limit`() async throws {
        let before = try stage.gateway.memory("VmRSS")
        for number in 0..<Self.requests {
            let leaver = try await Caller(
                asking: stage.gateway, about: Sample.receipt(number), paddedTo: Self.bodyBytes)
            // Each body is complete before its client leaves.
            try await eventually("it waits for Apple") {
                try await stage.metric(#"cache_lookups_total{result="miss"}"#) == Double(number + 1)
            }
            try await leaver.hangUp()
        }
        // Each waiting request holds a small receipt: the white space around it is gone.
        #expect(try await stage.metric(Self.reserved) < Double(Self.requests * Self.receiptBytes))
        #expect(try stage.gateway.memory("VmHWM") - before <= Self.limit + Self.allowance)
        #expect(try stage.gateway.memory("VmRSS") - before <= Self.allowance)
    }

    @Test(.stage("faults: [{latency: 60}]", settings))
    func `large bodies at the same time stay within their limit, and those beyond it are refused`() async throws {
        let before = try stage.gateway.memory("VmRSS")
        // No body is complete before every other is almost sent, or refused.
        let callers = await withTaskGroup { group in
            for number in 0..<(2 * Self.requests) {
                group.addTask {
                    // A refused request's connection may be closed before all of it is sent.
                    try? await Caller(
                        asking: stage.gateway, about: Sample.receipt(number), paddedTo: Self.bodyBytes, without: 1)
                }
            }
            return await group.reduce(into: [Caller]()) { callers, caller in caller.map { callers.append($0) } }
        }
        #expect(try await stage.metric(#"http_refusals_total{cause="overloaded"}"#) > 0)
        for caller in callers { try? await caller.hangUp() }
        #expect(try stage.gateway.memory("VmHWM") - before <= Self.limit + Self.allowance)
        try await eventually("the connections are closed") {
            try await stage.metric("http_connections") == 0
        }
        #expect(try await stage.metric(Self.reserved) < Double(2 * Self.requests * Self.receiptBytes))
    }

    @Test(.stage("faults: [{latency: 15}]", settings))
    func `a large receipt is held once, and its memory is released after Apple's answer`()
        async throws
    {
        let receipt = Sample.largeReceipt(purchases: 600)
        let leaver = try await Caller(asking: stage.gateway, about: receipt)
        try await eventually("Apple is asked") { stage.apple.statsDetails.inFlight == 1 }
        try await leaver.hangUp()
        try await eventually("the gateway sees it") { try await stage.metric("http_connections") == 0 }
        // The request goes on without its client: its bytes are still counted.
        #expect(try await stage.metric(Self.reserved) > Double(receipt.utf8.count) / 2)
        try await eventually("Apple has answered") { try await stage.metric(Self.reserved) == 0 }
    }
}
