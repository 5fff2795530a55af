// SPDX-License-Identifier: Apache-2.0

import Resilience
import Testing

@testable import Gateway

struct ClientAdmissionTests {
    private static let limit = InFlightLimit(client: "shop", maximum: 1)

    private let slots = EmbeddedInFlightLimiter()
    private let admission: ClientAdmission
    private let client: RequestClient

    init() {
        admission = ClientAdmission(rates: EmbeddedRateLimiter(), slots: slots)
        client = RequestClient(inFlight: Self.limit)
    }

    private var isFree: Bool {
        guard slots.acquire(Self.limit) else { return false }
        slots.release(Self.limit)
        return true
    }

    @Test func `the slot is free once the last step is taken`() async throws {
        let step = try admission.admit(client) {
            .compute { .wait { .done(1) } }
        }
        #expect(!isFree)
        let waiting = try step.computed()
        #expect(!isFree)
        let done = try await waiting.next()
        #expect(isFree)
        #expect(try await done.value() == 1)
    }

    @Test func `the slot is free after a step that throws`() async throws {
        struct Fault: Error {}
        #expect(throws: Fault.self) { try admission.admit(client) { () -> Step<Int, any Error> in throw Fault() } }
        #expect(isFree)
        let computing = try admission.admit(client) { Step<Int, any Error>.compute { throw Fault() } }
        #expect(throws: Fault.self) { try computing.computed() }
        #expect(isFree)
        let waiting = try admission.admit(client) { Step<Int, any Error>.wait { throw Fault() } }
        await #expect(throws: Fault.self) { try await waiting.next() }
        #expect(isFree)
    }

    @Test func `the slot of a dropped request is free`() throws {
        var step: Step<Int, any Error>? = try admission.admit(client) { .wait { .done(1) } }
        #expect(step != nil && !isFree)
        step = nil
        #expect(isFree)
    }

    @Test func `without a slot no work is done`() throws {
        #expect(slots.acquire(Self.limit))
        #expect(throws: GatewayError.tooManyInFlight) {
            try admission.admit(client) { () -> Step<Int, any Error> in
                Issue.record("it was done")
                return .done(1)
            }
        }
        #expect(throws: GatewayError.tooManyInFlight) { try admission.refuseIfLimited(client) }
    }

    @Test func `a charge of nothing needs no slot`() async throws {
        #expect(slots.acquire(Self.limit))
        #expect(try await admission.charge(client) { .done(1) }.value() == 1)
    }
}
