// SPDX-License-Identifier: Apache-2.0

import Receipts
import Resilience
import Synchronization
import Testing

@testable import Gateway

/// A client's limits in verifications.
struct RateLimitTests {
    @Test func `each request takes its tokens once, whether or not its answer is known`() async throws {
        let gateway = Self.gateway()
        for _ in 1...3 { _ = try await gateway.verify(Self.request(quota: 3), at: Samples.created) }
        await #expect(throws: GatewayError.self) {
            try await gateway.verify(Self.request(quota: 3), at: Samples.created)
        }
    }

    @Test func `junk is refused before it costs anything, and so is a receipt that is known`() async throws {
        let gateway = Self.gateway()
        _ = try await gateway.verify(Self.request(quota: 1), at: Samples.created)
        for evidence in [Samples.receipt, [1, 2, 3]] {
            let limited = Self.request(quota: 1)
            let request = VerificationRequest(
                .evidence(.appReceipt(evidence)), options: limited.options, client: limited.client)
            guard case .rateLimited(let admission) = await Self.error(of: request, from: gateway) else {
                Issue.record("it was admitted")
                continue
            }
            #expect(!admission.isAdmitted && admission.retryAfter != nil)
        }
    }

    @Test func `an app that is not the client's costs no token`() async throws {
        let gateway = Self.gateway()
        var foreign = Self.request(quota: 1).with { $0.expectations.bundleID = "com.example.other" }
        foreign = foreign.withClient { $0.permittedApps = .only([Samples.app]) }
        for _ in 1...2 {
            #expect(await Self.error(of: foreign, from: gateway) == .appNotPermitted("com.example.other"))
        }
        #expect(await Self.error(of: Self.request(quota: 1), from: gateway) == nil)
    }

    @Test func `the client gets the outcome of each admission, also without an answer`() async throws {
        let told = Mutex<[Bool]>([])
        let gateway = Self.gateway()
        var request = Self.request(quota: 2)
        request = request.withClient { client in
            client.onAdmission = { admission in told.withLock { $0.append(admission.isAdmitted) } }
        }
        #expect(await Self.error(of: request, from: gateway) == nil)
        request = request.withClient { $0.permittedApps = .only(["com.example.other"]) }
        #expect(await Self.error(of: request, from: gateway) == .appNotPermitted(Samples.app))
        _ = await Self.error(of: request, from: gateway)
        #expect(told.withLock { $0 } == [true, true, false])
    }

    @Test func `a client without policies is not limited, and gets no outcome`() async throws {
        let request = Self.request(quota: 1).withClient { client in
            client.charges = []
            client.onAdmission = { _ in Issue.record("called without charges") }
        }
        let gateway = Self.gateway()
        for _ in 1...3 { #expect(await Self.error(of: request, from: gateway) == nil) }
    }

    // MARK: Requests in flight

    @Test func `a slot is released after any outcome of the request`() async throws {
        let slots = EmbeddedInFlightLimiter()
        let gateway = RememberingService(VerificationService(verifier: CurrentVerifier(Samples.verifier)), slots: slots)
        let limit = InFlightLimit(client: "shop", maximum: 1)
        var request = Self.request(quota: 2).withClient { $0.inFlight = limit }
        #expect(await Self.error(of: request, from: gateway) == nil)
        request = request.withClient { $0.permittedApps = .only(["com.example.other"]) }
        #expect(await Self.error(of: request, from: gateway) == .appNotPermitted(Samples.app))
        guard case .rateLimited = await Self.error(of: request, from: gateway) else {
            Issue.record("it was admitted")
            return
        }
        #expect(slots.acquire(limit))
        #expect(await Self.error(of: request, from: gateway) == .tooManyInFlight)
        slots.release(limit)
        guard case .rateLimited = await Self.error(of: request, from: gateway) else {
            Issue.record("it has no slot")
            return
        }
    }

    @Test func `a request without a slot pays nothing`() async throws {
        let slots = EmbeddedInFlightLimiter()
        let gateway = RememberingService(VerificationService(verifier: CurrentVerifier(Samples.verifier)), slots: slots)
        let request = Self.request(quota: 1).withClient { $0.inFlight = InFlightLimit(client: "shop", maximum: 1) }
        #expect(slots.acquire(InFlightLimit(client: "shop", maximum: 1)))
        #expect(await Self.error(of: request, from: gateway) == .tooManyInFlight)
        slots.release(InFlightLimit(client: "shop", maximum: 1))
        #expect(await Self.error(of: request, from: gateway) == nil)
    }

    @Test func `slots are counted for each client apart`() async {
        let slots = EmbeddedInFlightLimiter()
        let shop = InFlightLimit(client: "shop", maximum: 2), other = InFlightLimit(client: "other", maximum: 1)
        #expect(slots.acquire(shop))
        #expect(slots.acquire(shop))
        #expect(!slots.acquire(shop))
        #expect(slots.acquire(other))
        slots.release(shop)
        #expect(slots.acquire(shop))
    }

    @Test(arguments: [(10, 1, 10), (10, 3, 3), (10, 10, 1), (2, 5, 1), (1, 0, 1)])
    func `each node has its share of the slots, and always one`(maximum: Int, nodes: Int, share: Int) async {
        let slots = EmbeddedInFlightLimiter { nodes }
        let limit = InFlightLimit(client: "shop", maximum: maximum)
        for _ in 1...share { #expect(slots.acquire(limit)) }
        #expect(!slots.acquire(limit))
    }

    // MARK: Steps

    private static func gateway() -> RememberingService {
        RememberingService(VerificationService(verifier: CurrentVerifier(Samples.verifier)))
    }

    private static func request(quota: Int) -> VerificationRequest {
        let policy = RatePolicy(name: "day", quota: quota, window: .seconds(86_400))
        let request = VerificationRequest(evidence: .appReceipt(Samples.receipt))
            .withClient { $0.charges = [RateCharge(RateBucket(client: "shop", policy: policy))] }
        return request
    }

    private static func error(of request: VerificationRequest, from gateway: RememberingService) async -> GatewayError?
    {
        do {
            _ = try await gateway.verify(request, at: Samples.created)
            return nil
        } catch {
            return error as? GatewayError
        }
    }
}
