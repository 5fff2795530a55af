// SPDX-License-Identifier: Apache-2.0

import Customers
import Gateway
import Testing

@testable import RedisStore
@testable import Server
@testable import Settings

/// The doctor's checks of deferred verifications and ownership.
@Suite("Deferred verifications in the doctor's report")
struct VerificationsCheckTests {
    private static func checks(
        ofClient settings: String, in store: StoreFinding = .notConfigured,
        _ change: (inout GatewayConfiguration) -> Void = { _ in }
    ) throws -> [CheckResult] {
        let yaml = "clients:\n  - {name: shop, apps: [com.example.shop], keys: []\(settings)}\n"
        return try CheckedArea(.verifications, clients: yaml, change).results { $0.checkVerifications(store) }
    }

    @Test func `the limits are shown`() throws {
        let checks = try Self.checks(ofClient: "")
        #expect(checks.map(\.subject) == ["deferred", "ownership"] && checks.allSatisfy { $0.level == .ok })
        #expect(
            checks[0].seen == "each waits up to 3d; a client has 1000 at most, of 64MiB; all together 1GiB",
            "\(checks)")
        #expect(checks[1].seen.contains("beyond 3 accounts within 30d"), "\(checks)")
    }

    @Test(arguments: ["undecided", "degraded"])
    func `a client that defers without Redis is a warning`(policy: String) throws {
        let lost = try #require(Self.checks(ofClient: ", defer: \(policy)")["durability"])
        #expect(
            lost.level == .warning && lost.seen.contains("shop") && lost.advice?.contains("gateway.redis.url") == true)
        let kept = try Self.checks(ofClient: ", defer: \(policy)", in: .kept(isPersistent: true))
        #expect(kept.allSatisfy { $0.level == .ok })
        let refused = try Self.checks(
            ofClient: ", defer: \(policy)", in: .fault(.failed, seen: "Redis is full", advice: "Raise it."))
        let store = try #require(refused.first { $0.level != .ok })
        #expect(store.subject == "store" && store.level == .failed && store.advice == "Raise it.", "\(store)")
        #expect(store.seen.hasPrefix("nothing is deferred") && store.seen.hasSuffix(": Redis is full"), "\(store)")
    }

    @Test func `a client that rejects without Redis is a warning, one that reports is none`() throws {
        let lost = try #require(Self.checks(ofClient: ", ownership: reject")["bindings"])
        #expect(lost.level == .warning && lost.seen.contains("shop"))
        #expect(try Self.checks(ofClient: ", ownership: report").allSatisfy { $0.level == .ok })
    }

    @Test func `comparisons are shown, and what they lack is a warning`() throws {
        func comparison(_ mode: ComparisonMode, in store: StoreFinding) throws -> CheckResult? {
            try Self.checks(ofClient: "", in: store) { $0.comparison.mode = mode }["comparison"]
        }
        #expect(try comparison(.off, in: .notConfigured) == nil)
        let shown = try #require(try comparison(.localAndApple, in: .kept(isPersistent: true)))
        #expect(shown.level == .ok && shown.seen.hasPrefix("local_apple, for a share of 0.01 of the new"), "\(shown)")
        #expect(!shown.seen.contains("Redis"))
        #expect(try comparison(.localAndApple, in: .notConfigured)?.seen.contains("Without Redis") == true)
        let lacking = try #require(try comparison(.both, in: .notConfigured))
        #expect(lacking.level == .warning && lacking.seen.contains("gateway.comparison.mode is both"), "\(lacking)")
    }

    // MARK: - In Redis

    private static func checks(of counts: JobCounts?) -> [CheckResult] {
        let report = CheckReport(.redis)
        report.record(counts, JobRules())
        return report.close()
    }

    @Test func `a Redis without deferred verifications has no line`() {
        #expect(Self.checks(of: nil) == [])
        #expect(Self.checks(of: JobCounts(waiting: 0, bytes: 0, failed: 0)) == [])
    }

    @Test func `those that wait are shown, and those that were given up are a warning`() {
        let waiting = Self.checks(of: JobCounts(waiting: 12, bytes: 3 << 20, failed: 0))
        #expect(waiting.map(\.level) == [.ok] && waiting[0].seen.hasPrefix("deferred: 12 wait, of 3.0 MiB; "))
        let failed = Self.checks(of: JobCounts(waiting: 0, bytes: 0, failed: 2))
        #expect(failed.map(\.level) == [.warning] && failed[0].advice?.contains("--status failed") == true)
    }

    @Test func `a store that is nearly full is a warning`() {
        let limit = (1 << 30) / 5 * 4
        let below = Self.checks(of: JobCounts(waiting: 1, bytes: limit, failed: 0))
        let beyond = Self.checks(of: JobCounts(waiting: 1, bytes: limit + 1, failed: 0))
        #expect(below.map(\.level) == [.ok] && beyond.map(\.level) == [.warning])
        #expect(beyond[0].seen.contains("gateway.jobs.max_total_bytes"))
    }
}
