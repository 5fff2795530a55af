// SPDX-License-Identifier: Apache-2.0

import ReceiptForge
import Receipts
import Testing

@testable import Gateway

struct VerificationServiceTests {
    // MARK: Verdicts

    @Test func `a genuine receipt is answered with its contents and provenance`() async throws {
        let answer = try await Self.gateway().verify(Self.request(), at: Samples.created)
        #expect(answer.verdict == .genuine && answer.receipt?.bundleID == Samples.app)
        #expect(answer.transactions.count == 2 && answer.subscriptions.map(\.state) == [.active])
        #expect(answer.provenance == Provenance(source: .local, cache: .miss, verifiedAt: Samples.created))
    }

    @Test(arguments: [
        "signature-bit-flipped", "leaf-without-marker", "trailing-byte", "bundle-id-twice", "creation-date-in-future",
        "lookalike-chain", "production-receipt", "xcode-receipt", "two-signers", "empty-content",
    ])
    func `a rejection names the rule and carries nothing of the receipt`(name: String) async throws {
        let fault = try #require(ReceiptFault(named: name))
        guard case .der(let bytes) = Samples.forge.evidence(with: fault) else { return }
        for mode in Mode.allCases {
            let answer = try await Self.gateway().verify(
                VerificationRequest(evidence: .appReceipt(bytes), mode: mode), at: Samples.created)
            guard case .rejected(.rule(let rule)) = answer.verdict else {
                Issue.record("\(answer.verdict)")
                return
            }
            #expect(rule.rawValue == fault.expected.reason)
            #expect(answer.receipt == nil && answer.transactions.isEmpty && answer.subscriptions.isEmpty)
        }
    }

    @Test(
        arguments: [
            (Expectations(bundleID: "com.example.other"), .bundleIDMismatch),
            (Expectations(applicationVersion: "2"), .appVersionMismatch),
            (Expectations(deviceIdentifier: [1]), .deviceHashMismatch),
            (Expectations(bundleID: "x", applicationVersion: "2", deviceIdentifier: [1]), .bundleIDMismatch),
            (Expectations(bundleID: Samples.app, applicationVersion: "2"), .appVersionMismatch),
        ] as [(Expectations, Rule)])
    func `a genuine receipt that does not match the expectations is rejected`(
        expectations: Expectations, rule: Rule
    ) async throws {
        let answer = try await Self.gateway().verify(Self.request(expecting: expectations), at: Samples.created)
        #expect(answer.verdict == .rejected(.rule(rule)))
        #expect(answer.receipt == nil && answer.transactions.isEmpty && answer.subscriptions.isEmpty)
    }

    @Test func `a receipt that matches all expectations is genuine`() async throws {
        let expectations = Expectations(
            bundleID: Samples.app, applicationVersion: "1", deviceIdentifier: Samples.forge.contents.deviceIdentifier)
        let answer = try await Self.gateway().verify(Self.request(expecting: expectations), at: Samples.created)
        #expect(answer.verdict == .genuine)
    }

    @Test func `mode apple without Apple is undecided, and shows nothing of the receipt`() async throws {
        let gateway = Self.gateway()
        for _ in 1...2 {
            let answer = try await gateway.verify(Self.request(mode: .apple), at: Samples.created)
            #expect(answer.verdict == .undecided(.upstreamNotConfigured) && answer.provenance.cache == .miss)
            #expect(answer.receipt == nil && answer.transactions.isEmpty && answer.subscriptions.isEmpty)
            #expect(answer.freshUntil == Samples.created)
        }
    }

    @Test func `without old transactions the state of a subscription is the same`() async throws {
        let periods = [Period("1", -300 ..< -200).trial, Period("2", -200 ..< -100), Period("3", -100..<100)]
        var request = Self.request(Samples.receipt(with: periods + [Period(item: "9", at: 0)]))
        let gateway = Self.gateway()
        let all = try await gateway.verify(request, at: Samples.created)
        request = request.with { $0.excludesOldTransactions = true }
        let latest = try await gateway.verify(request, at: Samples.created)
        #expect(Set(all.transactions.map(\.transactionID)) == ["1", "2", "3", "9"])
        #expect(
            Set(latest.entitlements.latestTransactions.map(\.transactionID)) == ["3", "9"]
                && latest.provenance.cache == .miss)
        for answer in [all, latest] {
            #expect(answer.subscriptions.map(\.state) == [.active])
            #expect(answer.subscriptions.map(\.isEligibleForIntroOffer) == [false])
        }
    }

    // MARK: Permissions

    @Test func `a client may use its own apps only`() async throws {
        let gateway = Self.gateway()
        for permitted in [PermittedApps.only([]), .only(["com.example.other"]), .only(["com.example.forge.pro"])] {
            let request = Self.request(expecting: Expectations(bundleID: Samples.app), permitted: permitted)
            await #expect(throws: GatewayError.appNotPermitted(Samples.app)) {
                try await gateway.verify(request, at: Samples.created)
            }
        }
        for permitted in [PermittedApps.all, .only([Samples.app]), .only(["com.example.other", Samples.app])] {
            let request = Self.request(expecting: Expectations(bundleID: Samples.app), permitted: permitted)
            #expect(try await gateway.verify(request, at: Samples.created).verdict == .genuine)
        }
    }

    @Test func `an expected app that is not the client's is refused before anything is read`() async throws {
        let request = Self.request(
            [0xFF], expecting: Expectations(bundleID: "com.example.other"), permitted: .only([Samples.app]))
        await #expect(throws: GatewayError.appNotPermitted("com.example.other")) {
            try await Self.gateway().verify(request, at: Samples.created)
        }
    }

    @Test func `the app in the receipt must be the client's too, also for a cached answer`() async throws {
        let gateway = Self.gateway()
        let stranger = Self.request(permitted: .only(["com.example.other"]))
        await #expect(throws: GatewayError.appNotPermitted(Samples.app)) {
            try await gateway.verify(stranger, at: Samples.created)
        }
        let owner = Self.request(permitted: .only([Samples.app]))
        for cache in [Provenance.Cache.miss, .near] {
            #expect(try await gateway.verify(owner, at: Samples.created).provenance.cache == cache)
        }
        await #expect(throws: GatewayError.appNotPermitted(Samples.app)) {
            try await gateway.verify(stranger, at: Samples.created)
        }
    }

    @Test func `a comparison does not reveal to other clients that a receipt is genuine`() async throws {
        for expectations in [Expectations(applicationVersion: "2"), Expectations(deviceIdentifier: [1])] {
            for mode in Mode.allCases {
                let request = Self.request(expecting: expectations, mode: mode, permitted: .only(["com.example.other"]))
                await #expect(throws: GatewayError.appNotPermitted(Samples.app)) {
                    try await Self.gateway().verify(request, at: Samples.created)
                }
            }
        }
    }

    @Test func `a rejection is returned to any client, because it is about no app`() async throws {
        let request = Self.request([0x30, 0x00], permitted: .only([]))
        #expect(
            try await Self.gateway().verify(request, at: Samples.created).verdict == .rejected(.rule(.derTruncated)))
    }

    // MARK: Freshness

    @Test func `an answer is repeated for as long as it is fresh`() async throws {
        let gateway = Self.gateway()
        let receipt = Samples.receipt(with: [Period("1", 0..<1_000_000)])
        for (seconds, cache, verifiedAt) in [
            (0, Provenance.Cache.miss, 0), (1, .near, 0), (29, .near, 0), (30, .miss, 30), (59, .near, 30),
            (60, .miss, 60),
        ] {
            let answer = try await gateway.verify(Self.request(receipt), at: Samples.time(Int64(seconds)))
            #expect(answer.provenance.cache == cache && answer.provenance.verifiedAt == Samples.time(Int64(verifiedAt)))
            #expect(answer.freshUntil == Samples.time(Int64(verifiedAt) + 30))
        }
    }

    @Test func `no answer outlives the next boundary of an entitlement`() async throws {
        let gateway = Self.gateway()
        let receipt = Samples.receipt(with: [Period("1", 0..<100), Period("2", 1_000_000..<1_000_100)])
        for (milliseconds, cache, state) in [
            (99_000, Provenance.Cache.miss, SubscriptionState.active), (99_999, .near, .active),
            (100_000, .miss, .expired),
            (129_999, .near, .expired), (130_000, .miss, .expired), (827_199_999, .miss, .expired),
            // Two days before it begins.
            (827_200_000, .miss, .active), (827_229_999, .near, .active),
        ] {
            let now = Samples.created.advanced(by: .milliseconds(Int64(milliseconds)))
            let answer = try await gateway.verify(Self.request(receipt), at: now)
            #expect(answer.provenance.cache == cache, "\(milliseconds)")
            #expect(answer.subscriptions.map(\.state) == [state], "\(milliseconds)")
        }
    }

    @Test func `no answer outlives the app's licence, and after it the receipt is genuine and expired`() async throws {
        let gateway = Self.gateway()
        let end = Samples.forge.contents.creationDate.advanced(bySeconds: 100)
        let receipt = Samples.receipt(with: [Period("1", 0..<1_000_000)]) { $0.expirationDate = end }
        for (milliseconds, cache, isExpired) in [
            (99_000, Provenance.Cache.miss, false), (99_999, .near, false), (100_000, .miss, true),
            (100_001, .near, true), (500_000, .miss, true),
        ] {
            let now = Samples.created.advanced(by: .milliseconds(Int64(milliseconds)))
            let answer = try await gateway.verify(Self.request(receipt), at: now)
            #expect(answer.verdict == .genuine && answer.isAppExpired == isExpired, "\(milliseconds)")
            #expect(answer.provenance.cache == cache)
            #expect(answer.subscriptions.map(\.state) == [isExpired ? .expired : .active], "\(milliseconds)")
        }
        let unlimited = try await gateway.verify(Self.request(), at: Samples.time(0))
        #expect(unlimited.verdict == .genuine && unlimited.isAppExpired == nil)
    }

    @Test func `a client that accepts no old answer gets a new one`() async throws {
        let gateway = Self.gateway()
        let strict = Self.request().with { $0.maximumAge = .seconds(5) }
        _ = try await gateway.verify(strict, at: Samples.time(0))
        #expect(try await gateway.verify(strict, at: Samples.time(5)).provenance.verifiedAt == Samples.time(0))
        #expect(try await gateway.verify(strict, at: Samples.time(6)).provenance.verifiedAt == Samples.time(6))
    }

    @Test func `a rejection is repeated for an hour`() async throws {
        let gateway = Self.gateway()
        let request = VerificationRequest(evidence: .appReceipt([0x30]))
        for (seconds, cache) in [(0, Provenance.Cache.miss), (3599, .near), (3600, .miss), (3601, .near)] {
            let answer = try await gateway.verify(request, at: Samples.time(Int64(seconds)))
            #expect(answer.verdict == .rejected(.rule(.derTruncated)) && answer.provenance.cache == cache)
        }
    }

    @Test func `a receipt from the future is genuine as soon as its time has come`() async throws {
        let gateway = Self.gateway()
        let early = try await gateway.verify(Self.request(), at: Samples.time(-301))
        #expect(early.verdict == .rejected(.rule(.creationDateInFuture)))
        let inTime = try await gateway.verify(Self.request(), at: Samples.time(-300))
        #expect(inTime.verdict == .genuine && inTime.provenance.cache == .miss)
    }

    @Test func `freshness is configured`() async throws {
        var freshness = FreshnessPolicy()
        freshness.near = .seconds(7)
        freshness.rejected = .seconds(3)
        let gateway = VerificationService(verifier: CurrentVerifier(Samples.verifier), freshness: freshness)
        let genuine = try await gateway.verify(Self.request(), at: Samples.created)
        let rejected = try await gateway.verify(VerificationRequest(evidence: .appReceipt([])), at: Samples.created)
        #expect(genuine.freshUntil == Samples.time(7) && rejected.freshUntil == Samples.time(3))
    }

    @Test func `a service without a cache computes every answer`() async throws {
        let gateway = VerificationService(verifier: CurrentVerifier(Samples.verifier))
        for _ in 1...2 {
            #expect(try await gateway.verify(Self.request(), at: Samples.created).provenance.cache == .miss)
        }
    }

    // MARK: Concurrency

    @Test func `many requests at once get their own answers`() async throws {
        let gateway = Self.gateway()
        let apps = (0..<8).map { "com.example.app\($0)" }
        let receipts = apps.map { Samples.receipt(ofApp: $0) }
        let wrong = await withTaskGroup(of: Int.self) { group in
            for task in 0..<8 {
                group.addTask {
                    var wrong = 0
                    for turn in 0..<40 {
                        let index = (task + turn) % apps.count
                        let answer = try? await gateway.verify(Self.request(receipts[index]), at: Samples.created)
                        if answer?.receipt?.bundleID != apps[index] { wrong += 1 }
                    }
                    return wrong
                }
            }
            return await group.reduce(0, +)
        }
        #expect(wrong == 0)
    }

    private static func gateway() -> RememberingService {
        RememberingService(VerificationService(verifier: CurrentVerifier(Samples.verifier)))
    }

    private static func request(
        _ receipt: [UInt8] = Samples.receipt, expecting expectations: Expectations = Expectations(), mode: Mode = .auto,
        permitted: PermittedApps = .all
    ) -> VerificationRequest {
        VerificationRequest(evidence: .appReceipt(receipt), mode: mode)
            .with { $0.expectations = expectations }.withClient { $0.permittedApps = permitted }
    }
}
