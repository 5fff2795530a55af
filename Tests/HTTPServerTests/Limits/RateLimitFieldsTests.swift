// SPDX-License-Identifier: Apache-2.0

import Gateway
import HTTPTypes
import Testing

@testable import API
@testable import HTTPServer
@testable import Resilience

/// The header fields, byte for byte.
struct RateLimitFieldsTests {
    private static let minute = RatePolicy(name: "minute", quota: 1000, window: .seconds(60))
    private static let day = RatePolicy(name: "day", quota: 200_000, window: .seconds(86_400))
    private static let shadow = RatePolicy(name: "shadow", quota: 1, window: .seconds(1), isShadow: true)

    @Test func `the fields have every policy, and the state of the tightest`() {
        let admission = RateAdmission(outcomes: [
            Self.admitted(Self.minute, 312, .milliseconds(13_001)), Self.admitted(Self.day, 199_312, .seconds(298)),
        ])
        #expect(
            Self.lines(admission) == [
                #"RateLimit-Policy: "minute";q=1000;w=60, "day";q=200000;w=86400"#, #"RateLimit: "minute";r=312;t=14"#,
            ])
    }

    @Test func `a rejection has the time to wait`() throws {
        let admission = RateAdmission(outcomes: [
            Self.refused(Self.minute, .milliseconds(200)), Self.refused(Self.day, .milliseconds(3_000_001)),
        ])
        #expect(
            Self.lines(admission) == [
                #"RateLimit-Policy: "minute";q=1000;w=60, "day";q=200000;w=86400"#, #"RateLimit: "day";r=0;t=3001"#,
            ])
        let problem = Problem(GatewayError.rateLimited(admission))
        #expect(problem.status == .tooManyRequests && problem.headerFields[.retryAfter] == "3001")
        #expect(
            String(decoding: problem.json(requestID: "r"), as: UTF8.self)
                == #"{"type":"https://iana.org/assignments/http-problem-types#quota-exceeded","title":"Too Many Requests","#
                + #""status":429,"detail":"Rate limit exceeded. Retry later.","code":"quota_exceeded","#
                + #""violated-policies":["minute","day"],"request_id":"r"}"#)
    }

    @Test func `a policy that rejects comes before one with fewer tokens`() {
        let admission = RateAdmission(outcomes: [
            Self.refused(Self.minute, .milliseconds(1), remaining: 3), Self.admitted(Self.day, 0, .seconds(1)),
        ])
        #expect(Self.lines(admission).last == #"RateLimit: "minute";r=3;t=1"#)
        #expect(Problem(GatewayError.rateLimited(admission)).violatedPolicies == ["minute"])
    }

    @Test func `the legacy fields are sent if configured`() {
        let admission = RateAdmission(outcomes: [Self.admitted(Self.minute, 999, .milliseconds(60))])
        #expect(
            Self.lines(admission, withLegacy: true) == [
                #"RateLimit-Policy: "minute";q=1000;w=60"#, #"RateLimit: "minute";r=999;t=1"#,
                "X-RateLimit-Limit: 1000", "X-RateLimit-Remaining: 999", "X-RateLimit-Reset: 1",
            ])
    }

    @Test func `shadow mode is invisible to clients`() {
        let shadow = Self.refused(Self.shadow, .seconds(9))
        #expect(Self.lines(RateAdmission(outcomes: [shadow])) == [])
        #expect(
            Self.lines(RateAdmission(outcomes: [shadow, Self.admitted(Self.minute, 5, .seconds(1))])) == [
                #"RateLimit-Policy: "minute";q=1000;w=60"#, #"RateLimit: "minute";r=5;t=1"#,
            ])
    }

    @Test func `an unreachable policy promises nothing`() {
        let blind = RateAdmission.Outcome(
            charge: RateCharge(RateBucket(client: "a", policy: Self.minute)), decision: .admitted, remaining: 1000,
            timeUntilFull: .zero,
            source: .open)
        #expect(Self.lines(RateAdmission(outcomes: [blind])) == [#"RateLimit-Policy: "minute";q=1000;w=60"#])
    }

    @Test func `a concurrency limit is reported as a quota`() {
        let problem = Problem(GatewayError.tooManyInFlight)
        #expect(problem.headerFields[.retryAfter] == "1" && problem.violatedPolicies == ["concurrency"])
    }

    private static func lines(_ admission: RateAdmission, withLegacy: Bool = false) -> [String] {
        admission.fields(withLegacy: withLegacy).map { "\($0.name.rawName): \($0.value)" }
    }

    private static func admitted(_ policy: RatePolicy, _ remaining: Int, _ wait: Duration) -> RateAdmission.Outcome {
        RateAdmission.Outcome(
            charge: RateCharge(RateBucket(client: "a", policy: policy)), decision: .admitted, remaining: remaining,
            timeUntilFull: wait,
            source: .store)
    }

    private static func refused(
        _ policy: RatePolicy, _ wait: Duration, remaining: Int = 0
    ) -> RateAdmission.Outcome {
        RateAdmission.Outcome(
            charge: RateCharge(RateBucket(client: "a", policy: policy)), decision: .refused(retryAfter: wait),
            remaining: remaining,
            timeUntilFull: policy.window, source: .rememberedRefusal)
    }
}
