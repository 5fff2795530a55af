// SPDX-License-Identifier: Apache-2.0

import ReceiptForge
import Receipts
import Resilience
import Synchronization
import Testing
import TestSupport

@testable import Gateway

/// A change of the trusted roots, and what was verified before.
struct CurrentVerifierTests {
    private typealias Samples = SignedSamples

    private static let transaction = Samples.transaction()
    private static let trustStore = Samples.verifier.trustStore
    private static let otherRoot = TransactionPKI(seed: 2).root.pem

    // MARK: - Signed items

    @Test func `a removed root withdraws verified items, and an added root withdraws rejections`() async throws {
        let known = Mutex<[Bool]>([])
        let items = SignedItemCache(maximumBytes: 1 << 20) { isKnown in known.withLock { $0.append(isKnown) } }
        let verifier = CurrentVerifier(Samples.verifier, items: items)
        let service = VerificationService(verifier: verifier)
        func verdict() async throws -> Verdict {
            try await service.verify(VerificationRequest([Self.transaction]), at: Samples.time(10)).verdict
        }
        for _ in 1...2 { #expect(try await verdict() == .genuine) }
        #expect(known.withLock(\.self) == [false, true])
        verifier.trust(.apple)
        for _ in 1...2 { #expect(try await verdict() == .rejected(.rule(.anchorUntrusted))) }
        #expect(known.withLock(\.self) == [false, true, false, false])
        verifier.trust(Self.trustStore)
        for _ in 1...2 { #expect(try await verdict() == .genuine) }
        #expect(known.withLock(\.self) == [false, true, false, false, false, true])
    }

    @Test func `work in progress keeps its roots, and leaves nothing for later requests`() throws {
        let verifier = CurrentVerifier(Samples.verifier, items: SignedItemCache(maximumBytes: 1 << 20))
        let began = verifier.local
        verifier.trust(.apple)
        #expect(Self.isVerified(by: began) && !Self.isVerified(by: verifier.local))
        let beganWithout = verifier.local
        verifier.trust(Self.trustStore)
        #expect(!Self.isVerified(by: beganWithout) && Self.isVerified(by: verifier.local))
    }

    @Test func `the memory of earlier items is free at once, also while a request is in flight`() throws {
        let known = Mutex<[Bool]>([])
        let items = SignedItemCache(maximumBytes: 1 << 20) { isKnown in known.withLock { $0.append(isKnown) } }
        let verifier = CurrentVerifier(Samples.verifier, items: items)
        let began = verifier.local
        for _ in 1...2 { #expect(Self.isVerified(by: began)) }
        verifier.trust(Self.trustStore)
        #expect(Self.isVerified(by: began))
        #expect(known.withLock(\.self) == [false, true, false])
    }

    @Test func `the roots are reported at the start and at each change`() {
        let reported = Mutex<[TrustStore]>([])
        let verifier = CurrentVerifier(Samples.verifier) { store in reported.withLock { $0.append(store) } }
        verifier.trust(.apple)
        #expect(reported.withLock(\.self) == [Self.trustStore, .apple])
    }

    private static func isVerified(by verifier: LocalVerifier) -> Bool {
        guard case .verified = verifier.verify(.jws(transaction), at: Samples.time(10)) else { return false }
        return true
    }

    // MARK: - Apple's answers

    @Test(arguments: ["1", "12"]) func `a removed root withdraws Apple's cached answers, and the names in them`(
        id: String
    ) async throws {
        let fixture = CustomerFixture([id: [.answered(.customer())]])
        #expect(try await fixture.ask(id, at: 300).provenance.cache == .miss)
        #expect(try await fixture.ask(id, at: 301).provenance.cache == .shared)
        fixture.verifier.trust(.apple)
        // Mode `local` shows what is cached: no request is sent.
        #expect(try await fixture.ask(id, .local, at: 302).verdict == .undecided(.notCached))
        #expect(try await fixture.ask(id, at: 303).provenance.cache == .miss)
        #expect(fixture.customers.asked == [id, id])
        // What was verified under Apple's roots alone holds under more roots.
        fixture.verifier.trust(Self.trustStore)
        #expect(try await fixture.ask(id, at: 304).provenance.cache == .shared)
    }

    @Test func `an added root keeps Apple's cached answers`() async throws {
        let fixture = CustomerFixture(["1": [.answered(.customer())]])
        _ = try await fixture.ask("1", at: 300)
        var more = Self.trustStore
        try more.add(pem: Self.otherRoot, environments: [.production, .sandbox])
        fixture.verifier.trust(more)
        #expect(try await fixture.ask("1", at: 301).provenance.cache == .shared)
    }

    @Test func `a root that may no longer sign for an environment counts as removed there`() async throws {
        let fixture = CustomerFixture([
            "1": [.answered(.customer())], "2": [.answered(.customer("2", in: .production))],
        ])
        for id in ["1", "2"] { _ = try await fixture.ask(id, at: 300) }
        var production = TrustStore.apple
        try production.add(pem: Samples.pki.root.pem, environments: [.production])
        fixture.verifier.trust(production)
        #expect(try await fixture.ask("1", at: 301).provenance.cache == .miss)
        #expect(try await fixture.ask("2", at: 301).provenance.cache == .shared)
    }

    @Test func `what Apple says without a signature holds under any roots`() async throws {
        let fixture = CustomerFixture(["7": [.unknownTransaction(.idInvalid)]])
        _ = try await fixture.ask("7", at: 300)
        fixture.verifier.trust(.apple)
        _ = try await fixture.ask("7", at: 301)
        #expect(fixture.customers.asked == ["7"])
    }

    @Test func `a request does not join a request to Apple under other roots`() async throws {
        let gate = Gate()
        let fixture = CustomerFixture(["1": [.answered(.customer())]], gate: gate)
        async let before = fixture.ask("1", at: 300)
        try await eventually { gate.waitingCount == 1 }
        fixture.verifier.trust(.apple)
        async let after = fixture.ask("1", at: 300)
        try await eventually { gate.waitingCount == 2 }
        gate.open()
        let verdicts = try await [before.verdict, after.verdict]
        #expect(verdicts == [.genuine, .genuine])
        #expect(fixture.customers.requests.map(\.verifier.trustStore) == [Self.trustStore, .apple])
    }

    @Test func `a node asks Apple itself if another node's roots may have been too few`() async throws {
        for (reason, verifier) in [
            (DegradedReason.upstreamContradiction, Samples.verifier), (.upstreamContradiction, ReceiptVerifier()),
            (.upstreamServerError, Samples.verifier),
        ] {
            let fixture = CustomerFixture(
                ["1": [.answered(.customer())]], verifier: verifier, leases: FailedLeases(reason: reason))
            let answer = try await fixture.ask("1", at: 300)
            let asks = reason == .upstreamContradiction && verifier.trustStore != .apple
            #expect(answer.verdict == (asks ? .genuine : .undecided(.upstreamDidNotAnswer)))
            #expect(answer.provenance.degradedReasons == (asks ? [] : [reason]))
            #expect(fixture.customers.asked == (asks ? ["1"] : []))
        }
    }
}

/// The leases of a node that waited for another node's request, which failed.
private struct FailedLeases: FlightLeases {
    let reason: DegradedReason

    func acquire(_ key: CacheKey, awaiting holder: String?) -> FlightLeaseAttempt { .failed(reason) }

    func release(_ lease: FlightLease, after failure: DegradedReason?) {}

    func waitForChange(of key: CacheKey, upTo span: Duration) {}
}
